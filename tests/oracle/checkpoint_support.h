// Miniature checkpoints with the names, dtypes and shapes of the real ones, packed here from logical codes
// and scales and split over shards in awkward places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/file/checkpoint/checkpoint.h"
#include "tests/oracle/file_support.h"

namespace moe4::oracle {

struct RawTensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
using RawTensors = std::vector<RawTensor>;

enum class Model { kK2, kK3, kGptOss, kGptOssOriginal };

struct ModelOptions {
  Model model = Model::kK3;
  std::string prefix = "language_model.";  // of Kimi's names
  std::vector<std::int64_t> layers = {1, 2, 7};
  std::int64_t experts = 5;
  std::int64_t hidden = 64, intermediate = 96;
  std::string shape_dtype = "I32";  // of weight_shape
  std::string scale_dtype = "U8";   // of mxfp4 scales
};

// What the model means. projection: 'g', 'u' or 'd'.
unsigned code_of(std::int64_t layer, std::int64_t e, char projection, std::int64_t o, std::int64_t i);
unsigned scale_of(const ModelOptions& m, std::int64_t layer, std::int64_t e, char projection, std::int64_t o,
                  std::int64_t g);

// Its routed experts and, around them, tensors of other kinds and dtypes. The order is that of a hash.
RawTensors model_tensors(const ModelOptions& m);
std::string module_of(const ModelOptions& m, std::int64_t layer, std::int64_t e, char projection);
RawTensor& named(RawTensors& tensors, const std::string& name);

std::string shard_bytes(const RawTensors& tensors);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);
// One file, or shards by a hash of the names, and the index.
void write_single(const std::filesystem::path& folder, const RawTensors& tensors);
void write_shards(const std::filesystem::path& folder, const RawTensors& tensors, std::size_t shards);
std::string shard_name(std::size_t n, std::size_t shards);
std::size_t shard_of(const std::string& name, std::size_t shards);

// The weights of all chosen experts.
struct LoadedWeights {
  Checkpoint checkpoint;
  Tensor codes, scales;

  ExpertWeights weights() const { return {checkpoint.format(), codes.view(), scales.view()}; }
};
Result<LoadedWeights> load(const std::filesystem::path& folder, const CheckpointRequest& request);

}  // namespace moe4::oracle
