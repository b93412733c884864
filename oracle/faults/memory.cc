// Classes L and M: what another part of the kernel, or another call, has left in memory.
#include <fmt/format.h>

#include <algorithm>

#include "oracle/faults/builders.h"
#include "oracle/generate/store.h"
#include "oracle/judge/encodings.h"

namespace moe4::oracle {
namespace {

// The case of the call before: the same but for the tokens (combine: the rows), each of which is that of the
// next row.
void previous_call(Scene& scene, CaseData& seen) {
  Tensor& x = seen.op == Op::kCombine ? seen.rows : seen.latent_tokens;
  const auto row =
      static_cast<std::size_t>(seen.op == Op::kCombine ? scene.shape().out : scene.in()) * size_of(x.dtype());
  if (x.bytes() > row) std::rotate(x.data(), x.data() + row, x.data() + x.bytes());
}

void tokens_of_half(CaseData& seen, bool second, std::int64_t in) {
  const std::int64_t half = in / 2 / 32 * 32;
  for (std::int64_t row = 0; row < token_rows(seen); ++row) {
    for (std::int64_t i = second ? half : 0; i < (second ? in : half); ++i) set_token_bits(seen, row, i, 0);
  }
}

}  // namespace

std::vector<Fault> memory_faults() {
  return {
      {"stale_tile", 'L', "one tile of 16 by 16 outputs is that of the call before",
       "vllm: workspace shared between streams", kInAll, kOfBoth, edited_tile(previous_call)},
      {"stale_row", 'L', "one row is that of the call before", "", kInAll, kOfBoth,
       edited_row(previous_call)},
      {"tile_before_barrier", 'L', "one tile holds the sum over the first half of i only",
       "aiter: missing barrier", kInWeights, kOfBoth,
       edited_tile([](Scene& scene, CaseData& seen) { tokens_of_half(seen, true, scene.in()); })},
      {"tile_of_one_slice", 'L', "one tile holds the sum over the second half of i only",
       "cutlass: slices that land in the output", kInWeights, kOfBoth,
       edited_tile([](Scene& scene, CaseData& seen) { tokens_of_half(seen, false, scene.in()); })},
      {"tile_without_shared", 'L', "one tile was stored before the shared output was added", "", kInMixing,
       kOfBoth, edited_tile([](Scene&, CaseData& seen) {
         for (std::int64_t n = 0; n < seen.shared_output.elements(); ++n)
           set_output_bits(seen.shared_output, n, 0);
       })},
      {"tile_rows_swapped", 'L', "two neighbouring rows of one tile are exchanged", "", kInAll, kOfBoth,
       output(Place::kRowsInTile,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site || scene.shape().rows < 2) return;
                const std::int64_t out = scene.shape().out;
                const std::int64_t row = std::min(site->row, scene.shape().rows - 2);
                const std::int64_t first = site->out / 16 * 16;
                for (std::int64_t o = first; o < std::min(first + 16, out); ++o) {
                  const std::uint64_t upper = output_bits(run.output, row * out + o);
                  set_output_bits(run.output, row * out + o, output_bits(run.output, (row + 1) * out + o));
                  set_output_bits(run.output, (row + 1) * out + o, upper);
                }
                scene.note(fmt::format("rows {} and {}, columns from {}", row, row + 1, first));
              })},

      {"adds_to_old_output", 'M', "one row is added to what the output held, here the same row", "", kInAll,
       kOfBoth,
       output(Place::kRow,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site) return;
                const FloatFormat f = format_of(scene.shape().dtype);
                for (std::int64_t o = 0; o < scene.shape().out; ++o) {
                  const std::int64_t n = site->row * scene.shape().out + o;
                  const ExactValue y = decode_float(f, output_bits(run.output, n));
                  store_float(
                      run.output, n,
                      y.is_finite() ? ExactValue::finite(y.negative, y.significand, y.exponent + 1) : y);
                }
                scene.note(fmt::format("row {}", site->row));
              })},
      {"token_stride_ignored", 'M', "rows of tokens are read as if they were half as far apart",
       "vllm: a slice of a wider buffer", kInWeights, kOfBoth, edited([](Scene& scene, CaseData& seen) {
         const std::int64_t in = scene.in();
         const CaseData& data = scene.data();
         for (std::int64_t row = 0; row < token_rows(seen); ++row) {
           for (std::int64_t i = 0; i < in; ++i)
             set_token_bits(seen, row, i, load_float_bits(data.latent_tokens, row * (in / 2) + i));
         }
       })},
      {"input_changed", 'M', "an input is overwritten, though the result is right", "", kInAll, kOfBoth,
       output([](Scene&, SubjectRun& run) { run.inputs_unchanged = false; })},
      {"row_told_unwritten", 'M', "a row that counts is not written, and the subject says so", "", kInRows,
       kOfBoth,
       output(Place::kRow,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site || run.written.empty()) return;
                run.written[static_cast<std::size_t>(site->row)] = 0;
                scene.note(fmt::format("row {}", site->row));
              })},
      {"element_told_unwritten", 'M',
       "one element is not written: its memory, which happens to hold the right value, is reported", "",
       kInAll, kOfBoth,
       output(Place::kElement,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site) return;
                run.unwritten.assign(static_cast<std::size_t>(run.output.elements()), false);
                run.unwritten[static_cast<std::size_t>(site->row * scene.shape().out + site->out)] = true;
                scene.note(fmt::format("row {}, column {}", site->row, site->out));
              })},
      {"poison_kept", 'M', "one tile still holds the 0xFF that the memory was filled with",
       "atlas: columns never written", kInAll, kOfBoth,
       output(Place::kStrip,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site) return;
                const std::int64_t out = scene.shape().out;
                for (std::int64_t o = site->out / 16 * 16; o < std::min(out, site->out / 16 * 16 + 16); ++o)
                  set_output_bits(run.output, site->row * out + o, ~std::uint64_t{0});
                scene.note(fmt::format("row {}", site->row));
              })},
      {"padding_nan_leaks", 'M', "the last row before padding takes up the NaN behind it",
       "flashinfer: padding in a reduction", kInRows, kOfBoth, output([](Scene& scene, SubjectRun& run) {
         if (run.written.empty()) return;
         const auto rows = static_cast<std::int64_t>(run.written.size());
         for (std::int64_t r = 0; r + 1 < rows; ++r) {
           if (run.written[static_cast<std::size_t>(r)] == 0 ||
               run.written[static_cast<std::size_t>(r + 1)] != 0)
             continue;
           for (std::int64_t o = 0; o < scene.shape().out; ++o)
             set_output_bits(run.output, r * scene.shape().out + o, kBF16.canonical_nan());
           scene.note(fmt::format("row {}", r));
           return;
         }
       })},
      {"one_bit_flipped", 'M', "one bit of one result is another", "", kInAll, kOfBoth,
       output(Place::kElement,
              [](Scene& scene, SubjectRun& run) {
                const std::optional<Site> site = scene.site();
                if (!site) return;
                const std::int64_t n = site->row * scene.shape().out + site->out;
                const auto bit = scene.pick(format_of(scene.shape().dtype).width());
                set_output_bits(run.output, n, output_bits(run.output, n) ^ (std::uint64_t{1} << bit));
                scene.note(fmt::format("row {}, column {}, bit {}", site->row, site->out, bit));
              })},
  };
}

}  // namespace moe4::oracle
