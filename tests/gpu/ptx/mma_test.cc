// mma.sync, ldmatrix and stmatrix: the fragment layouts of the PTX ISA, element by element, and a matrix
// product through shared memory.
#include <gtest/gtest.h>

#include <bit>

#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/plain_tensor_core.h"

namespace moe4::ptx::test {
namespace {

Options with_tensor_core() {
  Options options;
  options.tensor_core = &plain_tensor_core();
  return options;
}

// One mma with every fragment register loaded from and stored to its own place in memory.
std::string mma_kernel(unsigned k, const char* type) {
  const auto vector = [](int first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", %r" : "%r") + std::to_string(first + static_cast<int>(i));
    return text + "}";
  };
  std::string body = "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd9, %r1, 4;\n";
  const auto load = [&](const char* name, int first, unsigned count) {
    body += "ld.param.u64 %rd1, [" + std::string(name) + "];\nadd.u64 %rd1, %rd1, %rd9;\n";
    for (unsigned i = 0; i < count; ++i) {
      body += "ld.global.b32 %r" + std::to_string(first + static_cast<int>(i)) + ", [%rd1+" +
              std::to_string(128 * i) + "];\n";
    }
  };
  load("a", 10, k / 4);
  load("b", 20, k / 8);
  load("c", 30, 4);
  body += "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col.f32." + type + "." + type + ".f32 " +
          vector(40, 4) + ", " + vector(10, k / 4) + ", " + vector(20, k / 8) + ", " + vector(30, 4) +
          ";  // MMA\nld.param.u64 %rd1, [d];\nadd.u64 %rd1, %rd1, %rd9;\n";
  for (int i = 0; i < 4; ++i) {
    body += "st.global.b32 [%rd1+" + std::to_string(128 * i) + "], %r" + std::to_string(40 + i) + ";\n";
  }
  return kernel(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d", body + "ret;");
}

void expect_product(unsigned k, TensorType type) {
  const std::vector<int> a = small_integers(1, 16 * k, 100), b = small_integers(2, 8 * k, 100),
                         c = small_integers(3, 16 * 8, 1000);
  // Fragments by the formulas of the ISA: [register][lane].
  std::vector<std::uint32_t> fa(32 * k / 4), fb(32 * k / 8), fc(32 * 4);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned group = lane >> 2, thread = lane % 4;
    for (unsigned i = 0; i < k / 2; ++i) {  // ai
      const bool upper = k == 16 ? (i >= 2 && i < 4) || i >= 6 : i >= 2;
      const unsigned row = upper ? group + 8 : group;
      const unsigned column = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      fa[i / 2 * 32 + lane] |= std::uint32_t{encode_small(type, a[row * k + column])} << (16 * (i & 1));
    }
    for (unsigned i = 0; i < k / 4; ++i) {  // bi: row of the k × 8 operand, column = group
      const unsigned row = thread * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      fb[i / 2 * 32 + lane] |= std::uint32_t{encode_small(type, b[group * k + row])} << (16 * (i & 1));
    }
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = i < 2 ? group : group + 8, column = thread * 2 + (i & 1);
      fc[i * 32 + lane] = std::bit_cast<std::uint32_t>(static_cast<float>(c[row * 8 + column]));
    }
  }
  const Module module = parse_valid(mma_kernel(k, type == TensorType::kBF16 ? "bf16" : "f16"));
  EXPECT_TRUE(module.entries()[0].needs_tensor_core);
  Memory memory;
  Arguments arguments;
  arguments.u64(memory.add_input("a", std::as_bytes(std::span(fa))));
  arguments.u64(memory.add_input("b", std::as_bytes(std::span(fb))));
  arguments.u64(memory.add_input("c", std::as_bytes(std::span(fc))));
  const std::uint64_t d = memory.add_output("d", 512);
  arguments.u64(d);
  const LaunchReport report = run(module, memory, {1, 1, 1}, {32, 1, 1}, arguments, with_tensor_core());
  expect_clean(report);
  EXPECT_EQ(report.counters.tensor_multiply_adds, 16u * 8 * k);
  const auto got = read_all<float>(memory, d, 128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      int want = c[row * 8 + column];
      for (unsigned n = 0; n < k; ++n) want += a[row * k + n] * b[column * k + n];
      EXPECT_EQ(got[i * 32 + lane], static_cast<float>(want)) << row << "," << column;
    }
  }
}

TEST(Mma, FragmentsOfM16N8K16) {
  expect_product(16, TensorType::kBF16);
  expect_product(16, TensorType::kF16);
}

TEST(Mma, FragmentsOfM16N8K8) {
  expect_product(8, TensorType::kBF16);
  expect_product(8, TensorType::kF16);
}

TEST(Mma, RefusedWithoutArithmetic) {
  const Module module = parse_valid(mma_kernel(16, "bf16"));
  Memory memory;
  const LaunchReport report =
      run(module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(0).u64(0).u64(0).u64(0));
  ASSERT_TRUE(report.error.has_value());
  EXPECT_NE(report.error->message.find("tensor"), std::string::npos) << report.error->message;
}

TEST(Mma, OtherShapesAndTypesAreRefusedByName) {
  for (const char* form :
       {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, "
        "{%f1, %f2, %f3, %f4};",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2, %r3, %r4}, {%r5, "
        "%r6}, {%r1, %r2};",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, "
        "%r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5, "
        "%r6}, {%f1, %f2, %f3, %f4};"}) {
    const std::string text = kernel("", std::string(form) + "  // HERE\nret;");
    const Module module = parse_valid(text);
    ASSERT_EQ(module.entries()[0].unsupported.size(), 1u) << form;
    EXPECT_EQ(module.entries()[0].unsupported[0].line, line_of(text, "HERE"));
  }
}

TEST(Mma, HalfAWarpIsAFault) {
  const auto make = [](const char* guard) {
    return Trial{kernel(".param .u64 out",
                        "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 16;\n" + std::string(guard) +
                            "mov.b32 %r2, 0; mov.b32 %f1, 0;\n"
                            "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
                            "{%r2, %r2}, {%r2}, {%f1, %f1, %f1, %f1};  // MMA\nret;"),
                 {output("out", 4)},
                 {1, 1, 1},
                 {32, 1, 1},
                 0,
                 with_tensor_core()};
  };
  const Trial wrong = make("@%p1 ret;\n");
  expect_finding(wrong, run(wrong), Check::kInvalidOperand, "// MMA");
  expect_clean(run(make("")));
}

// ---- ldmatrix, stmatrix

std::string matrix_kernel(int number, bool transposed, bool store,
                          const std::string& between = "bar.warp.sync -1;\n") {
  std::string registers = "{";
  for (int j = 0; j < number; ++j) registers += (j ? ", %r" : "%r") + std::to_string(10 + j);
  registers += "}";
  const std::string form = std::string(store ? "stmatrix" : "ldmatrix") + ".sync.aligned.m8n8.x" +
                           std::to_string(number) + (transposed ? ".trans" : "") + ".shared.b16 ";
  std::string body =
      ".shared .align 16 .b8 tile[1024];\nmov.u32 %r1, %tid.x; mov.u32 %r2, tile;\nld.param.u64 %rd1, [in]; "
      "ld.param.u64 %rd2, [out];\n";
  // Rows in reverse order, so that no row lies where it would by chance.
  const std::string own_row = "xor.b32 %r3, %r1, 31; mad.lo.u32 %r3, %r3, 16, %r2;\n";
  if (!store) {
    body +=
        "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3; ld.global.v4.b32 {%r20, %r21, %r22, %r23}, "
        "[%rd3];\n" +
        own_row + "st.shared.v4.b32 [%r3], {%r20, %r21, %r22, %r23};  // WRITE\n" + between + form +
        registers + ", [%r3];  // MATRIX\nmul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd2, %rd3;\n";
    for (int j = 0; j < number; ++j)
      body += "st.global.b32 [%rd3+" + std::to_string(128 * j) + "], %r" + std::to_string(10 + j) + ";\n";
  } else {
    body += "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3;\n";
    for (int j = 0; j < number; ++j)
      body += "ld.global.b32 %r" + std::to_string(10 + j) + ", [%rd3+" + std::to_string(128 * j) + "];\n";
    body += own_row + form + "[%r3], " + registers + ";  // MATRIX\n" + between + "setp.ge.u32 %p1, %r1, " +
            std::to_string(8 * number) +
            ";\n@%p1 ret;\nld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r3];  // READ\nmul.wide.u32 %rd3, "
            "%r1, 16; "
            "add.u64 %rd3, %rd2, %rd3; st.global.v4.b32 [%rd3], {%r20, %r21, %r22, %r23};\n";
  }
  return kernel(".param .u64 in, .param .u64 out", body + "ret;");
}

// Element at [row][column] of matrix j, and where a fragment has it.
std::uint16_t element(int j, int row, int column) {
  return static_cast<std::uint16_t>(1000 * j + 10 * row + column + 7);
}

TEST(Matrix, LoadAndStore) {
  for (const int number : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      std::vector<std::uint16_t> rows(32 * 8, 0xdead), fragments(4 * 32 * 2, 0xdead);
      for (int j = 0; j < number; ++j) {
        for (int row = 0; row < 8; ++row) {
          for (int column = 0; column < 8; ++column) {
            rows[static_cast<std::size_t>((8 * j + row) * 8 + column)] = element(j, row, column);
            const int lane = transposed ? column * 4 + row / 2 : row * 4 + column / 2;
            const int half = transposed ? row % 2 : column % 2;
            fragments[static_cast<std::size_t>((j * 32 + lane) * 2 + half)] = element(j, row, column);
          }
        }
      }
      for (const bool store : {false, true}) {
        const std::vector<std::uint16_t>&from = store ? fragments : rows, &want = store ? rows : fragments;
        Memory memory;
        const std::uint64_t in = memory.add_input("in", std::as_bytes(std::span(from))),
                            out = memory.add_output("out", 2048);
        expect_clean(run(parse_valid(matrix_kernel(number, transposed, store)), memory, {1, 1, 1}, {32, 1, 1},
                         Arguments().u64(in).u64(out)));
        const std::size_t count = static_cast<std::size_t>(64 * number);
        EXPECT_EQ(read_all<std::uint16_t>(memory, out, count),
                  std::vector<std::uint16_t>(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(count)))
            << number << transposed << store;
      }
    }
  }
}

TEST(Matrix, NeedsAWarpBarrierAroundIt) {
  for (const bool store : {false, true}) {
    const Trial wrong{matrix_kernel(4, false, store, ""), {input("in", 512), output("out", 512)}};
    expect_race(wrong, run(wrong), Check::kSharedRace, store ? "// READ" : "// WRITE", "// MATRIX");
    const Trial right{matrix_kernel(4, false, store), {input("in", 512), output("out", 512)}};
    expect_clean(run(right));
  }
}

TEST(Matrix, RowsOutsideSharedMemoryAndMisaligned) {
  const auto make = [](const std::string& address) {
    return Trial{
        kernel(".param .u64 out",
               ".shared .align 16 .b8 tile[128];\nmov.u32 %r1, %tid.x; and.b32 %r1, %r1, 7; mov.u32 "
               "%r2, tile; mad.lo.u32 %r2, %r1, 16, %r2;\nst.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};\n"
               "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [" +
                   address + "];  // MATRIX\nret;"),
        {output("out", 4)}};
  };
  const Trial outside = make("%r2+16"), misaligned = make("%r2+8");
  expect_finding(outside, run(outside), Check::kOutOfBounds, "// MATRIX");
  expect_finding(misaligned, run(misaligned), Check::kMisaligned, "// MATRIX");
  expect_clean(run(make("%r2")));
}

}  // namespace
}  // namespace moe4::ptx::test
