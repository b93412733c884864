// All inner loops of one host instruction set: the including file defines MOE4_SET (a namespace), MOE4_TARGET
// (the target attribute of each function) and MOE4_VECTOR_BYTES.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if MOE4_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

#include "reference/fast/loops/kernels.h"

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of its own _mm512_undefined_* (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace moe4::fast::MOE4_SET {
namespace {

#include "reference/fast/loops/bound.inl"

#include "reference/fast/loops/prepare.inl"

#include "reference/fast/loops/decode.inl"

#include "reference/fast/loops/dot.inl"

#if MOE4_VECTOR_BYTES == 64
constexpr std::int64_t kPrefetchBytes = 256;  // of the codes of a row

#include "reference/fast/loops/digits.inl"
#else
constexpr void (*dot_digits)(const DigitJob&) = nullptr;
#endif

}  // namespace

const Kernels& kernels();
const Kernels& kernels() {
  static const Kernels table{MOE4_SET_NAME, MOE4_VECTOR_BYTES / 8, &dot<double>, &dot<float>, dot_digits,
                             &bound,        &widen_bf16,           &to_f64,      &scan,       &used_digits,
                             &cut_digits};
  return table;
}

}  // namespace moe4::fast::MOE4_SET
