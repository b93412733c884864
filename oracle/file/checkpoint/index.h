// The tensors of a checkpoint by name, over the files of its folder (CKP-1 … CKP-3).
//
// Opening reads the index, or the header of the only file. A shard is mapped, and its header read, when the
// first of its tensors is asked for; nothing of a tensor is read before its bytes are touched (CKP-2).
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/file/mapped_file.h"
#include "oracle/file/safetensors.h"

namespace moe4::oracle {

struct StoredTensor {
  std::string label;  // "model-00002-of-00003.safetensors: model.layers.3…", for errors
  TensorEntry entry;
  const std::byte* data = nullptr;  // in the mapped file: of any alignment
  const MappedFile* file = nullptr;
};

class CheckpointIndex {
 public:
  static Result<CheckpointIndex> open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  // Every tensor, with the number of its file.
  const std::map<std::string, std::size_t, std::less<>>& names() const { return names_; }

  // An Error if there is none of this name, or its file is missing, broken or has no such tensor.
  Result<StoredTensor> tensor(const std::string& name);
  // "FILE: NAME", or the name alone for a tensor that is nowhere.
  std::string label(const std::string& name) const;

  // Names of the files that have been opened.
  std::vector<std::string> opened() const;

 private:
  struct Shard {
    MappedFile file;
    std::map<std::string, TensorEntry> tensors;
    std::uint64_t data_begin;
  };
  explicit CheckpointIndex(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<const Shard*> shard(std::size_t file);

  std::filesystem::path folder_;
  std::vector<std::string> files_;
  std::map<std::string, std::size_t, std::less<>> names_;
  std::map<std::size_t, Shard> shards_;
};

}  // namespace moe4::oracle
