// Class I, of kernels that promise the bits of their declared arithmetic: what they return stays inside the
// proved interval, so that only VER-17 can tell.
#include <cmath>
#include <utility>

#include "oracle/faults/builders.h"
#include "oracle/faults/chains.h"
#include "reference/profile/float_ops.h"

namespace moe4::oracle {
namespace {

// A healthy kernel of another arithmetic than the declared one.
Plant computed_as(std::string_view words) {
  return [words](Scene& scene, SubjectRun& run) -> Status {
    const Result<Arithmetic> arithmetic = parse_arithmetic(words);
    if (!arithmetic.ok()) return arithmetic.error();
    Result<Norm> result = declared_result(scene.data(), *arithmetic);
    if (!result.ok()) return result.error();
    run.output = std::move(result->output);
    return {};
  };
}

// The float on the way from s to zero, where s is a sum rounded to odd in double.
float toward_zero(double s) {
  const auto nearest = static_cast<float>(s);
  return std::fabs(nearest) > std::fabs(s) ? std::nextafter(nearest, 0.0F) : nearest;
}

// In every chain the addition of one place of its group is cut.
Plant one_fma_cut(std::string_view order) {
  return [order](Scene& scene, SubjectRun& run) -> Status {
    const auto place = static_cast<std::int32_t>(scene.pick(kGroupSize));
    scene.note("column " + std::to_string(place) + " of each group");
    ChainKernel kernel;
    kernel.order = parse_order(order).value();
    kernel.fma = [place](std::int32_t i, float c, double p) {
      if (i % kGroupSize != place) return add_once(c, p);
      return toward_zero(add_to_odd(c, p));
    };
    run_chains(scene, kernel, run);
    return {};
  };
}

// The sums of the second and the third chain change places, which changes the order of their additions.
Plant two_chains_exchanged(std::string_view order) {
  return [order](Scene& scene, SubjectRun& run) -> Status {
    ChainKernel kernel;
    kernel.order = parse_order(order).value();
    kernel.edit = [](ChainPlan& plan) {
      if (plan.chains.size() > 2) std::swap(plan.chains[1], plan.chains[2]);
    };
    run_chains(scene, kernel, run);
    return {};
  };
}

Plant slots_backwards(std::string_view order) {
  return [order](Scene& scene, SubjectRun& run) -> Status {
    ChainKernel kernel;
    kernel.order = parse_order(order).value();
    kernel.slots_backwards = true;
    run_chains(scene, kernel, run);
    return {};
  };
}

}  // namespace

std::vector<Fault> inside_faults() {
  return {
      {"one_fma_truncates", 'I', "one fused multiply-add of each group rounds toward zero", "", kInWeights,
       kOfBoth, one_fma_cut("groups(32)"), "order=groups(32)"},
      {"one_fma_truncates_in_lane", 'I', "the same in chains of one lane each", "", kInWeights, kOfBoth,
       one_fma_cut("lanes(32,8)+shfl"), "order=lanes(32,8)+shfl"},
      {"two_chains_exchanged", 'I',
       "the sums of the second and the third group are added in each other's place", "", kInWeights, kOfBoth,
       two_chains_exchanged("groups(32)"), "order=groups(32)"},
      {"joins_in_another_tree", 'I', "lanes are added one after the other, not by halving", "", kInWeights,
       kOfBoth, computed_as("order=lanes(32,8)+seq"), "order=lanes(32,8)+shfl"},
      {"slices_not_joined", 'I', "one chain runs through both slices of i", "", kInWeights, kOfBoth,
       computed_as("order=seq"), "order=split(2)"},
      {"slots_backwards", 'I', "the last slot of a token is added first", "", kInLinear, kOfBoth,
       slots_backwards("seq"), "order=seq"},
      {"steps_of_another_generation", 'I', "a tensor core adds 8 products at a time, not 16", "", kInWeights,
       kOfBoth, computed_as("order=seq accumulation=ampere"), "order=seq accumulation=hopper"},
      {"weighting_unfused", 'I', "the weighted row is rounded before it is added", "", kInCombine, kOfBoth,
       computed_as("products=rounded"), "order=seq"},
  };
}

}  // namespace moe4::oracle
