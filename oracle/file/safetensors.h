// Strict safetensors: named tensors and string metadata (docs/spec/case_file.md, FILE-1 … FILE-13). Nothing
// here knows of cases.
//
// Input is hostile: every number of the header is checked against the size of the file before it is used, and
// no allocation is larger than the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4::oracle {

struct TensorEntry {
  // Absent: a dtype that moe4 does not read (CKP-3); only in the headers of checkpoints.
  std::optional<Dtype> dtype;
  std::string stored_dtype;  // as the header has it: F8_E8M0 is read as U8
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes after the header
};

struct Header {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// Whose header: a file of ours obeys FILE-3 … FILE-10; a checkpoint may hold more (CKP-3).
enum class HeaderOf { kOurs, kCheckpoint };

// The header's text, against the number of bytes that follow it.
Result<Header> parse_header(std::string_view text, std::uint64_t data_bytes, HeaderOf of = HeaderOf::kOurs);

// FILE-1, FILE-2: the length of the header, of a file of `total` bytes that begins with `first` (8 bytes or
// all that there are).
inline constexpr std::uint64_t kHeaderBegin = 8;
Result<std::uint64_t> header_length(std::span<const std::byte> first, std::uint64_t total);

struct SafeTensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

Result<SafeTensors> read_safetensors(const std::filesystem::path& path);
// The same from memory.
Result<SafeTensors> parse_safetensors(std::span<const std::byte> bytes);

// FILE-12, FILE-13: the same content gives the same bytes; the file appears whole or not at all.
Status write_safetensors(const std::filesystem::path& path,
                         const std::map<std::string, const Tensor*>& tensors,
                         const std::map<std::string, std::string>& metadata);

}  // namespace moe4::oracle
