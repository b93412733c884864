// One line each for what `moe4 list` names.
#pragma once

#include <string_view>

#include "oracle/case/case.h"

namespace moe4::oracle::cli {

std::string_view meaning_of(Op op);
std::string_view meaning_of(WeightFormat format);
std::string_view meaning_of(Fill fill);
std::string_view meaning_of(Routing routing);
// Of a word of an arithmetic (docs/spec/profiles.md); empty where the word says it all.
std::string_view meaning_of(std::string_view key, std::string_view value);

}  // namespace moe4::oracle::cli
