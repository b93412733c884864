// The words of --command: no shell reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle {

// Blanks separate words; '…' and "…" hold blanks, and a backslash outside of '…' takes the next character as
// it is. Nothing else has a meaning: who wants a shell says sh -c '…'. An Error: an open quote, no word, or
// no {cases} or {results} in it.
Result<std::vector<std::string>> command_words(std::string_view command);

// {cases} and {results} replaced, wherever they stand.
std::vector<std::string> with_folders(std::vector<std::string> words, const std::string& cases,
                                      const std::string& results);

}  // namespace moe4::oracle
