// wgmma.mma_async: every layout of its operands against a matrix product on the host.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/plain_tensor_core.h"

namespace moe4::ptx::test {
namespace {

// Where an operand lies in shared memory, by the canonical layouts of the PTX ISA.
struct Layout {
  std::uint32_t swizzle = 128;  // bytes; 0: none
  bool mn_major = false;
  std::uint32_t leading = 16, stride = 1024;

  std::uint32_t at(std::uint32_t row, std::uint32_t k) const {
    std::uint32_t offset = 0;
    if (swizzle == 0) {
      // 8 × 8 blocks of 128 contiguous bytes.
      const std::uint32_t inner = mn_major ? k % 8 * 16 + row % 8 * 2 : row % 8 * 16 + k % 8 * 2;
      return inner + (mn_major ? row / 8 * stride + k / 8 * leading : row / 8 * stride + k / 8 * leading);
    }
    const std::uint32_t line_elements = swizzle / 2;
    if (mn_major) {
      offset = row / line_elements * leading + row % line_elements * 2 + k / 8 * stride + k % 8 * swizzle;
    } else {
      offset = row / 8 * stride + row % 8 * swizzle + k * 2;
    }
    // Within a pattern of eight lines, 16-byte chunks are exchanged.
    const std::uint32_t line = offset / 128 % (swizzle / 16);
    return offset ^ (line * 16);
  }
  std::uint64_t descriptor() const {
    const std::uint64_t mode = swizzle == 0 ? 0 : swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    return (std::uint64_t{leading / 16} << 16) | (std::uint64_t{stride / 16} << 32) | (mode << 62);
  }
};

Layout layout_of(std::uint32_t swizzle, bool mn_major) {
  if (swizzle == 0) return {0, mn_major, 128, 256};
  if (mn_major) return {swizzle, true, 16 * swizzle, 8 * swizzle};
  return {swizzle, false, 16, 16 * swizzle};  // a pattern left free between two groups of rows
}

struct Product {
  std::uint32_t n = 64;
  TensorType type = TensorType::kBF16;
  Layout a, b;
  bool a_registers = false;
  int scale_a = 1, scale_b = 1;
  std::string scale_d = "1";
};

std::string list(const char* prefix, std::uint32_t count) {
  std::string text = "{";
  for (std::uint32_t i = 0; i < count; ++i) text += (i ? ", " : "") + std::string(prefix) + std::to_string(i);
  return text + "}";
}

constexpr std::uint32_t kBBegin = 32768, kImage = 65536;  // bytes; A begins at 0

// The image of both operands to shared memory, one wgmma on accumulators that hold column + 1, and out.
std::string product_text(const Product& p) {
  std::string body = R"(
.reg .f32 acc<128>; .reg .b32 fa<4>; .reg .pred scale;
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [out];
mul.lo.u32 %r3, %r1, 16; setp.ne.u32 scale, %r1, 1000;
FILL:
cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd1, %rd3; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd3];
add.u32 %r8, %r2, %r3; st.shared.v4.u32 [%r8], {%r4, %r5, %r6, %r7};
add.u32 %r3, %r3, 2048; setp.lt.u32 %p1, %r3, )" +
                     std::to_string(kImage) + R"(;
@%p1 bra FILL;
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %r9, %r2, 4; cvt.u64.u32 %rd4, %r9; ld.param.u64 %rd5, [a]; or.b64 %rd5, %rd5, %rd4;
ld.param.u64 %rd6, [b]; add.u64 %rd4, %rd4, )" +
                     std::to_string(kBBegin / 16) + R"(; or.b64 %rd6, %rd6, %rd4;
ld.param.u64 %rd7, [fragments]; mul.wide.u32 %rd8, %r1, 16; add.u64 %rd7, %rd7, %rd8;
ld.global.v4.b32 {fa0, fa1, fa2, fa3}, [%rd7];
)";
  for (std::uint32_t i = 0; i < p.n / 2; ++i) {
    // Column of value i: 8 (i / 4) + 2 (lane mod 4) + i mod 2.
    body += "and.b32 %r10, %r1, 3; mad.lo.u32 %r10, %r10, 2, " + std::to_string(i / 4 * 8 + i % 2 + 1) +
            "; cvt.rn.f32.u32 acc" + std::to_string(i) + ", %r10;\n";
  }
  body += "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(p.n) + "k16.f32." +
          (p.type == TensorType::kBF16 ? "bf16.bf16 " : "f16.f16 ") + list("acc", p.n / 2) + ", " +
          (p.a_registers ? list("fa", 4) : "%rd5") + ", %rd6, " + p.scale_d + ", " +
          std::to_string(p.scale_a) + ", " + std::to_string(p.scale_b) +
          (p.a_registers  ? ""
           : p.a.mn_major ? ", 1"
                          : ", 0") +
          (p.b.mn_major ? ", 1" : ", 0") +
          ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmul.wide.u32 %rd8, %r1, "
          "4;\nadd.u64 "
          "%rd9, %rd2, %rd8;\n";
  for (std::uint32_t i = 0; i < p.n / 2; ++i) {
    body += "st.global.f32 [%rd9+" + std::to_string(512 * i) + "], acc" + std::to_string(i) + ";\n";
  }
  return module_header() + ".extern .shared .align 1024 .b8 tile[];\n" +
         entry("kernel",
               ".param .u64 image, .param .u64 a, .param .u64 b, .param .u64 fragments, .param .u64 out",
               body + "ret;");
}

void expect_product(const Product& p) {
  const std::vector<int> a = small_integers(p.n, 64 * 16, 50), b = small_integers(p.n + 1, p.n * 16, 50);
  std::vector<std::uint8_t> image(kImage, 0xff);
  const auto put = [&](std::uint32_t at, int value) {
    const std::uint16_t bits = encode_small(p.type, value);
    std::memcpy(image.data() + at, &bits, 2);
  };
  for (std::uint32_t k = 0; k < 16; ++k) {
    for (std::uint32_t r = 0; r < 64; ++r) put(p.a.at(r, k), a[r * 16 + k]);
    for (std::uint32_t r = 0; r < p.n; ++r) put(kBBegin + p.b.at(r, k), b[r * 16 + k]);
  }
  std::vector<std::uint16_t> fragments(128 * 8);
  for (std::uint32_t t = 0; t < 128; ++t) {
    const std::uint32_t group = t % 32 / 4, thread = t % 4;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t row = t / 32 * 16 + group + (i / 2 % 2 ? 8 : 0),
                          k = thread * 2 + i % 2 + (i >= 4 ? 8 : 0);
      fragments[t * 8 + i] = encode_small(p.type, a[row * 16 + k]);
    }
  }
  Memory memory;
  Arguments arguments;
  arguments.u64(memory.add_input("image", std::as_bytes(std::span(image))))
      .u64(p.a.descriptor())
      .u64(p.b.descriptor());
  arguments.u64(memory.add_input("fragments", std::as_bytes(std::span(fragments))));
  const std::uint64_t out = memory.add_output("out", 256 * p.n);
  Options options;
  options.tensor_core = &plain_tensor_core();
  const LaunchReport report =
      run(parse_valid(product_text(p)), memory, {1, 1, 1}, {128, 1, 1}, arguments.u64(out), options, kImage);
  expect_clean(report);
  EXPECT_EQ(report.counters.tensor_multiply_adds, 64u * p.n * 16);
  const auto got = read_all<float>(memory, out, 64 * p.n);
  int wrong = 0;
  for (std::uint32_t t = 0; t < 128; ++t) {
    for (std::uint32_t i = 0; i < p.n / 2; ++i) {
      const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + (i & 2 ? 8 : 0),
                          column = i / 4 * 8 + t % 4 * 2 + (i & 1);
      int want = p.scale_d == "0" || p.scale_d == "!scale" ? 0 : static_cast<int>(column) + 1;
      for (std::uint32_t k = 0; k < 16; ++k)
        want += p.scale_a * p.scale_b * a[row * 16 + k] * b[column * 16 + k];
      wrong += got[i * 128 + t] != static_cast<float>(want);
    }
  }
  EXPECT_EQ(wrong, 0) << "N " << p.n << " A " << p.a.swizzle << p.a.mn_major << " B " << p.b.swizzle
                      << p.b.mn_major;
}

TEST(Wgmma, EveryLayoutOfBothOperands) {
  for (const std::uint32_t a : {0u, 32u, 64u, 128u}) {
    for (const std::uint32_t b : {0u, 32u, 64u, 128u}) {
      for (const bool a_mn : {false, true}) {
        for (const bool b_mn : {false, true}) {
          Product p;
          p.a = layout_of(a, a_mn);
          p.b = layout_of(b, b_mn);
          expect_product(p);
        }
      }
    }
  }
}

TEST(Wgmma, EveryNumberOfColumns) {
  for (std::uint32_t n = 8; n <= 256; n += 8) {
    Product p;
    p.n = n;
    p.type = n % 16 ? TensorType::kF16 : TensorType::kBF16;
    p.a = layout_of(128, false);
    p.b = layout_of(128, false);
    p.b.stride = 1024;
    expect_product(p);
  }
}

TEST(Wgmma, AFromRegisters) {
  for (const TensorType type : {TensorType::kF16, TensorType::kBF16}) {
    Product p;
    p.type = type;
    p.a_registers = true;
    p.a = layout_of(0, false);
    p.b = layout_of(64, true);
    p.scale_a = -1;
    expect_product(p);
  }
}

// The second product of a turn ends in the next turn: what is computed at the head of the loop, before any
// product in the text, may not take the place of its fragments.
TEST(Wgmma, FragmentsLastIntoTheNextTurnOfALoop) {
  const std::string product =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {X0, X1, X2, X3}, %rd2, 1, 1, "
      "1, 0;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;\n";
  const auto with = [&](const char* name) {
    std::string text = product;
    for (std::size_t at = 0; (at = text.find('X', at)) != std::string::npos;) text.replace(at, 1, name);
    return text;
  };
  const auto set = [](const std::string& name) {
    std::string text;
    for (int n = 0; n < 4; ++n) text += "add.u32 " + name + std::to_string(n) + ", %r8, 0x3f803f80;\n";
    return text;
  };
  const std::string text = kernel(".param .u64 out", R"(
.shared .align 1024 .b8 tile[1024];
.reg .f32 d<4>; .reg .b32 first<4>; .reg .b32 second<4>; .reg .b32 t<10>;
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; ld.param.u64 %rd1, [out]; mov.u32 %r8, 0;
mad.lo.u32 %r3, %r1, 8, %r2; mov.u32 %r5, 0x3f803f80; st.shared.v2.u32 [%r3], {%r5, %r5};
fence.proxy.async.shared::cta; bar.sync 0;
mov.f32 d0, 0f00000000; mov.f32 d1, d0; mov.f32 d2, d0; mov.f32 d3, d0;
shr.u32 %r4, %r2, 4; cvt.u64.u32 %rd2, %r4; or.b64 %rd2, %rd2, 0x4000004000010000;
mov.u32 %r6, 0;
TURN:
add.u32 t0, %r1, %r6; add.u32 t1, %r1, t0; add.u32 t2, %r1, t1; add.u32 t3, %r1, t2; add.u32 t4, %r1, t3;
add.u32 t5, %r1, t4; add.u32 t6, %r1, t5; add.u32 t7, %r1, t6; add.u32 t8, %r1, t7; add.u32 t9, %r1, t8;
add.u32 t0, t0, t1; add.u32 t0, t0, t2; add.u32 t0, t0, t3; add.u32 t0, t0, t4; add.u32 t0, t0, t5;
add.u32 t0, t0, t6; add.u32 t0, t0, t7; add.u32 t0, t0, t8; add.u32 t0, t0, t9; mul.lo.u32 %r8, t0, 0;
)" + set("first") + "wgmma.fence.sync.aligned;\n" + with("first") +
                                                         set("second") + "wgmma.fence.sync.aligned;\n" +
                                                         with("second") + R"(
add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3; @%p1 bra TURN;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3;
st.global.v4.f32 [%rd4], {d0, d1, d2, d3};
ret;)");
  Memory memory;
  Arguments arguments;
  const std::uint64_t out = memory.add_output("out", 128 * 16);
  Options options;
  options.tensor_core = &plain_tensor_core();
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {128, 1, 1}, arguments.u64(out), options));
  for (const float sum : read_all<float>(memory, out, 512)) ASSERT_EQ(sum, 3 * 2 * 16.0f);
}

TEST(Wgmma, ScalesAndNegation) {
  for (const char* scale_d : {"0", "1", "scale", "!scale"}) {
    for (const int scale_a : {1, -1}) {
      for (const int scale_b : {1, -1}) {
        Product p;
        p.a = layout_of(128, false);
        p.b = layout_of(128, true);
        p.scale_a = scale_a;
        p.scale_b = scale_b;
        p.scale_d = scale_d;
        expect_product(p);
      }
    }
  }
}

TEST(Wgmma, OtherFormsAreRefusedByName) {
  for (const char* form :
       {"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1;",
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r0, %r1}, %rd1, %rd2, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, "
        "0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2}, %rd1, %rd2, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 2, 1, 0, "
        "0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
        "wgmma.wait_group.sync.aligned 9;", "setmaxnreg.inc.sync.aligned.u32 20;"}) {
    const std::string text = kernel("", std::string(form) + "  // HERE\nret;");
    const auto unsupported = parse_valid(text).entries()[0].unsupported;
    ASSERT_EQ(unsupported.size(), 1u) << form;
    EXPECT_EQ(unsupported[0].line, line_of(text, "HERE"));
  }
}

}  // namespace
}  // namespace moe4::ptx::test
