// model.safetensors.index.json (CKP-1).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle {

struct IndexJson {
  std::vector<std::string> files;
  std::map<std::string, std::size_t, std::less<>> names;  // name of a tensor: number of its file
};

// The error's field says what is wrong inside; the caller names the file.
Result<IndexJson> parse_index_json(std::string_view text);

}  // namespace moe4::oracle
