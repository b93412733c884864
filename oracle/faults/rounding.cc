// Class I: where and how a kernel rounds, what it accumulates in, what overflows and underflows.
#include <optional>

#include "oracle/faults/builders.h"
#include "oracle/generate/store.h"
#include "oracle/judge/encodings.h"
#include "reference/accumulate/tensor_core.h"

namespace moe4::oracle {
namespace {

// Sees the exact sum of each output and the norm's bits, which are finite and not zero, and says the bits
// that are stored.
using Store = std::function<std::uint64_t(const Encodings&, const ExactOutput&, std::uint64_t bits)>;

// What a kernel that promises the bits of its arithmetic stores, before it is rounded: the same kernel with
// F32 tokens. Nothing where no such kernel is.
std::optional<Tensor> unrounded(const Scene& scene) {
  if (scene.declared()->profile != RoundingProfile::kOnce || scene.shape().dtype == Dtype::kF32 ||
      scene.data().op == Op::kCombine) {
    return std::nullopt;
  }
  CaseData wide = scene.data();
  Tensor& tokens = wide.latent_tokens;
  const Tensor narrow = std::move(tokens);
  tokens = Tensor(Dtype::kF32, narrow.shape());
  for (std::int64_t n = 0; n < narrow.elements(); ++n) {
    store_float(tokens, n, decode_float(format_of(narrow.dtype()), load_float_bits(narrow, n)));
  }
  Result<Norm> sums = declared_result(wide, *scene.declared());
  if (!sums.ok()) return std::nullopt;
  return std::move(sums->output);
}

// Every counted output with its flat index and what is rounded to it.
void for_each_stored(const Scene& scene, const std::function<void(std::int64_t, const ExactOutput&)>& see) {
  if (scene.declared() == nullptr) return for_each_exact(scene, see);
  const std::optional<Tensor> sums = unrounded(scene);
  if (!sums) return;
  const std::int64_t out = scene.shape().out;
  for (const OutputRow& row : scene.rows()) {
    for (std::int64_t o = 0; o < out; ++o) {
      OutputSum sum;
      sum.add(decode_float(kF32, output_bits(*sums, row.row * out + o)));
      see(row.row * out + o, ExactOutput(sum, false));
    }
  }
}

Plant stored(Store store) {
  return [store = std::move(store)](Scene& scene, SubjectRun& run) -> Status {
    if (!scene.small() || scene.shape().dtype == Dtype::kF64) return {};
    const Encodings encodings(scene.shape().dtype);
    for_each_stored(scene, [&](std::int64_t index, const ExactOutput& exact) {
      const std::uint64_t bits = output_bits(run.output, index);
      if (!encodings.is_finite(bits) || encodings.is_zero(bits)) return;
      set_output_bits(run.output, index, store(encodings, exact, bits));
    });
    return {};
  };
}

// The sign of |exact| - |value|, for numbers of one sign.
int compare_magnitudes(const ExactOutput& exact, double value) {
  ExactOutput left = exact;
  left.add_double(-value);
  if (left.is_zero()) return 0;
  return left.is_negative() == (value < 0) ? 1 : -1;
}

std::uint64_t truncated(const Encodings& encodings, const ExactOutput& exact, std::uint64_t bits) {
  return compare_magnitudes(exact, encodings.number(bits)) < 0 ? bits - 1 : bits;
}

std::uint64_t upward(const Encodings& encodings, const ExactOutput& exact, std::uint64_t bits) {
  const int over = compare_magnitudes(exact, encodings.number(bits));
  if (encodings.is_negative(bits)) return over < 0 ? bits - 1 : bits;
  return over > 0 ? bits + 1 : bits;
}

std::uint64_t ties_away(const Encodings& encodings, const ExactOutput& exact, std::uint64_t bits) {
  if (encodings.is_largest(bits)) return bits;
  const double middle = encodings.number(bits) / 2 + encodings.number(bits + 1) / 2;
  return compare_magnitudes(exact, middle) == 0 ? bits + 1 : bits;
}

// Outputs by their bits alone.
Plant bits_mapped(std::function<std::uint64_t(const Encodings&, const FloatFormat&, std::uint64_t)> map) {
  return output([map = std::move(map)](Scene& scene, SubjectRun& run) {
    const Encodings encodings(scene.shape().dtype);
    const FloatFormat format = format_of(scene.shape().dtype);
    for (std::int64_t n = 0; n < run.output.elements(); ++n) {
      set_output_bits(run.output, n, map(encodings, format, output_bits(run.output, n)));
    }
  });
}

// Adders that keep fewer bits behind the largest term than any generation in use.
const TensorCore& narrow_core(int bits) {
  const auto narrow = [](int fraction_bits, std::string_view name) {
    TensorCore unit = *tensor_core("hopper");
    unit.name = name;
    unit.fraction_bits = fraction_bits;
    return unit;
  };
  static const TensorCore k13 = narrow(13, "13 bits");
  static const TensorCore k20 = narrow(20, "20 bits");
  return bits == 13 ? k13 : k20;
}

// Additions in another order than the declared one.
Plant ordered(const char* order, const char* declared = "seq") {
  const Order other = parse_order(order).value(), own = parse_order(declared).value();
  return [own, alter = arithmetic([other](Arithmetic& a) { a.order = other; })](Scene& scene,
                                                                                SubjectRun& run) -> Status {
    const bool elsewhere = scene.declared() != nullptr && scene.declared()->order != own;
    return elsewhere ? Status{} : alter(scene, run);
  };
}

Plant accumulated_in(int bits) {
  return arithmetic([bits](Arithmetic& a) {
    a.accumulation = {Accumulation::Kind::kTensorCore, &narrow_core(bits)};
  });
}

Plant dequantised(Int4Order order) {
  return arithmetic([order](Arithmetic& a) { a.dequant = order; });
}

Plant rounded_as(RoundingProfile profile) {
  return arithmetic([profile](Arithmetic& a) { a.profile = profile; });
}

}  // namespace

std::vector<Fault> rounding_faults() {
  return {
      {"store_truncates", 'I', "the result is cut toward zero in place of rounded to nearest even", "",
       kInAll, kOfBoth, stored(truncated)},
      {"store_rounds_up", 'I', "the result is rounded toward +infinity", "", kInAll, kOfBoth, stored(upward)},
      {"store_ties_away", 'I', "ties are rounded away from zero", "", kInAll, kOfBoth, stored(ties_away)},
      {"store_clears_lowest_bit", 'I', "the lowest bit of every result is zero", "", kInAll, kOfBoth,
       bits_mapped([](const Encodings& e, const FloatFormat&, std::uint64_t b) {
         return e.is_finite(b) ? b & ~std::uint64_t{1} : b;
       })},
      {"one_result_ulp", 'I', "one result is one ulp too large", "", kInAll, kOfBoth,
       output(Place::kElement,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site) return;
                const std::int64_t n = site->row * scene.shape().out + site->out;
                const std::uint64_t bits = output_bits(run.output, n);
                if (Encodings(scene.shape().dtype).is_finite(bits)) set_output_bits(run.output, n, bits + 1);
              })},
      {"bf16_sum_over_slots", 'I', "the sum over the experts of a token is kept in the output dtype",
       "vllm: top-k sum in BF16", kInMixing, kOfBoth, rounded_as(RoundingProfile::kLateBf16Sum)},
      {"terms_rounded", 'I', "each weighted row is rounded before the sum", "TensorRT-LLM: deferred combine",
       kInMixing, kOfBoth, rounded_as(RoundingProfile::kLate)},
      {"rows_rounded_unweighted", 'I', "each row is rounded before its weight is applied", "", kInLinear,
       kOfBoth, rounded_as(RoundingProfile::kHf)},
      {"tokens_weighted_early", 'I', "the weight is multiplied into the tokens, which are rounded", "",
       kInLinear, kOfBoth, rounded_as(RoundingProfile::kEarly)},
      {"accumulator_13_bits", 'I', "products are added with 13 bits behind the largest of them", "",
       kInWeights, kOfBoth, accumulated_in(13)},
      {"accumulator_20_bits", 'I', "products are added with 20 bits behind the largest of them", "",
       kInWeights, kOfBoth, accumulated_in(20)},
      {"partial_sums_bf16", 'I', "the partial sums of two slices of i are stored in BF16",
       "cutlass: split-K in the output", kInWeights, kOfBoth, arithmetic([](Arithmetic& a) {
         a.order.slicing = Order::Slicing::kStreamK;
         a.order.slices = 2;
       })},
      {"order_groups_for_seq", 'I', "groups of 32 are summed alone and added, where one chain is declared",
       "", kInWeights, kOfBoth, ordered("groups(32)")},
      {"order_lanes_for_seq", 'I', "the lanes of a warp sum columns in turn, where one chain is declared", "",
       kInWeights, kOfBoth, ordered("lanes(32,8)+shfl")},
      {"order_split_for_seq", 'I', "two slices of i are summed alone and added, where one chain is declared",
       "", kInWeights, kOfBoth, ordered("split(2)")},
      {"order_seq_for_groups", 'I', "one chain runs through i, where groups of 32 are declared", "",
       kInWeights, kOfBoth, ordered("seq", "groups(32)"), "order=groups(32)"},
      {"order_lanes_of_16_for_8", 'I', "a lane takes 16 columns at a time, where 8 are declared", "",
       kInWeights, kOfBoth, ordered("lanes(32,16)+shfl", "lanes(32,8)+shfl"), "order=lanes(32,8)+shfl"},
      {"order_slabs_of_32_for_64", 'I', "a warp takes slabs of 32 columns, where slabs of 64 are declared",
       "", kInWeights, kOfBoth, ordered("warps(32,4)+tree", "warps(64,4)+tree"), "order=warps(64,4)+tree"},
      {"subnormals_flushed", 'I', "subnormal operands and results are flushed, which is not declared", "",
       kInWeights, kOfBoth, arithmetic([](Arithmetic& a) { a.ftz = true; })},
      {"subnormal_results_flushed", 'I', "subnormal results become zero at the store", "", kInAll, kOfBoth,
       bits_mapped([](const Encodings&, const FloatFormat& f, std::uint64_t b) {
         return (b & f.infinity()) == 0 ? b & f.sign_bit() : b;
       })},
      {"overflow_saturates", 'I', "an infinite result becomes the largest finite number", "", kInAll, kOfBoth,
       bits_mapped(
           [](const Encodings& e, const FloatFormat&, std::uint64_t b) { return e.is_inf(b) ? b - 1 : b; })},
      {"nan_stored_as_zero", 'I', "NaN results become zero", "vllm: padding masked by a product with zero",
       kInAll, kOfBoth, bits_mapped([](const Encodings& e, const FloatFormat&, std::uint64_t b) {
         return e.is_nan(b) ? std::uint64_t{0} : b;
       })},
      {"nan_stored_as_infinity", 'I', "NaN results become infinity", "", kInAll, kOfBoth,
       bits_mapped([](const Encodings& e, const FloatFormat& f, std::uint64_t b) {
         return e.is_nan(b) ? f.infinity() : b;
       })},
      {"weights_overflow_in_bf16", 'I',
       "weights are rounded to BF16, which has no room for scale bytes 253 and 254", "vllm: 6 times 2^127",
       kInWeights, kOfMxfp4, arithmetic([](Arithmetic& a) { a.weight = WeightOperand::kBf16; })},
      {"int4_weights_unrounded", 'I', "INT4 weights are q·s, not rounded to BF16", "", kInWeights, kOfInt4,
       dequantised(Int4Order::kExactW)},
      {"int4_weights_truncated", 'I', "INT4 weights are cut to BF16", "", kInWeights, kOfInt4,
       dequantised(Int4Order::kTruncate)},
      {"int4_weights_ties_away", 'I', "INT4 weights are rounded to BF16 with ties away from zero", "",
       kInWeights, kOfInt4, dequantised(Int4Order::kTiesAway)},
      {"int4_weights_two_roundings", 'I',
       "INT4 weights are c·s and 8·s, rounded, and their difference rounded", "", kInWeights, kOfInt4,
       dequantised(Int4Order::kTwoRoundings)},
      {"int4_scale_after_sum", 'I',
       "INT4 codes are summed first and the sum of a group is multiplied by its scale", "", kInWeights,
       kOfInt4, dequantised(Int4Order::kAccumulatorScale)},
      {"int4_weights_in_f16", 'I', "INT4 weights are multiplied in F16", "openvino: F16 range", kInWeights,
       kOfInt4, dequantised(Int4Order::kF16Multiply)},
  };
}

}  // namespace moe4::oracle
