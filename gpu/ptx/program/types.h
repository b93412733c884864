// PTX fundamental types and state spaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moe4::ptx {

enum class Type : std::uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kF16x2,
  kBF16x2,
};

// "f32" -> Type::kF32; nullopt for a word that is no type this executor knows.
std::optional<Type> type_named(std::string_view name);
std::string_view name_of(Type type);

unsigned bytes_of(Type type);  // kPred and kNone: 0
bool is_float(Type type);      // f16 … f64 and the packed pairs
bool is_signed(Type type);     // s8 … s64
bool is_integer(Type type);    // b, u and s

// Integer or untyped bits of a given width.
Type bits_of_width(unsigned bytes);

enum class Space : std::uint8_t {
  kGeneric,
  kGlobal,
  kShared,
  kLocal,
  kParam,  // parameters of an entry
  kFrame,  // .param variables of a function body, laid out in local memory
  kConst,
  kReg,
};
std::string_view name_of(Space space);

}  // namespace moe4::ptx
