// Classes A and C: what a scale means, and which scale a group gets.
#include <algorithm>

#include "oracle/faults/builders.h"

namespace moe4::oracle {
namespace {

// One scale of a row that an output needs becomes another.
Planting one_scale(std::function<unsigned(const Weights&, const Site&, unsigned)> other) {
  return altered(Place::kWeightGroup, [other = std::move(other)](Weights& w, const Site& s) {
    w.set_scale(s.expert, s.out, s.group, other(w, s, w.scale(s.expert, s.out, s.group)));
  });
}

// Every scale of the row, or of the expert, comes from another place of it.
using From =
    std::function<std::pair<std::int64_t, std::int64_t>(const Weights&, std::int64_t o, std::int64_t g)>;
Plant scales_from(From from) {
  return edited([from = std::move(from)](Scene& scene, CaseData& seen) {
    const CaseData right = scene.copy();
    CaseData kept = right;
    const Weights source(kept);
    Weights w(seen);
    for (std::int64_t e = 0; e < w.experts(); ++e) {
      for (std::int64_t o = 0; o < w.out(); ++o) {
        for (std::int64_t g = 0; g < w.groups(); ++g) {
          const auto [row, group] = from(w, o, g);
          w.set_scale(e, o, g, source.scale(e, row, group));
        }
      }
    }
  });
}

Plant scales_mapped(std::function<unsigned(unsigned)> map) {
  return edited([map = std::move(map)](Scene&, CaseData& seen) { Weights(seen).for_each_scale(map); });
}

// Weights of groups whose scale byte is below `byte` and whose magnitude fails `keep` become zeros.
Plant flushed(std::function<bool(unsigned scale, unsigned code)> lost) {
  return edited([lost = std::move(lost)](Scene&, CaseData& seen) {
    Weights w(seen);
    for (std::int64_t e = 0; e < w.experts(); ++e) {
      for (std::int64_t o = 0; o < w.out(); ++o) {
        for (std::int64_t i = 0; i < w.in(); ++i) {
          if (lost(w.scale(e, o, i / kGroupSize), w.code(e, o, i))) w.set_code(e, o, i, w.int4() ? 8 : 0);
        }
      }
    }
  });
}

}  // namespace

std::vector<Fault> scale_faults() {
  return {
      {"scale_zero_flushed", 'A',
       "scale byte 0 makes the weights of its group zero instead of multiples of 2^-127",
       "triton: software decoders of E8M0", kInWeights, kOfMxfp4,
       edited([](Scene&, CaseData& seen) { seen.policy.scale_zero = ScaleZero::kFlush; })},
      {"scale_255_a_number", 'A', "scale byte 255 is 2^128 instead of NaN", "", kInWeights, kOfMxfp4,
       edited([](Scene&, CaseData& seen) { seen.policy.scale_nan = ScaleNan::kFormula; })},
      {"scale_255_infinite", 'A', "scale byte 255 is infinity instead of NaN",
       "triton, TransformerEngine: byte 255", kInWeights, kOfMxfp4,
       edited([](Scene&, CaseData& seen) { seen.policy.scale_nan = ScaleNan::kInf; })},
      {"scale_134_is_nan", 'A', "the mark for NaN is looked for by value: byte 134 becomes NaN",
       "sglang: MXFP4 loader", kInWeights, kOfMxfp4,
       scales_mapped([](unsigned b) { return b == 134 ? 255U : b; })},
      {"scale_bias_126", 'A', "scale bytes are decoded with the bias 126", "", kInWeights, kOfMxfp4,
       scales_mapped([](unsigned b) { return std::min(b + 1, 254U) + (b == 255 ? 1U : 0U); })},
      {"scale_low_bit_lost", 'A', "the lowest bit of every scale byte is dropped", "", kInWeights, kOfMxfp4,
       scales_mapped([](unsigned b) { return b == 255 ? b : b & 0xFEU; })},
      {"scale_sign_bit", 'A',
       "scale bytes are read as signed: those from 128 to 254 are taken for the least scale", "", kInWeights,
       kOfMxfp4, scales_mapped([](unsigned b) { return b >= 128 && b != 255 ? 0U : b; })},
      {"scale_subnormal_flushed", 'A', "weights below 2^-126 are flushed to zero when they are decoded",
       "TransformerEngine: byte 0 and subnormal results", kInWeights, kOfMxfp4,
       flushed([](unsigned b, unsigned code) {
         const unsigned magnitude = code & 7U;
         return (b == 0 && magnitude < 4) || (b == 1 && magnitude < 2);
       })},
      {"scale_through_f16", 'A', "scales pass through F16: those below 2^-24 become zero",
       "vllm: small scales lost in a narrow format", kInWeights, kOfMxfp4,
       flushed([](unsigned b, unsigned) { return b < 103; })},
      {"scale_top_binade_lost", 'A', "the two largest scales are taken for 2^125",
       "vllm: exponent added to 16-bit values", kInWeights, kOfMxfp4,
       scales_mapped([](unsigned b) { return b == 254 || b == 253 ? 252U : b; })},
      {"int4_scale_f16_underflow", 'A', "INT4 scales pass through F16: those below 2^-24 become zero", "",
       kInWeights, kOfInt4, flushed([](unsigned s, unsigned) { return (s & 0x7FFFU) < 103U << 7; })},
      {"int4_scale_sign_lost", 'A', "the sign of INT4 scales is dropped", "", kInWeights, kOfInt4,
       scales_mapped([](unsigned s) { return s & 0x7FFFU; })},
      {"int4_scale_mantissa_lost", 'A', "INT4 scales are taken for powers of two", "", kInWeights, kOfInt4,
       scales_mapped([](unsigned s) { return (s & 0x7F80U) == 0x7F80U ? s : s & 0xFF80U; })},

      {"one_scale_ulp", 'C', "one group's INT4 scale is one BF16 ulp too large", "", kInWeights, kOfInt4,
       one_scale(
           [](const Weights&, const Site&, unsigned s) { return (s & 0x7FFFU) < 0x7F7FU ? s + 1 : s - 1; })},
      {"one_scale_step", 'C', "one group's scale byte is one too large", "", kInWeights, kOfMxfp4,
       one_scale([](const Weights&, const Site&, unsigned b) { return b < 254 ? b + 1 : b - 1; })},
      {"one_scale_of_next_group", 'C', "one group has the scale of the next group of its row", "", kInWeights,
       kOfBoth, one_scale([](const Weights& w, const Site& s, unsigned) {
         return w.scale(s.expert, s.out, (s.group + 1) % w.groups());
       })},
      {"one_scale_of_next_row", 'C', "one group has the scale of the next row", "", kInWeights, kOfBoth,
       one_scale([](const Weights& w, const Site& s, unsigned) {
         return w.scale(s.expert, (s.out + 1) % w.out(), s.group);
       })},
      {"one_scale_of_next_expert", 'C', "one group has the scale of the same place of the next expert", "",
       kInWeights, kOfBoth, one_scale([](const Weights& w, const Site& s, unsigned) {
         return w.scale((s.expert + 1) % w.experts(), s.out, s.group);
       })},
      {"first_group_scale_for_all", 'C', "every group of a row has the scale of its first group",
       "torch-xpu-ops: group index by divisions in the wrong order", kInWeights, kOfBoth,
       scales_from([](const Weights&, std::int64_t o, std::int64_t) {
         return std::pair{o, std::int64_t{0}};
       })},
      {"scale_of_first_in_tile", 'C', "the two groups of a step of 64 share the scale of the first one",
       "sglang: only the first group of a K tile is loaded", kInWeights, kOfBoth,
       scales_from([](const Weights&, std::int64_t o, std::int64_t g) {
         return std::pair{o, g / 2 * 2};
       })},
      {"scale_groups_swapped", 'C', "the scales of each pair of groups are exchanged",
       "vllm: scales swizzled by the loader and read as linear", kInWeights, kOfBoth,
       scales_from([](const Weights& w, std::int64_t o, std::int64_t g) {
         return std::pair{o, (g ^ 1) < w.groups() ? g ^ 1 : g};
       })},
      {"scale_rows_swapped", 'C', "the scales of each pair of rows are exchanged",
       "flashinfer: 8x4 and 128x4 scale layouts", kInWeights, kOfBoth,
       scales_from([](const Weights& w, std::int64_t o, std::int64_t g) {
         return std::pair{(o ^ 1) < w.out() ? o ^ 1 : o, g};
       })},
      {"scales_transposed", 'C', "scales are read as [groups, rows] in place of [rows, groups]",
       "unsloth-zoo: dimensions exchanged at load", kInWeights, kOfBoth,
       scales_from([](const Weights& w, std::int64_t o, std::int64_t g) {
         const std::int64_t n = g * w.out() + o;
         return std::pair{n / w.groups(), n % w.groups()};
       })},
      {"scale_stride_padded", 'C', "scale rows are addressed as if padded by one group",
       "aiter: logical sizes for padded scales", kInWeights, kOfBoth,
       scales_from([](const Weights& w, std::int64_t o, std::int64_t g) {
         const std::int64_t n = (o * (w.groups() + 1) + g) % (w.out() * w.groups());
         return std::pair{n / w.groups(), n % w.groups()};
       })},
      {"odd_group_reuses_scale", 'C',
       "with an odd number of groups the last one has the scale of the one before",
       "vllm-ascend: scales taken in pairs", kInWeights, kOfBoth,
       scales_from([](const Weights& w, std::int64_t o, std::int64_t g) {
         const bool last_of_odd = w.groups() % 2 == 1 && w.groups() > 1 && g == w.groups() - 1;
         return std::pair{o, last_of_odd ? g - 1 : g};
       })},
      {"tile_scale_columns_shifted", 'C',
       "one tile of 16 columns by 16 rows has the scales of the next column", "", kInWeights, kOfBoth,
       edited_tile([](Scene& scene, CaseData& seen) {
         CaseData right = scene.copy();
         const Weights source(right);
         Weights w(seen);
         for (std::int64_t e = 0; e < w.experts(); ++e) {
           for (std::int64_t o = 0; o < w.out(); ++o) {
             for (std::int64_t g = 0; g < w.groups(); ++g) {
               w.set_scale(e, o, g, source.scale(e, (o + 1) % w.out(), g));
             }
           }
         }
       })},
  };
}

}  // namespace moe4::oracle
