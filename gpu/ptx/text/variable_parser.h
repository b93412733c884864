// Declarations of variables and parameters, and the line directives .file and .loc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/ptx/text/cursor.h"
#include "gpu/ptx/text/syntax.h"

namespace moe4::ptx {

// ".shared" or ".shared.b8" -> kShared; nullopt for another word.
std::optional<Space> space_of_declaration(std::string_view word);

// Name -> index of a module variable, kNoIndex for an unknown name.
using ResolveVariable = std::function<std::uint32_t(std::string_view)>;

// ".shared .align 4 .b8 name[512], …;" from the space word to the semicolon.
bool parse_variables(Cursor& cursor, const ResolveVariable& resolve, std::vector<Variable>* variables);

// "(.param .u64 a, .param .align 8 .b8 b[16])" from the opening parenthesis.
bool parse_parameters(Cursor& cursor, std::vector<Variable>* parameters);

bool parse_file(Cursor& cursor, ModuleSyntax* module);
bool parse_location(Cursor& cursor, SourceLocation* location);

}  // namespace moe4::ptx
