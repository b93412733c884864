// Only the needed bytes are read: shards of several GB, most of it holes, and how many of their pages this
// process has touched.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "oracle/file/mapped_file.h"
#include "tests/oracle/checkpoint_support.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kHole = std::int64_t{3} << 30;

// Bytes of files of this folder that are mapped, and those of them that are resident for this process.
struct Mapped {
  std::uint64_t size = 0, resident = 0;
};
Mapped mapped_of(const std::filesystem::path& file_of_folder) {
  const std::string folder = file_of_folder.parent_path().string() + "/";
  Mapped sum;
  std::ifstream maps("/proc/self/smaps");
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    const bool heading = !line.empty() && !(line[0] >= 'A' && line[0] <= 'Z');
    if (heading) ours = line.find(folder) != std::string::npos;
    if (ours && line.rfind("Size:", 0) == 0) sum.size += std::stoull(line.substr(5)) * 1024;
    if (ours && line.rfind("Rss:", 0) == 0) sum.resident += std::stoull(line.substr(4)) * 1024;
  }
  return sum;
}

// A shard whose tensors lie behind a hole of 3 GB and before another.
void write_sparse(const std::filesystem::path& path, const RawTensors& tensors) {
  nlohmann::ordered_json header;
  std::int64_t at = 0;
  const auto place = [&](const std::string& name, const std::string& dtype,
                         const std::vector<std::int64_t>& shape, std::int64_t bytes) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  };
  place("before", "I8", {kHole + 1}, kHole + 1);
  std::string data;
  for (const RawTensor& t : tensors) {
    place(t.name, t.dtype, t.shape, static_cast<std::int64_t>(t.bytes.size()));
    data += t.bytes;
  }
  place("behind", "F64", {kHole / 8}, kHole);
  const std::string text = with_length(header.dump(), "");
  std::fstream file(path, std::ios::binary | std::ios::out);
  file << text;
  file.seekp(static_cast<std::streamoff>(text.size()) + kHole + 1);
  file << data;
  file.close();
  std::filesystem::resize_file(path, text.size() + static_cast<std::size_t>(at));
}

TEST_F(FileTest, OfHugeShardsOnlyTheNeededBytesAreRead) {
  ModelOptions m;
  m.layers = {1};
  std::vector<RawTensors> parts(2);
  nlohmann::json map;
  for (const RawTensor& t : model_tensors(m)) {
    const std::size_t n = shard_of(t.name, 2);
    map[t.name] = shard_name(n, 3);
    parts[n].push_back(t);
  }
  // The shards of other layers need not be there.
  map["language_model.model.layers.2.block_sparse_moe.experts.0.w1.weight_packed"] = shard_name(2, 3);
  for (std::size_t n = 0; n < 2; ++n) write_sparse(path(shard_name(n, 3)), parts[n]);
  write_bytes(path("model.safetensors.index.json"), nlohmann::json({{"weight_map", map}}).dump());

  const Result<LoadedWeights> loaded = load(path(""), {1, Projection::kDown, {1, 3}});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->scales.as<std::uint8_t>()[64 * 3 + 5], scale_of(m, 1, 3, 'd', 1, 2));
  EXPECT_EQ(loaded->checkpoint.files().size(), 2u) << "the experts' tensors are in both shards";
  EXPECT_EQ(loaded->checkpoint.bytes_read(), 2u * 64 * 3 * 17);
  const Mapped mapped = mapped_of(path("model.safetensors"));
  EXPECT_GE(mapped.size, 12ull << 30);
  EXPECT_GT(mapped.resident, 0u);
  EXPECT_LT(mapped.resident, 2u << 20);
}

// The measure sees a reader that reads more.
TEST_F(FileTest, ResidentBytesSeeWhatIsRead) {
  write_sparse(path("model.safetensors"), {});
  const Result<MappedFile> file = MappedFile::open(path("model.safetensors"));
  ASSERT_TRUE(file);
  EXPECT_LT(mapped_of(path("model.safetensors")).resident, 2u << 20);
  constexpr std::size_t kRead = 16u << 20;
  unsigned sum = 0;
  for (std::size_t at = 0; at < kRead; at += 512) sum += std::to_integer<unsigned>(file->bytes()[kRead + at]);
  EXPECT_EQ(sum, 0u);
  EXPECT_GE(mapped_of(path("model.safetensors")).resident, kRead);
}

}  // namespace
}  // namespace moe4::oracle
