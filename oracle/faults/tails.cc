// Classes D and E: the end of the sum over i, and the edge of the output.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "oracle/faults/builders.h"

namespace moe4::oracle {
namespace {

// Tokens of columns first … I-1 are zero.
void clear_tokens(CaseData& seen, std::int64_t first, std::int64_t last) {
  for (std::int64_t row = 0; row < token_rows(seen); ++row) {
    for (std::int64_t i = first; i < last; ++i) set_token_bits(seen, row, i, 0);
  }
}

// What a kernel finds that walks past the end of a row of I elements, up to the next multiple of `step`: the
// memory behind it, that is the beginning of the next row, or zeros at the very end.
struct Overrun {
  std::int64_t step = 64;
  bool tokens = true;  // from memory; else masked to zero
  bool codes = true;
  unsigned scale = 256;  // 256: from memory
};

Tensor longer(const Tensor& from, std::int64_t row_bytes, std::int64_t to_bytes, bool from_memory,
              Shape shape) {
  Tensor to(from.dtype(), std::move(shape));
  const auto rows = static_cast<std::int64_t>(from.bytes()) / std::max<std::int64_t>(row_bytes, 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t behind = static_cast<std::int64_t>(from.bytes()) - r * row_bytes;
    const std::int64_t bytes = from_memory ? std::min(to_bytes, behind) : row_bytes;
    std::memcpy(to.data() + r * to_bytes, from.data() + r * row_bytes, static_cast<std::size_t>(bytes));
  }
  return to;
}

Plant overrun(Overrun how) {
  return edited([how](Scene& scene, CaseData& seen) {
    const std::int64_t in = scene.in();
    const std::int64_t to = (in + how.step - 1) / how.step * how.step;
    if (to == in || !scene.small()) return;
    scene.note(fmt::format("columns {}..{}", in, to - 1));
    const bool int4 = seen.weights == WeightFormat::kInt4;
    Shape tokens = seen.latent_tokens.shape();
    tokens.back() = to;
    const auto x_bytes = static_cast<std::int64_t>(size_of(seen.latent_tokens.dtype()));
    seen.latent_tokens = longer(seen.latent_tokens, in * x_bytes, to * x_bytes, how.tokens, tokens);
    const std::int64_t experts = seen.packed_weights.dim(0);
    const std::int64_t out = seen.packed_weights.dim(1);
    const Shape codes = int4 ? Shape{experts, out, to / 8} : Shape{experts, out, to / 32, 16};
    seen.packed_weights = longer(seen.packed_weights, in / 2, to / 2, how.codes, codes);
    const std::int64_t s_bytes = int4 ? 2 : 1;
    seen.scale_tensor() = longer(seen.scale_tensor(), in / 32 * s_bytes, to / 32 * s_bytes, how.scale > 255,
                                 {experts, out, to / 32});
    Weights w(seen);
    for (std::int64_t e = 0; e < experts; ++e) {
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t g = in / 32; g < to / 32; ++g) {
          if (how.scale <= 255) w.set_scale(e, o, g, int4 ? 0x7FFF : how.scale);
          if (!how.codes) w.clear_group(e, o, g);
        }
      }
    }
  });
}

// Columns that `lost` names keep what a fresh buffer holds, zeros; the subject cannot tell.
Plant columns_lost(std::function<bool(Scene&, std::int64_t o, std::int64_t chosen)> lost) {
  return output([lost = std::move(lost)](Scene& scene, SubjectRun& run) {
    const std::optional<Site> site = scene.site();
    const std::int64_t chosen = site ? site->out : 0;
    for (std::int64_t k = 0; k < run.output.elements(); ++k) {
      if (lost(scene, k % scene.shape().out, chosen)) set_output_bits(run.output, k, 0);
    }
    if (site) scene.note(fmt::format("column {}", chosen));
  });
}

Plant rows_lost(std::function<bool(Scene&, std::int64_t row, std::int64_t chosen)> lost) {
  return output([lost = std::move(lost)](Scene& scene, SubjectRun& run) {
    const std::optional<Site> site = scene.site();
    const std::int64_t chosen = site ? site->row : 0;
    for (std::int64_t k = 0; k < run.output.elements(); ++k) {
      if (lost(scene, k / scene.shape().out, chosen)) set_output_bits(run.output, k, 0);
    }
    if (site) scene.note(fmt::format("row {}", chosen));
  });
}

}  // namespace

std::vector<Fault> tail_faults() {
  return {
      {"last_step_lost", 'D', "the last 32 columns of i are not added", "mlx: tail of the sum over K",
       kInWeights, kOfBoth,
       edited([](Scene& scene, CaseData& seen) { clear_tokens(seen, scene.in() - 32, scene.in()); })},
      {"remainder_of_64_lost", 'D', "columns beyond the last multiple of 64 are not added",
       "mlx: K of 544 and 608", kInWeights, kOfBoth,
       edited([](Scene& scene, CaseData& seen) { clear_tokens(seen, scene.in() / 64 * 64, scene.in()); })},
      {"last_group_of_a_row_lost", 'D', "the last group of one row of one expert is not added", "",
       kInWeights, kOfBoth,
       altered(Place::kWeightRow,
               [](Weights& w, const Site& s) { w.clear_group(s.expert, s.out, w.groups() - 1); })},
      {"last_step_twice", 'D', "the last 32 columns of i are added twice", "", kInWeights, kOfMxfp4,
       edited([](Scene&, CaseData& seen) {
         Weights w(seen);
         for (std::int64_t e = 0; e < w.experts(); ++e) {
           for (std::int64_t o = 0; o < w.out(); ++o) {
             const unsigned b = w.scale(e, o, w.groups() - 1);
             if (b < 254) w.set_scale(e, o, w.groups() - 1, b + 1);
           }
         }
       })},
      {"runs_into_next_row", 'D', "steps of 64 run past the end of I into the beginning of the next row",
       "mlx: rows sorted by expert, tail bounded by the block", kInWeights, kOfBoth,
       overrun({64, true, true, 256})},
      {"runs_into_next_row_128", 'D', "the same with steps of 128", "vllm: K of 2880 in tiles of 128",
       kInWeights, kOfBoth, overrun({128, true, true, 256})},
      {"padding_scale_is_nan", 'D',
       "masked weights of the tail are multiplied by a scale from the padding, 0xFF",
       "TransformerEngine: padded scales reach the product", kInWeights, kOfBoth,
       overrun({128, false, false, 255})},
      {"token_tail_not_masked", 'D',
       "the tail of the tokens is the next row, and only zero weights stand against it",
       "oneDNN: zeros that meet NaN", kInWeights, kOfBoth, overrun({64, true, false, 0})},
      {"k_slice_lost", 'D', "of four slices of i the third is not added", "cutlass: partial sums of split-K",
       kInWeights, kOfBoth, edited([](Scene& scene, CaseData& seen) {
         const std::int64_t g = scene.groups();
         clear_tokens(seen, g * 2 / 4 * 32, g * 3 / 4 * 32);
       })},

      {"column_unwritten", 'E', "one column is not written", "", kInAll, kOfBoth,
       Planting(columns_lost([](Scene&, std::int64_t o, std::int64_t chosen) { return o == chosen; }),
                Place::kColumn)},
      {"columns_beyond_4_unwritten", 'E', "columns beyond the last multiple of 4 are not written",
       "llama.cpp: four outputs at a time", kInAll, kOfBoth,
       columns_lost([](Scene& s, std::int64_t o, std::int64_t) { return o >= s.shape().out / 4 * 4; })},
      {"columns_beyond_8_unwritten", 'E', "columns beyond the last multiple of 8 are not written",
       "mlx: 33 outputs", kInAll, kOfBoth,
       columns_lost([](Scene& s, std::int64_t o, std::int64_t) { return o >= s.shape().out / 8 * 8; })},
      {"columns_beyond_64_unwritten", 'E', "columns from 64 on are not written",
       "atlas: grid of 128, tiles of 64", kInAll, kOfBoth,
       columns_lost([](Scene&, std::int64_t o, std::int64_t) { return o >= 64; })},
      {"last_column_zero", 'E', "the last column is zero", "mlx: last column of 33", kInAll, kOfBoth,
       columns_lost([](Scene& s, std::int64_t o, std::int64_t) { return o == s.shape().out - 1; })},
      {"row_unwritten", 'E', "one row is not written", "", kInAll, kOfBoth,
       Planting(rows_lost([](Scene&, std::int64_t row, std::int64_t chosen) { return row == chosen; }),
                Place::kRow)},
      {"rows_beyond_8_unwritten", 'E', "rows beyond the last multiple of 8 are not written", "", kInMixing,
       kOfBoth,
       rows_lost([](Scene& s, std::int64_t row, std::int64_t) { return row >= s.shape().rows / 8 * 8; })},
      {"columns_swapped", 'E', "two neighbouring columns are exchanged", "", kInAll, kOfBoth,
       output(Place::kTwoColumns,
              [](Scene& scene, SubjectRun& run) {
                const std::int64_t out = scene.shape().out;
                if (out < 2) return;
                const std::int64_t first = scene.pick(out - 1);
                for (std::int64_t r = 0; r < scene.shape().rows; ++r) {
                  const std::uint64_t left = output_bits(run.output, r * out + first);
                  set_output_bits(run.output, r * out + first, output_bits(run.output, r * out + first + 1));
                  set_output_bits(run.output, r * out + first + 1, left);
                }
                scene.note(fmt::format("columns {} and {}", first, first + 1));
              })},
  };
}

}  // namespace moe4::oracle
