// Class B: what a 4-bit code means, and which one is read.
#include "oracle/faults/builders.h"

namespace moe4::oracle {
namespace {

Plant codes_mapped(std::function<unsigned(unsigned)> map) {
  return edited([map = std::move(map)](Scene&, CaseData& seen) { Weights(seen).for_each_code(map); });
}

// One code that meets a token becomes another.
Planting one_code(std::function<unsigned(const Weights&, unsigned)> other) {
  return altered(Place::kWeight, [other = std::move(other)](Weights& w, const Site& s) {
    w.set_code(s.expert, s.out, s.in, other(w, w.code(s.expert, s.out, s.in)));
  });
}

// Element i of a row is read at from(i), within one expert and row or all of them.
void permute(Weights& w, const Weights& source, std::int64_t e, std::int64_t o,
             const std::function<std::int64_t(std::int64_t)>& from) {
  for (std::int64_t i = 0; i < w.in(); ++i) w.set_code(e, o, i, source.code(e, o, from(i)));
}

Plant permuted(std::function<std::int64_t(std::int64_t)> from) {
  return edited([from = std::move(from)](Scene& scene, CaseData& seen) {
    CaseData right = scene.copy();
    const Weights source(right);
    Weights w(seen);
    for (std::int64_t e = 0; e < w.experts(); ++e) {
      for (std::int64_t o = 0; o < w.out(); ++o) permute(w, source, e, o, from);
    }
  });
}

// Rows of every expert come from another place.
Plant rows_from(std::function<std::int64_t(const Weights&, std::int64_t)> from) {
  return edited([from = std::move(from)](Scene& scene, CaseData& seen) {
    CaseData right = scene.copy();
    const Weights source(right);
    Weights w(seen);
    for (std::int64_t e = 0; e < w.experts(); ++e) {
      for (std::int64_t o = 0; o < w.out(); ++o) {
        for (std::int64_t i = 0; i < w.in(); ++i) w.set_code(e, o, i, source.code(e, from(w, o), i));
      }
    }
  });
}

constexpr unsigned kHighest = 7;

}  // namespace

std::vector<Fault> code_faults() {
  return {
      {"one_nibble_step", 'B', "one code of one row is off by one", "", kInWeights, kOfBoth,
       one_code([](const Weights& w, unsigned code) {
         if (w.int4()) return code < 15 ? code + 1 : code - 1;
         return (code & 7U) < kHighest ? code + 1 : code - 1;
       })},
      {"one_nibble_sign", 'B', "one code of one row has the wrong sign", "", kInWeights, kOfMxfp4,
       one_code([](const Weights&, unsigned code) { return code ^ 8U; })},
      {"one_nibble_zero", 'B', "one weight is taken for zero", "", kInWeights, kOfBoth,
       one_code([](const Weights& w, unsigned) { return w.int4() ? 8U : 0U; })},
      {"one_byte_swapped", 'B', "the two nibbles of one byte are exchanged", "", kInWeights, kOfBoth,
       altered(Place::kWeight,
               [](Weights& w, const Site& s) {
                 const std::int64_t even = s.in / 2 * 2;
                 const unsigned low = w.code(s.expert, s.out, even);
                 w.set_code(s.expert, s.out, even, w.code(s.expert, s.out, even + 1));
                 w.set_code(s.expert, s.out, even + 1, low);
               })},
      {"nibbles_swapped", 'B', "the first of two elements is read from the high nibble",
       "triton: packing of MXFP4", kInWeights, kOfBoth, permuted([](std::int64_t i) { return i ^ 1; })},
      {"nibbles_interleaved", 'B', "the eight codes of a word are read in the order 0 2 4 6 1 3 5 7",
       "pie: repack of AWQ to Marlin", kInWeights, kOfBoth,
       permuted([](std::int64_t i) { return i / 8 * 8 + (i % 8 < 4 ? 2 * (i % 8) : 2 * (i % 8 - 4) + 1); })},
      {"group_halves_swapped", 'B', "the two halves of each group of 32 are exchanged", "", kInWeights,
       kOfBoth, permuted([](std::int64_t i) { return i ^ 16; })},
      {"half_split_nibbles", 'B',
       "low nibbles hold the first 16 elements of a group and high nibbles the last 16", "", kInWeights,
       kOfBoth, permuted([](std::int64_t i) {
         const std::int64_t l = i % 32;
         return i - l + (l < 16 ? 2 * l : 2 * (l - 16) + 1);
       })},
      {"six_read_as_four", 'B', "the largest magnitude, 6, is decoded as 4", "", kInWeights, kOfMxfp4,
       codes_mapped([](unsigned c) { return (c & 7U) == 7 ? c - 1 : c; })},
      {"half_flushed", 'B', "the smallest magnitude, one half, is decoded as zero", "", kInWeights, kOfMxfp4,
       codes_mapped([](unsigned c) { return (c & 7U) == 1 ? c - 1 : c; })},
      {"one_code_sign_lost", 'B', "the code of -3 is decoded as 3", "", kInWeights, kOfMxfp4,
       codes_mapped([](unsigned c) { return c == 13 ? 5U : c; })},
      {"linear_magnitudes", 'B', "the codes of 3 and 4 are exchanged", "", kInWeights, kOfMxfp4,
       codes_mapped([](unsigned c) { return (c & 7U) == 5   ? c + 1
                                            : (c & 7U) == 6 ? c - 1
                                                            : c; })},
      {"zero_point_7", 'B', "7 is subtracted from an INT4 code in place of 8",
       "vllm: two conventions of stored zero points", kInWeights, kOfInt4,
       arithmetic([](Arithmetic& a) { a.dequant = Int4Order::kZeroPoint7; })},
      {"twos_complement", 'B', "INT4 codes are read as two's complement", "", kInWeights, kOfInt4,
       arithmetic([](Arithmetic& a) { a.dequant = Int4Order::kTwosComplement; })},
      {"minus_eight_clamped", 'B', "the INT4 code of -8 is decoded as -7", "", kInWeights, kOfInt4,
       codes_mapped([](unsigned c) { return c == 0 ? 1U : c; })},
      {"row_stride_doubled", 'B', "a row of codes is taken to be twice as long as it is",
       "tilelang-ascend: a 4-bit element counted as a byte", kInWeights, kOfBoth,
       rows_from([](const Weights& w, std::int64_t o) { return 2 * o % w.out(); })},
  };
}

}  // namespace moe4::oracle
