// The inner loops of the fast path. They exist once for each host instruction set that is compiled in; the
// set is chosen at run time, and every set gives sums that lead to the same bits (certificate.h).
//
// The order of a group: its 32 elements are kept as 0, 2, …, 30, 1, 3, …, 31, the low nibbles of the group's
// 16 bytes and then the high ones (FMT-3, INT-2), in the tokens as in the decoded weights.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/formats/weight_format.h"

namespace moe4::fast {

inline constexpr int kOctet = 8;                    // rows of weights that are decoded together
inline constexpr std::int64_t kGroupsInBlock = 16;  // and how many of their groups at a time

// Rows that are read side by side lie no power of two apart, so that they do not fall into one set of the
// cache. Precondition: a multiple of 32.
constexpr std::int64_t padded_stride(std::int64_t elements) { return elements + 16; }
inline constexpr std::int64_t kPanelStride = padded_stride(32 * kGroupsInBlock);

// Rows of weights, eight an octet: row n at codes[n] (16 bytes a group) and scales[n] (one byte a group, or
// two for INT4). Neither pointer is aligned.
struct WeightRows {
  WeightFormat format;
  const double* scale_of_byte;  // MXFP4: FMT-2 under the policies; [256]
  const std::uint8_t* const* codes;
  const std::uint8_t* const* scales;
  std::int64_t octets;
  std::int64_t groups;
};

// T is the type of products and sums: double or float. All pointers to T are aligned to 64 bytes.
template <class T>
struct DotJob {
  WeightRows weights;
  std::int64_t rows;  // of tokens
  const T* tokens;    // [rows][stride], the first 32·groups of each
  std::int64_t stride;
  T* panel;      // scratch, [8][kPanelStride]
  T* lanes;      // scratch, [octets][rows][8][elements of a vector]
  double* sums;  // [rows][8·octets], written
};

// Rows of tokens as integers (digit_panel.h): a plane has the digits of one weight for one group, of the rows
// that have any.
struct DigitPlane {
  double unit;              // of a digit, relative to the unit of its row
  std::int64_t begin, end;  // of its digit rows
};
inline constexpr std::int64_t kDigitTileRows = 32;
inline constexpr int kDigitBits = 15;
inline constexpr double kDigitBase = 0x1p15;

struct DigitJob {
  WeightRows weights;               // kDigitTileRows of them; their magnitudes are below 2^127
  std::int64_t rows;                // of tokens
  const std::int64_t* first_plane;  // [groups + 1]
  const DigitPlane* planes;
  const std::int32_t* digits;  // [digit rows][16]: two elements of 16 bits, in their own order, signed
  const std::int32_t* row;     // [digit rows], which row of tokens it belongs to
  const double* unit;          // [rows]
  double* sums;                // [rows][kDigitTileRows], written; aligned to 64 bytes
};

// Of one row of weights against Σ|x| and the lowest bit of x in each group, over the finite ones of both:
// an upper bound of Σ|w·x| but for the rounding of the sum itself, and the exponent of a bit of which each
// product is a multiple.
struct RowBound {
  double sum_abs;
  double max_abs;  // of a weight
  std::int32_t lsb;
};
inline constexpr std::int32_t kNoBits = 1 << 20;  // the lsb of a zero; any lsb from kNoBits/2 on is one

// Of the finite elements of a row of tokens.
struct TokenFacts {
  bool finite;  // all of them
  float max_abs;
};

struct Kernels {
  std::string_view name;  // "baseline", "avx2", "avx512", "avx512vnni"
  int lanes;              // doubles in a vector: the longest chain of additions is I/lanes and a few
  void (*dot_f64)(const DotJob<double>&);
  void (*dot_f32)(const DotJob<float>&);
  void (*dot_digits)(const DigitJob&);  // null: there is none
  // sum_abs, lsb: [groups]
  RowBound (*bound)(WeightFormat format, const std::uint8_t* scales, std::int64_t groups,
                    const double* sum_abs, const std::int32_t* lsb);

  // Tokens, in the order of a group but for `bits`. A row of BF16; `count` elements, a multiple of 32; for
  // each group Σ|x| in FP64 and the lowest bit, of finite elements.
  void (*widen_bf16)(const std::uint8_t* bits, std::int64_t groups, float* out);
  void (*to_f64)(const float* in, std::int64_t count, double* out);
  TokenFacts (*scan)(const float* x, std::int64_t groups, double* sum_abs, std::int32_t* lsb);
  // One group as digits (digit_panel.h): bit k of the result is set if an element has a digit k that is not
  // zero; digits k in pairs of 16 bits, in the elements' own order. inverse_unit: a power of two,
  // |x|·inverse_unit < kDigitBase.
  std::uint32_t (*used_digits)(const float* x, double inverse_unit);
  void (*cut_digits)(const float* x, double inverse_unit, int k, std::int32_t* out);
};

// The additions between a product and the sum that it ends in, at most.
constexpr std::int64_t chain_length(const Kernels& kernels, std::int64_t in) {
  return in / kernels.lanes + kernels.lanes + 1;
}

// Those that this host can run, best first; never empty.
std::vector<const Kernels*> host_kernels();

// The one in use: the best, unless another one was chosen (by a test that compares them).
const Kernels& chosen_kernels();
void choose_kernels(const Kernels& kernels);

}  // namespace moe4::fast
