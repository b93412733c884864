// A declaration from a file.
#pragma once

#include <string>

#include "oracle/subject/declaration.h"

namespace moe4::oracle {

// An Error names the file.
Result<Declaration> read_declaration(const std::string& path);

}  // namespace moe4::oracle
