// cp.async.bulk.tensor: boxes, swizzles, what lies outside; stores and the fences and waits that they need.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "gpu/ptx/tensor_map.h"
#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

TensorMap map_of(std::vector<std::uint64_t> dims, std::vector<std::uint32_t> box, Swizzle swizzle,
                 std::uint32_t element_bytes = 2) {
  TensorMap map;
  map.element_bytes = element_bytes;
  map.rank = static_cast<std::uint32_t>(dims.size());
  map.swizzle = swizzle;
  std::uint64_t stride = element_bytes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    map.dims[d] = dims[d];
    map.box[d] = box[d];
    map.strides[d] = stride;
    stride = (stride * dims[d] + 15) / 16 * 16 + (d == 0 ? 32 : 0);  // rows are padded
  }
  return map;
}

std::uint64_t bytes_of(const TensorMap& map) {
  std::uint64_t bytes = map.element_bytes * map.dims[0];
  for (unsigned d = 1; d < map.rank; ++d) bytes += (map.dims[d] - 1) * map.strides[d];
  return bytes;
}

std::uint32_t box_bytes(const TensorMap& map) {
  std::uint32_t bytes = map.element_bytes;
  for (unsigned d = 0; d < map.rank; ++d) bytes *= map.box[d];
  return bytes;
}

std::string coordinates(unsigned rank) {
  std::string text = "{%r10";
  for (unsigned d = 1; d < rank; ++d) text += ", %r" + std::to_string(10 + d);
  return text + "}";
}

const std::string kParameters =
    ".param .align 64 .b8 map[128], .param .u64 out, .param .u32 c0, .param .u32 c1, .param .u32 c2, .param "
    ".u32 bytes";
const std::string kSetup = R"(
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
ld.param.u64 %rd2, [out]; ld.param.u32 %r10, [c0]; ld.param.u32 %r11, [c1]; ld.param.u32 %r12, [c2];
ld.param.u32 %r4, [bytes]; setp.ne.u32 %p1, %r1, 0;
)";

std::string tile_kernel(const std::string& body) {
  return module_header() + ".extern .shared .align 1024 .b8 tile[];\n" + entry("kernel", kParameters, body);
}

// One box to shared memory, and from there by ordinary accesses to out, byte for byte.
std::string load_text(unsigned rank) {
  return tile_kernel(kSetup + R"(
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r3], 1;
fence.mbarrier_init.release.cluster;
prefetch.tensormap [%rd1];
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r4;
cp.async.bulk.tensor.)" +
                     std::to_string(rank) +
                     "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, " +
                     coordinates(rank) + R"(], [%r3];  // LOAD
READY:
bar.sync 0;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
@!%p2 bra WAIT;  // AGAIN
mul.lo.u32 %r5, %r1, 4;
COPY:
add.u32 %r6, %r2, %r5; ld.shared.u32 %r7, [%r6];  // READ
cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r7;
add.u32 %r5, %r5, 256; setp.lt.u32 %p3, %r5, %r4;
@%p3 bra COPY;
ret;)");
}

// What lies in shared memory after a load, said the other way round: for each byte of the tile, its element.
std::vector<std::uint8_t> expected_tile(const TensorMap& map, const std::vector<std::uint8_t>& tensor,
                                        std::vector<std::int64_t> at) {
  std::vector<std::uint8_t> tile(box_bytes(map));
  for (std::uint32_t position = 0; position < tile.size(); ++position) {
    // The address of the byte in the unswizzled box: 16-byte chunks of a line change places within it.
    std::uint32_t plain = position;
    const std::uint32_t line = map.swizzle == Swizzle::k128B  ? 8
                               : map.swizzle == Swizzle::k64B ? 4
                               : map.swizzle == Swizzle::k32B ? 2
                                                              : 1;
    const std::uint32_t chunk = position / 16 % line, row = position / 128 % line;
    plain = position - chunk * 16 + (chunk ^ row) * 16;
    std::uint32_t rest = plain / map.element_bytes;
    std::uint64_t offset = plain % map.element_bytes;
    bool inside = true;
    for (unsigned d = 0; d < map.rank; ++d) {
      const std::int64_t i = at[d] + static_cast<std::int64_t>(rest % map.box[d]);
      rest /= map.box[d];
      inside = inside && i >= 0 && i < static_cast<std::int64_t>(map.dims[d]);
      offset += static_cast<std::uint64_t>(i) * map.strides[d];
    }
    tile[position] = inside ? tensor[offset] : 0;
  }
  return tile;
}

Arguments arguments_of(const TensorMap& map, std::uint64_t out, const std::vector<std::int64_t>& at,
                       std::uint32_t bytes) {
  Arguments arguments;
  const TensorMapBytes encoded = encode(map);
  for (std::size_t i = 0; i < encoded.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, encoded.data() + i, 8);
    arguments.u64(word);
  }
  arguments.u64(out);
  for (std::size_t d = 0; d < 3; ++d) arguments.u32(d < at.size() ? static_cast<std::uint32_t>(at[d]) : 0);
  return arguments.u32(bytes);
}

void expect_load(TensorMap map, const std::vector<std::int64_t>& at) {
  Lcg random(7);
  std::vector<std::uint8_t> tensor(bytes_of(map));
  for (auto& byte : tensor) byte = static_cast<std::uint8_t>(1 + random.below(255));
  Memory memory;
  map.address = memory.add_input("tensor", std::as_bytes(std::span(tensor)));
  ASSERT_EQ(problem_of(map), "");
  const std::uint32_t bytes = box_bytes(map);
  const std::uint64_t out = memory.add_output("out", bytes);
  expect_clean(run(parse_valid(load_text(map.rank)), memory, {1, 1, 1}, {64, 1, 1},
                   arguments_of(map, out, at, bytes), {}, bytes));
  EXPECT_EQ(read_all<std::uint8_t>(memory, out, bytes), expected_tile(map, tensor, at));
}

TEST(TensorCopy, BoxesOfOneToThreeDimensions) {
  expect_load(map_of({300}, {128}, Swizzle::kNone), {100});
  expect_load(map_of({100, 40}, {64, 16}, Swizzle::kNone), {16, 8});
  expect_load(map_of({40, 20, 6}, {32, 4, 3}, Swizzle::kNone), {8, 4, 2});
  expect_load(map_of({64, 64}, {16, 32}, Swizzle::kNone, 1), {32, 8});
  expect_load(map_of({64, 64}, {8, 32}, Swizzle::kNone, 4), {3, 8});
}

TEST(TensorCopy, Swizzles) {
  expect_load(map_of({128, 40}, {64, 32}, Swizzle::k128B), {64, 8});
  expect_load(map_of({128, 40}, {32, 32}, Swizzle::k64B), {40, 1});
  expect_load(map_of({128, 40}, {16, 32}, Swizzle::k32B), {1, 3});
  expect_load(map_of({128, 40}, {32, 32}, Swizzle::k128B), {1, 3});  // rows of half a line
  expect_load(map_of({64, 20, 3}, {64, 16, 2}, Swizzle::k128B), {0, 4, 1});
}

TEST(TensorCopy, OutsideTheTensorIsZeroAndCounts) {
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k128B}) {
    expect_load(map_of({100, 40}, {64, 16}, swizzle), {80, 30});
    expect_load(map_of({100, 40}, {64, 16}, swizzle), {-7, -3});
    expect_load(map_of({100, 40}, {64, 16}, swizzle), {0, 40});
    expect_load(map_of({100, 40}, {64, 16}, swizzle), {-2147483647, 0});
    expect_load(map_of({40, 20, 6}, {32, 4, 3}, swizzle), {30, -1, 5});
  }
}

LaunchReport load_report(const std::string& text, const TensorMap& described, std::uint64_t tensor_bytes,
                         std::uint32_t shared) {
  TensorMap map = described;
  std::vector<std::uint8_t> tensor(tensor_bytes, 1);
  Memory memory;
  map.address = memory.add_input("tensor", std::as_bytes(std::span(tensor)));
  const std::uint64_t out = memory.add_output("out", 4096);
  return run(parse_valid(text), memory, {1, 1, 1}, {64, 1, 1}, arguments_of(map, out, {0, 0}, box_bytes(map)),
             {}, shared);
}

TEST(TensorCopy, MapsAndTilesThatDoNotFit) {
  const TensorMap map = map_of({64, 16}, {64, 16}, Swizzle::k128B);
  const std::string text = load_text(2);
  const auto expect = [&](const LaunchReport& report, Check check, const char* says) {
    ASSERT_EQ(report.findings.size(), 1u) << describe(report);
    EXPECT_EQ(report.findings[0].check, check) << describe(report);
    EXPECT_EQ(report.findings[0].place.ptx_line, line_of(text, "// LOAD"));
    EXPECT_NE(report.findings[0].message.find(says), std::string::npos) << describe(report);
  };
  expect_clean(load_report(text, map, bytes_of(map), 2048));
  expect(load_report(text, map, bytes_of(map) - 1, 2048), Check::kOutOfBounds, "'tensor'");
  expect(load_report(text, map, bytes_of(map), 2047), Check::kOutOfBounds, "shared memory");
  TensorMap three = map_of({64, 16, 1}, {64, 16, 1}, Swizzle::k128B);
  expect(load_report(text, three, bytes_of(three), 2048), Check::kInvalidOperand, "rank 2, but one of 3");
}

TEST(TensorMaps, DescriptionsAreChecked) {
  TensorMap good = map_of({100, 40}, {64, 16}, Swizzle::k128B);
  good.address = 4096;
  EXPECT_EQ(problem_of(good), "");
  EXPECT_EQ(decode_tensor_map(encode(good)), good);
  const std::map<std::string, std::function<void(TensorMap&)>> faults = {
      {"rank", [](TensorMap& m) { m.rank = 6; }},
      {"elements", [](TensorMap& m) { m.element_bytes = 3; }},
      {"address", [](TensorMap& m) { m.address = 8; }},
      {"box", [](TensorMap& m) { m.box[1] = 257; }},
      {"size", [](TensorMap& m) { m.dims[0] = 0; }},
      {"stride", [](TensorMap& m) { m.strides[1] = 200; }},
      {"swizzle", [](TensorMap& m) { m.swizzle = Swizzle::k64B; }},
      {"row", [](TensorMap& m) { m.box[0] = 60; }}};
  for (const auto& [word, spoil] : faults) {
    TensorMap bad = good;
    spoil(bad);
    EXPECT_NE(problem_of(bad).find(word), std::string::npos) << word << ": " << problem_of(bad);
    if (word != "size") {
      EXPECT_FALSE(decode_tensor_map(encode(bad)).has_value()) << word;
    }
  }
  EXPECT_FALSE(decode_tensor_map(TensorMapBytes{}).has_value());
}

// ---- stores

// Each of 64 threads fills a row of 16 elements; thread 0 stores the box, then all write the tile again.
std::string store_text() {
  return tile_kernel(kSetup + R"(
mad.lo.u32 %r5, %r1, 32, %r2; mul.lo.u32 %r6, %r1, 65537;
st.shared.v4.u32 [%r5], {%r6, %r6, %r6, %r6};  // FILL
st.shared.v4.u32 [%r5+16], {%r6, %r6, %r6, %r6};
fence.proxy.async.shared::cta;  // FENCE
bar.sync 0;  // BARRIER
@%p1 bra DONE;
cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r10, %r11}], [%r2];  // STORE
cp.async.bulk.commit_group;  // COMMIT
cp.async.bulk.wait_group.read 0;  // WAIT
DONE:
bar.sync 0;  // SECOND
st.shared.u32 [%r5], %r1;  // REUSE
ret;)");
}

struct StoreRun {
  LaunchReport report;
  std::vector<std::uint16_t> tensor;
};

StoreRun store(const std::string& text, std::vector<std::int64_t> at, std::uint64_t seed = 0) {
  TensorMap map = map_of({40, 80}, {16, 64}, Swizzle::kNone);
  Memory memory;
  const std::uint64_t tensor = memory.add_zeroed("tensor", (bytes_of(map) + 1) / 2 * 2);
  map.address = tensor;
  Options options;
  if (seed != 0) options.schedule = seed;
  StoreRun result;
  result.report = run(parse_valid(text), memory, {1, 1, 1}, {64, 1, 1}, arguments_of(map, tensor, at, 2048),
                      options, 2048);
  result.tensor = read_all<std::uint16_t>(memory, tensor, bytes_of(map) / 2);
  return result;
}

std::string without(std::string text, std::string_view from, std::string_view to = "") {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TensorCopy, StoresWhatIsInside) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const StoreRun result = store(store_text(), {32, 20}, seed);
    expect_clean(result.report);
    const std::size_t stride = (40 * 2 + 32) / 2;
    for (std::size_t y = 0; y < 80; ++y) {
      for (std::size_t x = 0; x < 40; ++x) {
        const bool inside = x >= 32 && y >= 20;
        EXPECT_EQ(result.tensor[y * stride + x], inside ? y - 20 : 0) << x << "," << y;
      }
    }
  }
}

TEST(TensorCopy, StoresNeedFenceBarrierAndWait) {
  const std::string text = store_text();
  const struct {
    const char* drop;
    Check check;
    const char *here, *there;
  } cases[] = {{"fence.proxy.async.shared::cta;  // FENCE", Check::kProxyFence, "// STORE", "// FILL"},
               {"bar.sync 0;  // BARRIER", Check::kSharedRace, "// STORE", "// FILL"},
               {"cp.async.bulk.wait_group.read 0;  // WAIT", Check::kSharedRace, "// REUSE", "// STORE"},
               {"cp.async.bulk.commit_group;  // COMMIT", Check::kSharedRace, "// REUSE", "// STORE"},
               {"bar.sync 0;  // SECOND", Check::kSharedRace, "// REUSE", "// STORE"}};
  for (const auto& c : cases) {
    const std::string broken = without(text, c.drop);
    const LaunchReport report = store(broken, {0, 0}).report;
    bool found = false;
    for (const Finding& finding : report.findings) {
      if (finding.check != c.check || !finding.other) continue;
      const int here = finding.place.ptx_line, there = finding.other->ptx_line;
      const int a = line_of(broken, c.here), b = line_of(broken, c.there);
      found = found || (here == a && there == b) || (here == b && there == a);
      EXPECT_FALSE(finding.formal);
    }
    EXPECT_TRUE(found) << c.drop << "\n" << describe(report);
  }
  // The fence may also stand behind the barrier, in the thread that stores.
  const std::string behind = without(without(text, "fence.proxy.async.shared::cta;  // FENCE"),
                                     "cp.async.bulk.tensor", "fence.proxy.async;\ncp.async.bulk.tensor");
  expect_clean(store(behind, {0, 0}).report);
  // In front of it, one thread's fence makes only its own stores visible.
  const std::string own =
      without(text, "fence.proxy.async.shared::cta;  // FENCE", "@!%p1 fence.proxy.async;");
  const LaunchReport report = store(own, {0, 0}).report;
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kProxyFence);
}

TEST(TensorCopy, StorePendingAtTheEnd) {
  std::string text = without(without(store_text(), "cp.async.bulk.wait_group.read 0;  // WAIT"),
                             "st.shared.u32 [%r5], %r1;  // REUSE");
  const LaunchReport report = store(text, {0, 0}).report;
  ASSERT_EQ(report.findings.size(), 1u) << describe(report);
  EXPECT_EQ(report.findings[0].check, Check::kAsyncPending);
  EXPECT_FALSE(report.findings[0].formal);
}

// The last thread has gone: nobody waits, however long the load takes.
TEST(TensorCopy, LoadPendingAtTheEnd) {
  std::string text = load_text(2);
  const std::size_t begin = text.find("WAIT:");
  text.replace(begin, text.find("ret;") - begin, "");
  const TensorMap map = map_of({100, 40}, {64, 16}, Swizzle::kNone);
  const LaunchReport report = load_report(text, map, bytes_of(map), box_bytes(map));
  ASSERT_EQ(report.findings.size(), 1u) << describe(report);
  EXPECT_EQ(report.findings[0].check, Check::kAsyncPending);
  EXPECT_FALSE(report.findings[0].formal);
}

TEST(TensorCopy, OtherFormsAreRefusedByName) {
  for (const char* form :
       {"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, "
        "{%r2, %r3}], [%r4];",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [%r2], "
        "16, [%r3];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd1], [%r2], 16;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], "
        "[%r4];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];",
        "tensormap.replace.tile.colour.shared::cta.b1024.b32 [%r1], %r2;",
        "mbarrier.arrive_drop.shared.b32 %rd1, [%r1];"}) {
    const std::string text = kernel("", std::string(form) + "  // HERE\nret;");
    const auto unsupported = parse_valid(text).entries()[0].unsupported;
    ASSERT_EQ(unsupported.size(), 1u) << form;
    EXPECT_EQ(unsupported[0].line, line_of(text, "HERE"));
  }
}

}  // namespace
}  // namespace moe4::ptx::test
