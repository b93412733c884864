// Strict safetensors: named tensors and string metadata (docs/spec/case_file.md, FILE-1 … FILE-13). Nothing
// here knows of cases.
//
// Input is hostile: every number of the header is checked against the size of the file before it is used, and
// no allocation is larger than the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4::oracle {

struct TensorEntry {
  Dtype dtype = Dtype::kU8;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes after the header
};

struct Header {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// FILE-3 … FILE-10: the header's text, against the number of bytes that follow it.
Result<Header> parse_header(std::string_view text, std::uint64_t data_bytes);

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
