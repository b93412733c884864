// The routed experts of one layer of a checkpoint, as weights of a case (docs/spec/checkpoints.md).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "oracle/file/checkpoint/matrix.h"
#include "reference/layout/repack.h"

namespace moe4::oracle {

struct CheckpointRequest {
  std::int64_t layer = 0;
  Projection projection = Projection::kDown;
  std::vector<std::int64_t> experts;  // ascending; empty: all
};

class Checkpoint {
 public:
  // Looks at names and at the tensors of the first chosen expert; reads no weight. An error names the tensor
  // and the file, or the choice and what there is to choose from.
  static Result<Checkpoint> open(const std::filesystem::path& folder, const CheckpointRequest& request);

  WeightFormat format() const { return format_; }
  // E: the number of chosen experts; O, I: of the chosen projection.
  const WeightExtent& extent() const { return extent_; }
  const WeightLayout& layout() const { return *logical_layout(name_of(format_)); }
  // The expert of the checkpoint that is expert n of the case.
  const std::vector<std::int64_t>& experts() const { return experts_; }

  // Reads experts of the case, in the logical layout (LAY-5, LAY-8) and in place: codes and scales have the
  // shapes of extent(); the places of other experts are not touched.
  Status read(std::span<const std::int64_t> which, Tensor& codes, Tensor& scales);

  // "--layer 3 --projection down --experts 0-7" (CKP-16).
  std::string choice() const;
  // What read() has taken from which files.
  std::vector<std::string> files() const { return index_.opened(); }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  explicit Checkpoint(CheckpointIndex index) : index_(std::move(index)) {}
  Status choose(const std::vector<std::int64_t>& experts);
  Result<StoredMatrices> matrices(std::int64_t expert);

  CheckpointIndex index_;
  std::optional<WeightFormat> said_;  // by config.json
  ExpertLayer layer_;
  std::int64_t number_ = 0;  // of the layer
  Projection projection_ = Projection::kDown;
  std::vector<std::int64_t> experts_;
  WeightFormat format_ = WeightFormat::kMxfp4;
  WeightExtent extent_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace moe4::oracle
