// Which image a chip runs, and what the build embedded.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "gpu/device/cuda_image.h"
#include "gpu/launch/embedded_images.h"
#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {
namespace {

TEST(CudaImage, RunsOnWhatItIsMadeFor) {
  EXPECT_TRUE(runs_on("sm_80", 80));
  EXPECT_TRUE(runs_on("sm_80", 89)) << "a later minor version of the same major one";
  EXPECT_FALSE(runs_on("sm_80", 90));
  EXPECT_FALSE(runs_on("sm_89", 80));
  EXPECT_TRUE(runs_on("sm_90a", 90));
  EXPECT_FALSE(runs_on("sm_100a", 103)) << "a letter binds to one chip";
  EXPECT_TRUE(runs_on("compute_80", 120));
  EXPECT_FALSE(runs_on("compute_90a", 100));
  EXPECT_FALSE(runs_on("compute_90", 80));
  EXPECT_FALSE(runs_on("", 90));
  EXPECT_FALSE(runs_on("sm_", 90));
}

TEST(CudaImage, MachineCodeComesBeforeText) {
  const KernelImage images[] = {{"compute_80", {}}, {"sm_80", {}}, {"sm_90a", {}}};
  EXPECT_EQ(pick_image(images, 90)->target, "sm_90a");
  EXPECT_EQ(pick_image(images, 86)->target, "sm_80");
  EXPECT_EQ(pick_image(images, 120)->target, "compute_80");
  EXPECT_EQ(pick_image(images, 75), nullptr);
}

TEST(CudaImage, TheTargetOfAText) {
  EXPECT_EQ(ptx_target(".version 8.0\n.target sm_90a\n"), "compute_90a");
  EXPECT_EQ(ptx_target(".target sm_80, debug"), "compute_80");
  EXPECT_EQ(ptx_target("nothing"), "");
}

TEST(CudaImage, EveryVariantHasMachineCodeForHopper) {
  for (const Variant& variant : variants()) {
    if (variant.ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    const std::size_t slash = variant.file.rfind('/') + 1;
    const std::string_view stem = variant.file.substr(slash, variant.file.rfind('.') - slash);
    const KernelImage* image = pick_image(embedded_images(stem), 90);
    ASSERT_NE(image, nullptr) << stem;
    EXPECT_EQ(image->target, "sm_90a");
    ASSERT_GT(image->bytes.size(), 1000u);
    EXPECT_EQ(std::memcmp(image->bytes.data(), "\177ELF", 4), 0) << stem;
  }
}

// What is offered for a chip of Blackwell's other kind, and for the generations before Hopper.
TEST(CudaImage, OtherChipsHaveImages) {
  if (all_embedded_images().empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
  const auto target = [](std::string_view file, int capability) {
    const KernelImage* image = pick_image(embedded_images(file), capability);
    return image == nullptr ? std::string_view("none") : image->target;
  };
  EXPECT_EQ(target("int4_indexed_decode", 100), "sm_100a");
  EXPECT_EQ(target("int4_indexed_decode", 103), "compute_90");
  EXPECT_EQ(target("mxfp4_linear_warp", 80), "sm_80");
  EXPECT_EQ(target("mxfp4_linear_warp", 120), "compute_80");
  EXPECT_EQ(target("int4_indexed_wgmma", 100), "none") << "wgmma is Hopper's alone";
}

TEST(CudaImage, EveryImageSaysWhatItTakes) {
  std::size_t bytes = 0;
  for (const EmbeddedImage& image : all_embedded_images()) {
    bytes += image.image.bytes.size();
    if (!image.image.target.starts_with("sm_")) continue;
    EXPECT_NE(image.resources.find("registers"), std::string_view::npos) << image.file;
    EXPECT_NE(image.resources.find(" 0 bytes spill stores"), std::string_view::npos) << image.file;
  }
  EXPECT_LT(bytes, std::size_t{32} << 20) << "they go into every binary";
}

// A text with edits must not be judged by the machine code of the text without them.
TEST(CudaImage, AnEditedTextHasNoImages) {
  for (const Variant& variant : variants()) {
    if (variant.ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    if (variant.name != "mxfp4_linear_thread_bf16") continue;
    LaunchShape shape;
    shape.tokens = shape.experts = shape.out = shape.top_k = 1;
    shape.in = 32;
    EXPECT_FALSE(variant.plan(variant, shape, {})->images.empty());
    const std::string edited = std::string(variant.ptx) + "\n";
    Variant other = variant;
    other.ptx = edited;
    EXPECT_TRUE(other.plan(other, shape, {})->images.empty());
  }
}

}  // namespace
}  // namespace moe4::gpu
