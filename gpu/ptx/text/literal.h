// Numbers of PTX text, and constant integer expressions over them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gpu/ptx/text/cursor.h"

namespace moe4::ptx {

struct Literal {
  enum class Kind { kInteger, kSingle, kDouble } kind = Kind::kInteger;
  std::int64_t value = 0;  // integer, two's complement
  std::uint64_t bits = 0;  // floating-point pattern
};

std::optional<Literal> literal_from(std::string_view text);

// A constant expression: a number, or integers joined by C operators. Starts at the cursor.
bool parse_constant(Cursor& cursor, Literal* result, int depth = 0);

}  // namespace moe4::ptx
