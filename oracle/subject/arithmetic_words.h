// The words of a declared arithmetic, one setting at a time (docs/spec/profiles.md, PRO-19).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/profile/arithmetic.h"
#include "reference/status.h"

namespace moe4::oracle {

// The keys in the order of PRO-19: profile order accumulation products ftz weight dequant.
std::vector<std::string> arithmetic_keys();
// The values of a key, where they are a few words; empty for order.
std::vector<std::string> arithmetic_values(std::string_view key);

// Sets one of them. An unknown value is an Error with the nearest known one.
Status set_arithmetic(Arithmetic& arithmetic, std::string_view key, std::string_view value);
std::string arithmetic_value(const Arithmetic& arithmetic, std::string_view key);

// "once, seq, products=fma, accumulation=hopper": what a report says.
std::string arithmetic_words(const Arithmetic& arithmetic);

}  // namespace moe4::oracle
