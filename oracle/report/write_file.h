// Text files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "reference/status.h"

namespace moe4::oracle {

// FILE-13.
Status write_file(const std::filesystem::path& path, std::string_view text);

// The whole file, at most 64 MiB unless said otherwise: lists, declarations and manifests, never tensors.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::uintmax_t limit = std::uintmax_t{64} << 20);

}  // namespace moe4::oracle
