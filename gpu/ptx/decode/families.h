// Decoding that several families share.
#pragma once

#include "gpu/ptx/decode/decoder.h"

namespace moe4::ptx {

// The first type among the modifiers, not taken.
Type leading_type(const Modifiers& modifiers);

// add, sub, mul, fma and mad of any floating type, of `operands` operands.
void decode_float_arithmetic(Decoder& decoder, const Statement& s, Modifiers& m, FloatOp op,
                             std::size_t operands);
void decode_float_division(Decoder& decoder, const Statement& s, Modifiers& m);
void decode_float_extreme(Decoder& decoder, const Statement& s, Modifiers& m, bool max);

// .eq … .nan among the modifiers, taken. lo, ls, hi and hs are the unsigned spellings.
bool take_compare(Modifiers& m, Compare* compare);

}  // namespace moe4::ptx
