// PTX text to a syntax tree. Text of any kind is safe to give: sizes, depths and counts are bounded.
#pragma once

#include <string_view>

#include "gpu/ptx/ptx.h"
#include "gpu/ptx/text/syntax.h"

namespace moe4::ptx {

// The tree refers to `text`, which must outlive it.
bool parse_module(std::string_view text, ModuleSyntax* module, Error* error);

}  // namespace moe4::ptx
