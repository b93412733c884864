// Class H: the weights of the slots and the shared output.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "oracle/faults/builders.h"
#include "oracle/generate/store.h"
#include "reference/arithmetic/round.h"

namespace moe4::oracle {
namespace {

double number(const Tensor& tensor, std::int64_t n) {
  const FloatFormat format = format_of(tensor.dtype());
  const std::uint64_t wide = round_to(kF64, decode_float(format, load_float_bits(tensor, n)));
  return std::bit_cast<double>(wide);
}

void set_number(Tensor& tensor, std::int64_t n, double value) {
  store_float(tensor, n, decode(F64Bits{std::bit_cast<std::uint64_t>(value)}));
}

// Every mixture weight becomes map(p).
Plant weights_mapped(std::function<double(double)> map) {
  return edited([map = std::move(map)](Scene&, CaseData& seen) {
    for (std::int64_t n = 0; n < seen.mixture_weights.elements(); ++n) {
      set_number(seen.mixture_weights, n, map(number(seen.mixture_weights, n)));
    }
  });
}

Plant weights_through(FloatFormat narrow) {
  return edited([narrow](Scene&, CaseData& seen) {
    Tensor& p = seen.mixture_weights;
    for (std::int64_t n = 0; n < p.elements(); ++n) {
      const ExactValue value = decode_float(format_of(p.dtype()), load_float_bits(p, n));
      store_float(p, n, decode_float(narrow, round_to(narrow, value)));
    }
  });
}

// Slot j of a token gets the weight of another slot or token. shift: in slots of the whole tensor.
Plant weights_rotated(bool tokens) {
  return edited([tokens](Scene&, CaseData& seen) {
    Tensor& p = seen.mixture_weights;
    const std::int64_t top_k = p.dim(1);
    const std::int64_t row = tokens ? p.elements() : top_k;
    const std::int64_t shift = tokens ? top_k : 1;
    if (row == 0) return;
    const Tensor right = p;
    for (std::int64_t n = 0; n < p.elements(); ++n) {
      const std::int64_t first = n / row * row;
      set_output_bits(p, n, output_bits(right, first + (n - first + shift) % row));
    }
  });
}

Plant shared_mapped(std::function<double(double)> map) {
  return edited([map = std::move(map)](Scene&, CaseData& seen) {
    for (std::int64_t n = 0; n < seen.shared_output.elements(); ++n) {
      set_number(seen.shared_output, n, map(number(seen.shared_output, n)));
    }
  });
}

}  // namespace

std::vector<Fault> mixture_faults() {
  return {
      {"weight_missing", 'H', "the rows of the experts are added without their weights",
       "vllm-xpu-kernels: top-k larger than one", kInMixing, kOfBoth,
       weights_mapped([](double) { return 1.0; })},
      {"weight_twice", 'H', "the weight is applied to the input and to the output",
       "vllm: weight on input with CUTLASS experts", kInMixing, kOfBoth,
       weights_mapped([](double p) { return p * p; })},
      {"weight_sign_lost", 'H', "the weights are taken without their signs", "", kInMixing, kOfBoth,
       weights_mapped([](double p) { return std::abs(p); })},
      {"weight_factor_twice", 'H', "a routed scaling factor of 2.5 is applied a second time",
       "vllm: factor in the model and in the experts", kInMixing, kOfBoth,
       weights_mapped([](double p) { return 2.5 * p; })},
      {"weight_clamped_to_one", 'H', "weights above 1 are cut to 1", "", kInMixing, kOfBoth,
       weights_mapped([](double p) { return p > 1 ? 1.0 : p; })},
      {"weight_to_integer", 'H', "the weights are cast to integers",
       "vllm-ascend: weights follow the type of the tokens", kInMixing, kOfBoth,
       weights_mapped([](double p) { return std::isfinite(p) && std::abs(p) < 1e9 ? std::trunc(p) : p; })},
      {"weight_through_bf16", 'H', "the weights are rounded to BF16 before the sum",
       "sglang: weights cast by the dispatcher", kInMixing, kOfBoth, weights_through(kBF16)},
      {"weight_through_f16", 'H', "the weights are rounded to F16 before the sum", "", kInMixing, kOfBoth,
       weights_through(kF16)},
      {"weights_renormalised", 'H', "the weights of a token are divided by their sum",
       "sglang-jax: renormalisation", kInMixing, kOfBoth, edited([](Scene&, CaseData& seen) {
         Tensor& p = seen.mixture_weights;
         for (std::int64_t t = 0; t < p.dim(0); ++t) {
           double sum = 0;
           for (std::int64_t j = 0; j < p.dim(1); ++j) sum += number(p, t * p.dim(1) + j);
           if (!std::isfinite(sum) || sum == 0) continue;
           for (std::int64_t j = 0; j < p.dim(1); ++j)
             set_number(p, t * p.dim(1) + j, number(p, t * p.dim(1) + j) / sum);
         }
       })},
      {"weight_of_next_slot", 'H', "each slot has the weight of the next one of its token", "", kInMixing,
       kOfBoth, weights_rotated(false)},
      {"weight_of_next_token", 'H', "each token has the weights of the next one", "", kInMixing, kOfBoth,
       weights_rotated(true)},
      {"one_weight_ulp", 'H', "one weight is one ulp too large", "", kInMixing, kOfBoth,
       Planting(edited([](Scene& scene, CaseData& seen) {
                  const std::optional<Site> site = scene.site();
                  if (!site) return;
                  const std::int64_t j =
                      scene.rows()[site->index].slots[static_cast<std::size_t>(site->slot)].j;
                  const std::int64_t n = site->row * seen.mixture_weights.dim(1) + j;
                  const std::uint64_t bits = output_bits(seen.mixture_weights, n);
                  set_output_bits(seen.mixture_weights, n, bits ^ 1);
                  scene.note(fmt::format("token {}, slot {}", site->row, j));
                }),
                Place::kSlot)},
      {"last_slot_lost", 'H', "the last slot of each token is not added", "", kInMixing, kOfBoth,
       edited([](Scene&, CaseData& seen) {
         Tensor& p = seen.mixture_weights;
         for (std::int64_t t = 0; t < p.dim(0) && p.dim(1) > 0; ++t)
           set_number(p, t * p.dim(1) + p.dim(1) - 1, 0);
       })},
      {"shared_missing", 'H', "the shared output is not added", "", kInMixing, kOfBoth,
       shared_mapped([](double) { return 0.0; })},
      {"shared_twice", 'H', "the shared output is added twice", "", kInMixing, kOfBoth,
       shared_mapped([](double s) { return 2 * s; })},
      {"shared_by_inverse_factor", 'H', "the shared output is divided by a scaling factor of 2.5",
       "sglang: the always-on expert", kInMixing, kOfBoth, shared_mapped([](double s) { return s / 2.5; })},
      {"shared_of_next_token", 'H', "each token has the shared output of the next one", "", kInMixing,
       kOfBoth, edited([](Scene&, CaseData& seen) {
         Tensor& s = seen.shared_output;
         const std::int64_t out = s.dim(1);
         const Tensor right = s;
         for (std::int64_t n = 0; n < s.elements(); ++n)
           set_output_bits(s, n, output_bits(right, (n + out) % s.elements()));
       })},
  };
}

}  // namespace moe4::oracle
