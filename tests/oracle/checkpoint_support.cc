#include "tests/oracle/checkpoint_support.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace moe4::oracle {
namespace {

std::uint64_t mixed(std::initializer_list<std::uint64_t> words) {
  std::uint64_t h = 0x243F6A8885A308D3;
  for (const std::uint64_t word : words) {
    h = (h ^ word) * 0x9E3779B97F4A7C15;
    h ^= h >> 29;
  }
  return h * 0xBF58476D1CE4E5B9 >> 20;
}

std::uint64_t hash_of(const std::string& name) {
  std::uint64_t h = 1469598103934665603ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return mixed({h});
}

bool stacked(const ModelOptions& m) { return m.model == Model::kGptOss || m.model == Model::kGptOssOriginal; }

void put16(std::string& bytes, std::uint64_t value) {
  bytes += static_cast<char>(value);
  bytes += static_cast<char>(value >> 8);
}

struct Dims {
  std::int64_t out, in;
};
Dims dims_of(const ModelOptions& m, char projection) {
  return projection == 'd' ? Dims{m.hidden, m.intermediate} : Dims{m.intermediate, m.hidden};
}

// Row o of a matrix: 8 codes a word from the lowest nibble up, which as bytes is the even column in the low
// half: one packing for both formats.
std::string packed_row(std::int64_t layer, std::int64_t e, char projection, std::int64_t o, std::int64_t in) {
  std::string row;
  for (std::int64_t i = 0; i < in; i += 2) {
    row +=
        static_cast<char>(code_of(layer, e, projection, o, i) | code_of(layer, e, projection, o, i + 1) << 4);
  }
  return row;
}

std::string scale_row(const ModelOptions& m, std::int64_t layer, std::int64_t e, char projection,
                      std::int64_t o, std::int64_t in) {
  std::string row;
  for (std::int64_t g = 0; g < in / 32; ++g) {
    const unsigned scale = scale_of(m, layer, e, projection, o, g);
    m.model == Model::kK2 ? put16(row, scale) : void(row += static_cast<char>(scale));
  }
  return row;
}

void add_module(const ModelOptions& m, std::int64_t layer, std::int64_t e, char projection, RawTensors& to) {
  const auto [out, in] = dims_of(m, projection);
  const std::string module = module_of(m, layer, e, projection);
  std::string codes, scales;
  for (std::int64_t o = 0; o < out; ++o) {
    codes += packed_row(layer, e, projection, o, in);
    scales += scale_row(m, layer, e, projection, o, in);
  }
  const bool k2 = m.model == Model::kK2;
  to.push_back({module + "weight_packed", k2 ? "I32" : "U8", {out, k2 ? in / 8 : in / 2}, codes});
  to.push_back({module + "weight_scale", k2 ? "BF16" : m.scale_dtype, {out, in / 32}, scales});
  if (!k2) return;
  std::string shape;
  for (const std::int64_t d : {out, in}) {
    const std::size_t bytes = m.shape_dtype == "I64" ? 8 : 4;
    for (std::size_t n = 0; n < bytes; ++n) shape += static_cast<char>(d >> (8 * n));
  }
  to.push_back({module + "weight_shape", m.shape_dtype, {2}, shape});
}

// gpt-oss: mlp1 has gate in its even rows and up in its odd ones.
void add_stacked(const ModelOptions& m, std::int64_t layer, bool down, RawTensors& to) {
  const std::int64_t out = down ? m.hidden : 2 * m.intermediate;
  const std::int64_t in = down ? m.intermediate : m.hidden;
  std::string codes, scales;
  for (std::int64_t e = 0; e < m.experts; ++e) {
    for (std::int64_t row = 0; row < out; ++row) {
      const char projection = down ? 'd' : row % 2 == 0 ? 'g' : 'u';
      const std::int64_t o = down ? row : row / 2;
      codes += packed_row(layer, e, projection, o, in);
      scales += scale_row(m, layer, e, projection, o, in);
    }
  }
  const std::string stem = module_of(m, layer, 0, down ? 'd' : 'g');
  to.push_back({stem + "blocks", "U8", {m.experts, out, in / 32, 16}, codes});
  to.push_back({stem + "scales", m.scale_dtype, {m.experts, out, in / 32}, scales});
  const std::string bias = m.model == Model::kGptOss ? stem + "bias"
                                                     : "block." + std::to_string(layer) +
                                                           (down ? ".mlp.mlp2_bias" : ".mlp.mlp1_bias");
  to.push_back(
      {bias, "BF16", {m.experts, out}, std::string(static_cast<std::size_t>(2 * m.experts * out), 'b')});
}

// What stands around the experts, of dtypes that moe4 reads and that it does not.
void add_others(const ModelOptions& m, RawTensors& to) {
  to.push_back({m.prefix + "model.embed_tokens.weight", "BF16", {3, 5}, std::string(30, 'e')});
  to.push_back({m.prefix + "model.layers.0.mlp.gate_proj.weight", "BF16", {2, 2}, std::string(8, 'd')});
  to.push_back({m.prefix + "model.layers.1.mlp.shared_experts.gate_proj.weight", "F8_E4M3", {3}, "abc"});
  to.push_back({m.prefix + "model.layers.1.mlp.gate.weight", "BF16", {1, 3}, "abcdef"});
  to.push_back({"vision_tower.mask", "BOOL", {5}, "vwxyz"});
  to.push_back({"vision_tower.empty", "F32", {0, 4}, ""});
  to.push_back({"vision_tower.scalar", "U16", {}, "st"});
}

std::string padded(std::size_t n) {
  const std::string digits = std::to_string(n);
  return std::string(5 - digits.size(), '0') + digits;
}

}  // namespace

unsigned code_of(std::int64_t layer, std::int64_t e, char projection, std::int64_t o, std::int64_t i) {
  const auto word = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  return mixed({1, word(layer), word(e), static_cast<std::uint64_t>(projection), word(o), word(i)}) & 15;
}

unsigned scale_of(const ModelOptions& m, std::int64_t layer, std::int64_t e, char projection, std::int64_t o,
                  std::int64_t g) {
  const auto word = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const auto h = static_cast<unsigned>(
      mixed({2, word(layer), word(e), static_cast<std::uint64_t>(projection), word(o), word(g)}) & 0xFFF);
  return m.model == Model::kK2 ? 0x3C00 + h % 0x200 : 112 + h % 16;
}

std::string module_of(const ModelOptions& m, std::int64_t layer, std::int64_t e, char projection) {
  const std::string l = std::to_string(layer), x = std::to_string(e);
  const std::string layers = m.prefix + "model.layers." + l;
  switch (m.model) {
    case Model::kK2:
      return layers + ".mlp.experts." + x +
             (projection == 'g'   ? ".gate_proj."
              : projection == 'u' ? ".up_proj."
                                  : ".down_proj.");
    case Model::kK3:
      return layers + ".block_sparse_moe.experts." + x +
             (projection == 'g'   ? ".w1."
              : projection == 'u' ? ".w3."
                                  : ".w2.");
    case Model::kGptOss:
      return layers + ".mlp.experts." + (projection == 'd' ? "down_proj_" : "gate_up_proj_");
    case Model::kGptOssOriginal:
      return "block." + l + ".mlp." + (projection == 'd' ? "mlp2_weight." : "mlp1_weight.");
  }
  return "";
}

RawTensors model_tensors(const ModelOptions& m) {
  RawTensors tensors;
  for (const std::int64_t layer : m.layers) {
    if (stacked(m)) {
      add_stacked(m, layer, false, tensors);
      add_stacked(m, layer, true, tensors);
      continue;
    }
    for (std::int64_t e = 0; e < m.experts; ++e) {
      for (const char projection : {'g', 'u', 'd'}) add_module(m, layer, e, projection, tensors);
    }
  }
  add_others(m, tensors);
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const RawTensor& a, const RawTensor& b) { return hash_of(a.name) < hash_of(b.name); });
  return tensors;
}

RawTensor& named(RawTensors& tensors, const std::string& name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const RawTensor& t) { return t.name == name; });
  if (found == tensors.end()) throw std::runtime_error("no tensor " + name);
  return *found;
}

std::string shard_bytes(const RawTensors& tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data = "#";  // so that what follows is aligned to nothing
  header["a.pad"] = {{"dtype", "U8"}, {"shape", {1}}, {"data_offsets", {0, 1}}};
  for (const RawTensor& t : tensors) {
    header[t.name] = {{"dtype", t.dtype},
                      {"shape", t.shape},
                      {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
    data += t.bytes;
  }
  return with_length(header.dump(), data);
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void write_single(const std::filesystem::path& folder, const RawTensors& tensors) {
  write_bytes(folder / "model.safetensors", shard_bytes(tensors));
}

std::string shard_name(std::size_t n, std::size_t shards) {
  return "model-" + padded(n + 1) + "-of-" + padded(shards) + ".safetensors";
}

std::size_t shard_of(const std::string& name, std::size_t shards) {
  return static_cast<std::size_t>(hash_of("shard " + name)) % shards;
}

void write_shards(const std::filesystem::path& folder, const RawTensors& tensors, std::size_t shards) {
  std::vector<RawTensors> parts(shards);
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  std::size_t total = 0;
  for (const RawTensor& t : tensors) {
    const std::size_t n = shard_of(t.name, shards);
    parts[n].push_back(t);
    map[t.name] = shard_name(n, shards);
    total += t.bytes.size();
  }
  for (std::size_t n = 0; n < shards; ++n) write_bytes(folder / shard_name(n, shards), shard_bytes(parts[n]));
  write_bytes(folder / "model.safetensors.index.json",
              nlohmann::ordered_json({{"metadata", {{"total_size", total}}}, {"weight_map", map}}).dump(2));
}

Result<LoadedWeights> load(const std::filesystem::path& folder, const CheckpointRequest& request) {
  Result<Checkpoint> checkpoint = Checkpoint::open(folder, request);
  if (!checkpoint) return checkpoint.error();
  const WeightLayout& layout = checkpoint->layout();
  LoadedWeights loaded{std::move(*checkpoint), {}, {}};
  loaded.codes = Tensor(layout.code_dtype, layout.code_shape(loaded.checkpoint.extent()));
  loaded.scales = Tensor(layout.scale_dtype, layout.scale_shape(loaded.checkpoint.extent()));
  std::vector<std::int64_t> all(loaded.checkpoint.experts().size());
  std::iota(all.begin(), all.end(), 0);
  if (Status status = loaded.checkpoint.read(all, loaded.codes, loaded.scales)) return *status;
  return loaded;
}

}  // namespace moe4::oracle
