// Class I, of kernels that promise the bits of their declared arithmetic: what they return stays inside the
// proved interval, so that only VER-17 can tell.
#include <cmath>
#include <optional>
#include <utility>

#include "oracle/faults/builders.h"
#include "oracle/faults/chains.h"
#include "reference/accumulate/tensor_core.h"
#include "reference/profile/float_ops.h"

namespace moe4::oracle {
namespace {

// The declared arithmetic with something replaced; no place where there is nothing to replace.
Plant computed_as(std::function<void(Arithmetic&)> alter) {
  return [alter = arithmetic(std::move(alter))](Scene& scene, SubjectRun& run) -> Status {
    return scene.declared() == nullptr ? Status{} : alter(scene, run);
  };
}

// The order of a kernel that promises the bits of F32 chains; nothing where it is another kernel.
std::optional<Order> declared_chains(const Scene& scene) {
  if (scene.declared() == nullptr || scene.data().op == Op::kCombine || !scene.small()) return std::nullopt;
  Arithmetic chains;
  chains.order = scene.declared()->order;
  const bool streamed = chains.order.slicing == Order::Slicing::kStreamK;
  return *scene.declared() == chains && !streamed ? std::optional<Order>(chains.order) : std::nullopt;
}

Plant in_chains(std::function<void(Scene&, ChainKernel&)> alter) {
  return [alter = std::move(alter)](Scene& scene, SubjectRun& run) -> Status {
    const std::optional<Order> order = declared_chains(scene);
    if (!order) return {};
    ChainKernel kernel;
    kernel.order = *order;
    alter(scene, kernel);
    run_chains(scene, kernel, run);
    return {};
  };
}

// The float on the way from s to zero, where s is a sum rounded to odd in double.
float toward_zero(double s) {
  const auto nearest = static_cast<float>(s);
  return std::fabs(nearest) > std::fabs(s) ? std::nextafter(nearest, 0.0F) : nearest;
}

// In every chain the addition of one place of its group is cut. lanes: do chains go to one lane each?
Planting one_fma_cut(bool lanes) {
  return {in_chains([lanes](Scene& scene, ChainKernel& kernel) {
            if ((kernel.order.kind == Order::Kind::kLanes) != lanes) return;
            const auto place = static_cast<std::int32_t>(scene.pick(kGroupSize));
            scene.note("column " + std::to_string(place) + " of each group");
            kernel.fma = [place](std::int32_t i, float c, double p) {
              if (i % kGroupSize != place) return add_once(c, p);
              return toward_zero(add_to_odd(c, p));
            };
          }),
          Place::kGroupColumn};
}

// The sums of the second and the third chain change places, which changes the order of their additions.
Plant two_chains_exchanged() {
  return in_chains([](Scene&, ChainKernel& kernel) {
    if (kernel.order.kind != Order::Kind::kGroups) return;
    kernel.edit = [](ChainPlan& plan) {
      if (plan.chains.size() > 2) std::swap(plan.chains[1], plan.chains[2]);
    };
  });
}

Plant slots_backwards() {
  return in_chains([](Scene&, ChainKernel& kernel) { kernel.slots_backwards = true; });
}

void join_otherwise(Arithmetic& a) {
  if (a.order.join == Order::Join::kShfl) a.order.join = Order::Join::kSeq;
}

void join_slices(Arithmetic& a) {
  const Order two = parse_order("split(2)").value();
  if (a.order != two) return;
  a.order.slicing = Order::Slicing::kNone;
  a.order.slices = 1;
}

void step_by_8(Arithmetic& a) {
  const TensorCore* ampere = tensor_core("ampere");
  if (a.accumulation.unit != nullptr && a.accumulation.unit->products > ampere->products)
    a.accumulation.unit = ampere;
}

}  // namespace

std::vector<Fault> inside_faults() {
  return {
      {"one_fma_truncates", 'I', "one fused multiply-add of each group rounds toward zero", "", kInWeights,
       kOfBoth, one_fma_cut(false), "order=groups(32)", true},
      {"one_fma_truncates_in_lane", 'I', "the same in chains of one lane each", "", kInWeights, kOfBoth,
       one_fma_cut(true), "order=lanes(32,8)+shfl", true},
      {"two_chains_exchanged", 'I',
       "the sums of the second and the third group are added in each other's place", "", kInWeights, kOfBoth,
       two_chains_exchanged(), "order=groups(32)", true},
      {"joins_in_another_tree", 'I', "lanes are added one after the other, not by halving", "", kInWeights,
       kOfBoth, computed_as(join_otherwise), "order=lanes(32,8)+shfl", true},
      {"slices_not_joined", 'I', "one chain runs through both slices of i", "", kInWeights, kOfBoth,
       computed_as(join_slices), "order=split(2)", true},
      {"slots_backwards", 'I', "the last slot of a token is added first", "", kInLinear, kOfBoth,
       slots_backwards(), "order=seq", true},
      {"steps_of_another_generation", 'I', "a tensor core adds 8 products at a time, not 16", "", kInWeights,
       kOfBoth, computed_as(step_by_8), "order=seq accumulation=hopper", true},
      {"weighting_unfused", 'I', "the weighted row is rounded before it is added", "", kInCombine, kOfBoth,
       computed_as([](Arithmetic& a) { a.product_rounded = true; }), "order=seq", true},
  };
}

}  // namespace moe4::oracle
