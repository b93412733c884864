#include "oracle/file/checkpoint/index.h"

#include <algorithm>
#include <utility>

#include "oracle/file/checkpoint/index_json.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kOnly = "model.safetensors";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error in_file(const std::string& file, Error error) {
  if (error.field.find(file) == std::string::npos) error.field = file + ": " + error.field;
  return error;
}

}  // namespace

Result<CheckpointIndex> CheckpointIndex::open(const fs::path& folder) {
  CheckpointIndex result(folder);
  std::error_code ignored;
  const bool many = fs::exists(folder / kIndex, ignored);
  const bool one = fs::exists(folder / kOnly, ignored);
  if (many == one) {
    return Error{folder.string(), many ? "(both)" : "(neither)",
                 std::string("CKP-1: a checkpoint is a folder with either ") + kIndex + " or " + kOnly};
  }
  if (one) {
    result.files_ = {kOnly};
    Result<const Shard*> shard = result.shard(0);
    if (!shard) return shard.error();
    for (const auto& [name, entry] : (*shard)->tensors) result.names_.emplace(name, 0);
    return result;
  }
  Result<MappedFile> file = MappedFile::open(folder / kIndex);
  if (!file) return file.error();
  if (file->bytes().size() > std::size_t{1} << 30) {
    return Error{(folder / kIndex).string(), std::to_string(file->bytes().size()),
                 "CKP-1: an index has at most 2^30 bytes"};
  }
  Result<IndexJson> index = parse_index_json(text_of(file->bytes()));
  if (!index) return in_file(kIndex, index.error());
  result.files_ = std::move(index->files);
  result.names_ = std::move(index->names);
  return result;
}

std::string CheckpointIndex::label(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? name : files_[found->second] + ": " + name;
}

Result<const CheckpointIndex::Shard*> CheckpointIndex::shard(std::size_t file) {
  if (const auto known = shards_.find(file); known != shards_.end()) return &known->second;
  const std::string& name = files_[file];
  Result<MappedFile> mapped = MappedFile::open(folder_ / name);
  if (!mapped) return mapped.error();
  const std::span<const std::byte> bytes = mapped->bytes();
  Result<std::uint64_t> length =
      header_length(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderBegin)), bytes.size());
  if (!length) return in_file(name, length.error());
  const std::uint64_t begin = kHeaderBegin + *length;
  const std::string_view text = text_of(bytes.subspan(kHeaderBegin, static_cast<std::size_t>(*length)));
  Result<Header> header = parse_header(text, bytes.size() - begin, HeaderOf::kCheckpoint);
  if (!header) return in_file(name, header.error());
  const auto [added, fresh] =
      shards_.emplace(file, Shard{std::move(*mapped), std::move(header->tensors), begin});
  return &added->second;
}

Result<StoredTensor> CheckpointIndex::tensor(const std::string& name) {
  const auto found = names_.find(name);
  if (found == names_.end()) {
    return Error{name, "(absent)", "CKP-1: the checkpoint in " + folder_.string() + " has this tensor"};
  }
  Result<const Shard*> shard = this->shard(found->second);
  if (!shard) {
    Error error = shard.error();
    error.rule += "; it should hold " + name;
    return error;
  }
  const auto entry = (*shard)->tensors.find(name);
  if (entry == (*shard)->tensors.end()) {
    return Error{label(name), "(absent)", "CKP-1: a file holds the tensors that the index places in it"};
  }
  StoredTensor tensor{label(name), entry->second, nullptr, &(*shard)->file};
  tensor.data = (*shard)->file.bytes().data() + (*shard)->data_begin + entry->second.begin;
  return tensor;
}

std::vector<std::string> CheckpointIndex::opened() const {
  std::vector<std::string> names;
  for (const auto& [file, shard] : shards_) names.push_back(files_[file]);
  return names;
}

}  // namespace moe4::oracle
