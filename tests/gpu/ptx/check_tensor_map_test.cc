// Kernels that edit tensor maps, and reductions through TMA. In each, a fence is then left out.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "gpu/ptx/tensor_map.h"
#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " occurs twice";
  return text.replace(at, from.size(), to);
}

bool has(const LaunchReport& report, Check check, std::string_view says = "") {
  for (const Finding& finding : report.findings) {
    if (finding.check == check && finding.message.find(says) != std::string::npos) return true;
  }
  return false;
}

// The map of the parameters is copied to shared memory, edited there (%rd4: address, %r20 … sizes), published
// at `maps`, and used for one box of 16 × 2 words, which is written to out.
const std::string& edit_text() {
  static const std::string text =
      kernel(".param .align 64 .b8 map[128], .param .u64 tensor, .param .u64 maps, .param .u64 out", R"(
.shared .align 128 .b8 tile[128];
.shared .align 128 .b8 draft[128];
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; mov.u32 %r4, draft; shl.b32 %r5, %r1, 2; add.u32 %r6, %r4, %r5;
ld.param.u64 %rd1, [tensor]; ld.param.u64 %rd2, [maps]; ld.param.u64 %rd3, [out];
mov.b64 %rd4, map; cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd4, %rd5; ld.param.u32 %r7, [%rd6]; st.shared.u32 [%r6], %r7;
setp.ne.u32 %p1, %r1, 0;
bar.sync 0;
@%p1 bra EDITED;
mbarrier.init.shared::cta.b64 [%r3], 1;
fence.mbarrier_init.release.cluster;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r4], %rd1;  // ADDRESS
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r4], 1;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 0, 16;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 1, 3;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r4], 0, 64;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 0, 16;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 1, 2;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r4], 0, 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r4], 0x2;
tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r4], 0x0;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r4], 0x0;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r4], 0x0;
EDITED:
bar.warp.sync 0xffffffff;  // LANES
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r4], 128;  // PUBLISH
bar.sync 0;
@%p1 bra TRY;
fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;  // ACQUIRE
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd2, {0, 2}], [%r3];  // COPY
TRY:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
@!%p2 bra TRY;
add.u32 %r8, %r2, %r5; ld.shared.u32 %r9, [%r8]; add.u64 %rd7, %rd3, %rd5; st.global.u32 [%rd7], %r9;
ret;)");
  return text;
}

LaunchReport edit(const std::string& text, std::vector<std::uint32_t>* got = nullptr,
                  std::uint64_t seed = 0) {
  const Module module = parse_valid(text);
  std::vector<std::uint32_t> tensor(64);
  for (std::uint32_t i = 0; i < 64; ++i) tensor[i] = 500 + i;
  // What is passed describes something else.
  TensorMap map;
  map.rank = 1;
  map.element_bytes = 2;
  map.dims = {8};
  map.strides = {2};
  map.box = {8};
  map.swizzle = Swizzle::k32B;
  Memory memory;
  const std::uint64_t words[3] = {memory.add_input("tensor", std::as_bytes(std::span(tensor))),
                                  memory.add_output("maps", 128), memory.add_output("out", 128)};
  std::vector<std::byte> parameters(128 + sizeof words);
  std::memcpy(parameters.data(), encode(map).data(), 128);
  std::memcpy(parameters.data() + 128, words, sizeof words);
  Options options;
  if (seed != 0) options.schedule = seed;
  LaunchReport report = launch(module, memory, {"kernel", {1, 1, 1}, {32, 1, 1}, 0, parameters}, options);
  if (got != nullptr) *got = read_all<std::uint32_t>(memory, words[2], 32);
  return report;
}

LaunchReport edit(std::string_view from, std::string_view to) {
  return edit(replaced(edit_text(), from, to));
}

TEST(TensorMapEdit, InSharedMemoryAndPublished) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<std::uint32_t> got;
    expect_clean(edit(edit_text(), &got, seed));
    // Row 2, and a row outside.
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 16 ? 532 + i : 0) << i;
  }
}

TEST(TensorMapEdit, AFenceIsMissing) {
  const auto acquire = edit("fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;  // ACQUIRE", "");
  EXPECT_TRUE(has(acquire, Check::kProxyFence, "no fence.proxy.tensormap::generic.acquire"))
      << describe(acquire);
  const auto other = edit("fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;  // ACQUIRE",
                          "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;");
  EXPECT_TRUE(has(other, Check::kProxyFence, "acquire"));
  // A plain copy in place of cp_fenceproxy, with and without its fence.
  const std::string copy =
      "ld.shared.u32 %r10, [%r6]; add.u64 %rd8, %rd2, %rd5; st.global.u32 [%rd8], %r10;\n";
  const std::string publish =
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r4], "
      "128;  // PUBLISH";
  const LaunchReport plain = edit(replaced(edit_text(), publish, copy));
  EXPECT_TRUE(has(plain, Check::kProxyFence, "no fence.proxy.tensormap::generic.release")) << describe(plain);
  expect_clean(edit(replaced(edit_text(), publish, copy + "fence.proxy.tensormap::generic.release.gpu;\n")));
  // The edits and the copy are of different lanes.
  EXPECT_TRUE(has(edit("bar.warp.sync 0xffffffff;  // LANES", ""), Check::kSharedRace));
}

TEST(TensorMapEdit, InGlobalMemory) {
  const std::string in_place =
      replaced(replaced(edit_text(), "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;  // ACQUIRE",
                        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd2], 1, 4;\n"
                        "fence.proxy.tensormap::generic.release.gpu;  // AGAIN\n"
                        "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;"),
               "[%r4], 1, 3;", "[%r4], 1, 1;");
  std::vector<std::uint32_t> got;
  expect_clean(edit(in_place, &got));
  EXPECT_EQ(got[31], 563u);
  EXPECT_TRUE(has(edit(replaced(in_place, "fence.proxy.tensormap::generic.release.gpu;  // AGAIN", "")),
                  Check::kProxyFence, "release"));
  // Fenced, then edited once more.
  EXPECT_FALSE(edit("// ACQUIRE", "\ntensormap.replace.tile.global_dim.global.b1024.b32 [%rd2], 1, 4;")
                   .findings.empty());
}

TEST(TensorMapEdit, WhatCannotBe) {
  for (const auto& [from, to, says] :
       {std::tuple{"elemtype.shared::cta.b1024.b32 [%r4], 0x2;", "elemtype.shared::cta.b1024.b32 [%r4], 0xd;",
                   "the element type 13"},
        std::tuple{"[%r4], 0, 1;", "[%r4], 0, 2;", "an element stride of 2"},
        std::tuple{"fill_mode.shared::cta.b1024.b32 [%r4], 0x0;",
                   "fill_mode.shared::cta.b1024.b32 [%r4], 0x1;", "the fill mode 1"},
        std::tuple{"global_address.shared::cta.b1024.b64 [%r4], %rd1;",
                   "global_address.shared::cta.b1024.b64 [%r2], %rd1;", "there is no tensor map"}}) {
    EXPECT_TRUE(has(edit(from, to), Check::kInvalidOperand, says)) << from;
  }
  // A description that is not valid when it is used.
  EXPECT_TRUE(has(edit("[%r4], 0, 64;", "[%r4], 0, 60;"), Check::kInvalidOperand, "no tensor map of rank 2"));
  EXPECT_TRUE(has(edit("[%rd2, {0, 2}], [%r3];", "[%rd8, {0, 2}], [%r3];"), Check::kOutOfBounds) ||
              has(edit("[%rd2, {0, 2}], [%r3];", "[%rd8, {0, 2}], [%r3];"), Check::kMisaligned));
}

TEST(TensorMapEdit, WhereAMapMayLie) {
  const std::string_view use =
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd2,";
  const LaunchReport shared =
      edit(use,
           "cvt.u64.u32 %rd9, %r4; cvta.shared.u64 %rd9, %rd9;\n"
           "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd9,");
  EXPECT_TRUE(has(shared, Check::kInvalidOperand, "a tensor map in shared memory")) << describe(shared);
  const LaunchReport lanes =
      edit("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2],",
           "add.u64 %rd9, %rd2, %rd5;\n"
           "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd9],");
  EXPECT_TRUE(has(lanes, Check::kInvalidOperand, "name different tensor maps")) << describe(lanes);
  const LaunchReport input =
      edit("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2],",
           "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1],");
  EXPECT_TRUE(has(input, Check::kInputWritten, "a tensor map in the read-only buffer")) << describe(input);
}

// ---- reductions

// Each of two blocks adds a row of 32 elements to `out`.
std::string reduce_text(const std::string& reduce, const std::string& store) {
  return kernel(".param .align 64 .b8 map[128], .param .u64 out", R"(
.shared .align 128 .b8 tile[128];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, %ctaid.x; ld.param.u64 %rd1, [out];
mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2; add.u32 %r4, %r1, 1; mad.lo.u32 %r4, %r3, 100, %r4;
)" + store + R"(
fence.proxy.async.shared::cta;  // PROXY
bar.sync 0;
setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
)" + reduce + R"(  // REDUCE
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;  // WAIT
DONE:
ret;)");
}
const std::string kStoreWords = "shl.b32 %r5, %r1, 2; add.u32 %r5, %r2, %r5; st.shared.u32 [%r5], %r4;";
const std::string kStoreFloats =
    "cvt.rn.f32.u32 %f1, %r4; shl.b32 %r5, %r1, 2; add.u32 %r5, %r2, %r5; st.shared.f32 [%r5], %f1;";
const std::string kStoreBf16 =
    "cvt.rn.f32.u32 %f1, %r4; cvt.rn.bf16.f32 %h1, %f1; shl.b32 %r5, %r1, 1; add.u32 %r5, %r2, %r5; "
    "st.shared.b16 [%r5], %h1;";

template <class T>
LaunchReport reduce(const std::string& text, MapElement element, std::vector<T>* after) {
  const Module module = parse_valid(text);
  Memory memory;
  const std::uint64_t out = memory.add_zeroed("out", 32 * sizeof(T));
  TensorMap map;
  map.address = out;
  map.rank = 1;
  map.element_bytes = sizeof(T);
  map.element = element;
  map.dims = {32};
  map.strides = {sizeof(T)};
  map.box = {32};
  std::vector<std::byte> parameters(136);
  std::memcpy(parameters.data(), encode(map).data(), 128);
  std::memcpy(parameters.data() + 128, &out, 8);
  const LaunchReport report = launch(module, memory, {"kernel", {2, 1, 1}, {32, 1, 1}, 0, parameters}, {});
  if (after != nullptr) *after = read_all<T>(memory, out, 32);
  return report;
}

TEST(BulkReduction, ElementsAreCombined) {
  const std::string words = "cp.reduce.async.bulk.global.shared::cta.bulk_group";
  const struct {
    std::string op;
    std::function<std::uint32_t(std::uint32_t, std::uint32_t)> combine;
  } cases[] = {{".add.u32", [](std::uint32_t a, std::uint32_t b) { return a + b; }},
               {".max.u32", [](std::uint32_t, std::uint32_t b) { return b; }},
               {".min.s32", [](std::uint32_t, std::uint32_t) { return 0u; }},
               {".or.b32", [](std::uint32_t a, std::uint32_t b) { return a | b; }},
               {".xor.b32", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }}};
  for (const auto& c : cases) {
    std::vector<std::uint32_t> got;
    expect_clean(reduce<std::uint32_t>(reduce_text(words + c.op + " [%rd1], [%r2], 128;", kStoreWords),
                                       MapElement::kBits, &got));
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], c.combine(i + 1, 101 + i)) << c.op << i;
  }
  std::vector<float> floats;
  for (const char* form :
       {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r2], 128;",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd2, {0}], [%r2];"}) {
    expect_clean(reduce<float>(reduce_text(form, kStoreFloats), MapElement::kF32, &floats));
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(floats[i], static_cast<float>(102 + 2 * i)) << form;
  }
  std::vector<std::uint16_t> halves;
  for (const char* form :
       {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%rd1], [%r2], 64;",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd2, {0}], [%r2];"}) {
    expect_clean(reduce<std::uint16_t>(reduce_text(form, kStoreBf16), MapElement::kBF16, &halves));
    EXPECT_EQ(halves[0], 0x42cc);   // 1 + 101
    EXPECT_EQ(halves[31], 0x4324);  // 32 + 132
  }
}

TEST(BulkReduction, Faults) {
  const std::string tensor =
      "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd2, {0}], [%r2];";
  const std::string good = reduce_text(tensor, kStoreFloats);
  EXPECT_TRUE(
      has(reduce<float>(good, MapElement::kBits, nullptr), Check::kInvalidOperand, "does not say a type"));
  EXPECT_TRUE(has(reduce<float>(replaced(good, "fence.proxy.async.shared::cta;  // PROXY", ""),
                                MapElement::kF32, nullptr),
                  Check::kProxyFence));
  EXPECT_TRUE(has(
      reduce<float>(replaced(good, "cp.async.bulk.wait_group 0;  // WAIT", ""), MapElement::kF32, nullptr),
      Check::kAsyncPending));
  // Two blocks that store where they should add.
  const std::string store =
      replaced(good, tensor, "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {0}], [%r2];");
  EXPECT_TRUE(has(reduce<float>(store, MapElement::kF32, nullptr), Check::kGlobalRace));
}

}  // namespace
}  // namespace moe4::ptx::test
