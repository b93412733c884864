// Files of packed weights (LAY-13 … LAY-15), and the command that writes them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "oracle/file/layout_file.h"
#include "oracle/report/failure.h"
#include "reference/layout/layouts.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

WeightTensors logical_weights(const WeightLayout& logical, const WeightExtent& extent) {
  WeightTensors weights{Tensor(logical.code_dtype, logical.code_shape(extent)),
                        Tensor(logical.scale_dtype, logical.scale_shape(extent))};
  std::uint32_t state = 1;
  for (Tensor* tensor : {&weights.codes, &weights.scales}) {
    for (std::size_t n = 0; n < tensor->bytes(); ++n) {
      state = state * 1664525u + 1013904223u;
      tensor->data()[n] = static_cast<std::byte>(state >> 24);
    }
  }
  return weights;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.data(), a.data() + a.bytes(), b.data(), b.data() + b.bytes());
}

class LayoutFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("layout_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  int moe4(const std::vector<std::string>& arguments) const {
    std::string command = shell_word(MOE4_COMMAND) + " layout";
    for (const std::string& argument : arguments) command += " " + shell_word(argument);
    const int status = std::system((command + " >/dev/null 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  fs::path folder_;
};

TEST_F(LayoutFileTest, EveryLayoutIsReadAsWritten) {
  for (const WeightLayout* layout : weight_layouts()) {
    const WeightExtent extent{2, 64, 128};
    const WeightTensors packed =
        *pack(*layout, logical_weights(*logical_layout(layout->weights), extent).views());
    ASSERT_FALSE(write_layout_file(path("f"), *layout, packed));
    Result<LayoutFile> file = read_layout_file(path("f"), {});
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->layout, layout);
    EXPECT_EQ(file->extent, extent);
    EXPECT_TRUE(same(file->weights.codes, packed.codes)) << layout->name;
    EXPECT_TRUE(same(file->weights.scales, packed.scales)) << layout->name;
  }
}

SafeTensors file_of(const WeightTensors& weights, std::map<std::string, std::string> metadata) {
  SafeTensors file;
  file.tensors.emplace("packed_weights", weights.codes);
  file.tensors.emplace(weights.scales.dtype() == Dtype::kU8 ? "scale_bytes" : "scales", weights.scales);
  file.metadata = std::move(metadata);
  return file;
}

std::string refusal(SafeTensors file, const LayoutRequest& request) {
  Result<LayoutFile> result = layout_from(std::move(file), request);
  return result.ok() ? std::string(result->layout->name) : result.error().message();
}

// Names of the layouts stand for files that are read; everything else is a refusal.
TEST(LayoutFile, WhatTheFileRecordsAndWhatTheReaderAsks) {
  const WeightTensors w = logical_weights(kCompressedTensors, {1, 64, 128});
  using Metadata = std::map<std::string, std::string>;
  const Metadata grouped = {
      {"moe4.version", "1"}, {"moe4.weights", "int4"}, {"moe4.layout", "grouped_contiguous"}};
  const Metadata a_case = {{"moe4.version", "1"}, {"moe4.weights", "int4"}, {"moe4.op", "indexed"}};
  const WeightTensors g = *pack(kGroupedContiguous, w.views());

  EXPECT_EQ(refusal(file_of(g, grouped), {}), "grouped_contiguous");
  EXPECT_EQ(refusal(file_of(g, grouped), {&kGroupedContiguous, nullptr, "", ""}), "grouped_contiguous");
  EXPECT_EQ(refusal(file_of(g, grouped), {nullptr, &kCompressedTensors, "", ""}), "grouped_contiguous");
  EXPECT_EQ(
      refusal(file_of(g, grouped), {&kGroupedMasked, nullptr, "", ""}),
      "moe4.layout: value grouped_contiguous: LAY-13: not packed as grouped_masked; repack the weights");
  EXPECT_EQ(refusal(file_of(w, a_case), {}), "compressed_tensors");
  EXPECT_EQ(refusal(file_of(w, a_case), {&kIndexedMma, nullptr, "", ""}),
            "moe4.layout: value compressed_tensors: LAY-13: not packed as indexed_mma; repack the weights");
  EXPECT_EQ(refusal(file_of(w, {}), {nullptr, &kCompressedTensors, "", ""}), "compressed_tensors");
  EXPECT_EQ(refusal(file_of(g, {}), {&kGroupedMasked, &kCompressedTensors, "", ""}), "grouped_masked");
  EXPECT_EQ(refusal(file_of(w, {}), {}),
            "moe4.layout: value (absent): LAY-15: the file records no layout: name the one that it holds");

  const auto with = [](Metadata metadata, const char* key, const char* value) {
    metadata[key] = value;
    return metadata;
  };
  EXPECT_EQ(refusal(file_of(g, with(grouped, "moe4.version", "2")), {}),
            "moe4.version: value 2: LAY-15: moe4.version is \"1\"");
  EXPECT_EQ(refusal(file_of(g, with(grouped, "moe4.weights", "fp8")), {}),
            "moe4.weights: value fp8: LAY-15: moe4.weights is mxfp4 or int4");
  EXPECT_EQ(refusal(file_of(g, with(grouped, "moe4.weights", "mxfp4")), {}),
            "moe4.layout: value grouped_contiguous: LAY-15: a layout of the file's own weights, mxfp4");
  EXPECT_EQ(refusal(file_of(g, with(grouped, "moe4.layout", "grouped_maskd")), {}),
            "moe4.layout: value grouped_maskd: LAY-15: no such layout; the nearest is 'grouped_masked'");
  EXPECT_EQ(refusal(file_of(g, {{"moe4.layout", "grouped_masked"}, {"moe4.version", "1"}}), {}),
            "moe4.weights: value (absent): LAY-15: moe4.layout has moe4.weights beside it");
}

TEST(LayoutFile, Tensors) {
  const WeightTensors w = logical_weights(kCompressedTensors, {1, 64, 64});
  SafeTensors file = file_of(w, {});
  const LayoutRequest logical{&kCompressedTensors, nullptr, "", ""};
  file.tensors.erase("scales");
  EXPECT_EQ(refusal(file, logical), "scales: value (absent): LAY-14: the file has this tensor");
  file.tensors.emplace("other", w.scales);
  EXPECT_EQ(refusal(file, {&kCompressedTensors, nullptr, "", "other"}), "compressed_tensors");
  EXPECT_EQ(refusal(file, {&kCompressedTensors, nullptr, "blocks", "other"}),
            "blocks: value (absent): LAY-14: the file has this tensor");
  EXPECT_EQ(refusal(file_of(w, {}), {&kIndexedMma, nullptr, "", ""}),
            "out: value 4: LAY-4: a multiple of 64 in layout indexed_mma");
}

TEST_F(LayoutFileTest, CommandPacksAndUnpacks) {
  const WeightTensors logical = logical_weights(kCompressedTensors, {2, 64, 128});
  ASSERT_FALSE(write_safetensors(path("in"), {{"q", &logical.codes}, {"s", &logical.scales}}, {}));
  EXPECT_EQ(moe4({"pack", path("in"), "--codes", "q", "--scales", "s", "--layout", "indexed_mma", "--out",
                  path("mma")}),
            0);
  EXPECT_EQ(moe4({"pack", path("mma"), "--layout", "grouped_masked", "--out", path("masked")}), 0);
  EXPECT_EQ(moe4({"unpack", path("masked"), "--out", path("back")}), 0);
  Result<LayoutFile> mma = read_layout_file(path("mma"), {});
  ASSERT_TRUE(mma.ok()) << mma.error().message();
  EXPECT_EQ(mma->layout, &kIndexedMma);
  EXPECT_TRUE(same(mma->weights.codes, pack(kIndexedMma, logical.views())->codes));
  Result<LayoutFile> back = read_layout_file(path("back"), {});
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_TRUE(same(back->weights.codes, logical.codes));
  EXPECT_TRUE(same(back->weights.scales, logical.scales));
}

TEST_F(LayoutFileTest, CommandRefusesAndWritesNothing) {
  const WeightTensors logical = logical_weights(kCompressedTensors, {1, 64, 64});
  ASSERT_FALSE(write_layout_file(path("in"), kCompressedTensors, logical));
  EXPECT_EQ(moe4({"list"}), 0);
  EXPECT_EQ(moe4({"--help"}), 0);
  const std::vector<std::vector<std::string>> refused = {
      {"pack", path("in"), "--out", path("out")},
      {"pack", path("in"), "--layout", "gguf", "--out", path("out")},
      {"pack", path("in"), "--layout", "marlin", "--out", path("out")},
      {"pack", path("in"), "--layout", "grouped_masked", "--out", path("out")},
      {"pack", path("in"), "--from", "indexed_mma", "--layout", "grouped_contiguous", "--out", path("out")},
      {"pack", path("none"), "--layout", "indexed_mma", "--out", path("out")},
      {"unpack", path("in"), "--layout", "indexed_mma", "--out", path("out")},
      {"unpack", path("in"), "--out", path("no/such/folder")}};
  for (const auto& arguments : refused) EXPECT_EQ(moe4(arguments), 2) << testing::PrintToString(arguments);
  EXPECT_FALSE(fs::exists(path("out")));
}

}  // namespace
}  // namespace moe4::oracle
