#include "gpu/ptx/program/types.h"

#include <array>
#include <cstddef>
#include <utility>

namespace moe4::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  unsigned bytes;
  char kind;  // 'p' predicate, 'b' bits, 'u', 's', 'f'
};

constexpr std::array<TypeRow, 21> kTypes{{
    {"", 0, '-'},       {"pred", 0, 'p'},  {"b8", 1, 'b'},  {"b16", 2, 'b'}, {"b32", 4, 'b'},
    {"b64", 8, 'b'},    {"b128", 16, 'b'}, {"u8", 1, 'u'},  {"u16", 2, 'u'}, {"u32", 4, 'u'},
    {"u64", 8, 'u'},    {"s8", 1, 's'},    {"s16", 2, 's'}, {"s32", 4, 's'}, {"s64", 8, 's'},
    {"f16", 2, 'f'},    {"bf16", 2, 'f'},  {"f32", 4, 'f'}, {"f64", 8, 'f'}, {"f16x2", 4, 'f'},
    {"bf16x2", 4, 'f'},
}};

const TypeRow& row(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (std::size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<Type>(i);
  }
  return std::nullopt;
}

std::string_view name_of(Type type) { return row(type).name; }
unsigned bytes_of(Type type) { return row(type).bytes; }
bool is_float(Type type) { return row(type).kind == 'f'; }
bool is_signed(Type type) { return row(type).kind == 's'; }
bool is_integer(Type type) {
  const char kind = row(type).kind;
  return kind == 'b' || kind == 'u' || kind == 's';
}

Type bits_of_width(unsigned bytes) {
  switch (bytes) {
    case 1:
      return Type::kB8;
    case 2:
      return Type::kB16;
    case 4:
      return Type::kB32;
    case 8:
      return Type::kB64;
    case 16:
      return Type::kB128;
    default:
      return Type::kNone;
  }
}

std::string_view name_of(Space space) {
  constexpr std::array<std::string_view, 8> kNames{"generic", "global", "shared", "local",
                                                   "param",   "frame",  "const",  "reg"};
  return kNames[static_cast<std::size_t>(space)];
}

}  // namespace moe4::ptx
