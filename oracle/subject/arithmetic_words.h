// The words of a declared arithmetic for messages and options (docs/spec/profiles.md, PRO-19). The table of
// keys and values: reference/profile/arithmetic.h.
#pragma once

#include <string>
#include <string_view>

#include "reference/profile/arithmetic.h"
#include "reference/status.h"

namespace moe4::oracle {

// Sets one key. An unknown key or value is an Error with the nearest known one.
Status set_arithmetic(Arithmetic& arithmetic, std::string_view key, std::string_view value);

// "once, seq, products=fma, accumulation=hopper": what a report says.
std::string arithmetic_words(const Arithmetic& arithmetic);

}  // namespace moe4::oracle
