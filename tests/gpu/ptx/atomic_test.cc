// Atomics: the value left behind and the value returned, on global, shared and generic addresses.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

struct Step {
  Bits old, operand, compare;
};

// Each row: a cell of its own holding `old`; returns what atom gave back and what is left.
void expect_atomic(const std::string& operation, const std::string& type, const std::vector<Step>& steps,
                   const std::function<Want(const Step&)>& model) {
  const int width = width_of(type);
  const std::string w = std::to_string(width), bytes = std::to_string(width / 8);
  const std::string reg = width == 16 ? "%h" : width == 32 ? "%r" : "%rd";
  const bool cas = operation.find("cas") != std::string::npos;
  for (const std::string space : {".global", ".shared", ""})
    for (const bool returns : {true, false}) {
      if (!returns && (cas || operation.find("exch") != std::string::npos)) continue;
      std::string body = "mov.u32 %r20, %ctaid.x; mul.wide.u32 %rd20, %r20, " + bytes + ";\n";
      for (const auto& [name, number] :
           {std::pair{"old", 21}, {"operand", 22}, {"compare", 23}, {"returned", 24}, {"left", 25}})
        body += "ld.param.u64 %rd" + std::to_string(number) + ", [" + name + "]; add.u64 %rd" +
                std::to_string(number) + ", %rd" + std::to_string(number) + ", %rd20;\n";
      body += "ld.global.b" + w + " " + reg + "1, [%rd21]; ld.global.b" + w + " " + reg +
              "2, [%rd22]; ld.global.b" + w + " " + reg + "3, [%rd23];\n";
      body += ".shared .align 16 .b8 cell[16];\n";
      if (space == ".shared")
        body += "st.shared.b" + w + " [cell], " + reg + "1;\nmov.u64 %rd30, cell;\n";
      else
        body += "st.global.b" + w + " [%rd25], " + reg + "1;\nmov.u64 %rd30, %rd25;\n";
      body += std::string(returns ? "atom" : "red") + space + "." + operation + "." + type + " " +
              (returns ? reg + "4, " : "") + "[%rd30], " + (cas ? reg + "3, " : "") + reg + "2;\n";
      if (space == ".shared")
        body += "ld.shared.b" + w + " " + reg + "5, [cell]; st.global.b" + w + " [%rd25], " + reg + "5;\n";
      if (returns) body += "st.global.b" + w + " [%rd24], " + reg + "4;\n";
      const std::string text = kernel(
          ".param .u64 old, .param .u64 operand, .param .u64 compare, .param .u64 returned, .param .u64 left",
          body + "ret;");
      std::vector<std::uint8_t> columns[3];
      for (const Step& s : steps)
        for (int k = 0; k < width / 8; ++k) {
          columns[0].push_back(static_cast<std::uint8_t>(s.old >> (8 * k)));
          columns[1].push_back(static_cast<std::uint8_t>(s.operand >> (8 * k)));
          columns[2].push_back(static_cast<std::uint8_t>(s.compare >> (8 * k)));
        }
      Memory memory;
      Arguments arguments;
      for (const auto& column : columns)
        arguments.u64(memory.add_input("in", std::as_bytes(std::span(column))));
      const std::uint64_t returned = memory.add_zeroed("returned", columns[0].size()),
                          left = memory.add_output("left", columns[0].size());
      arguments.u64(returned).u64(left);
      const LaunchReport report = run(parse_valid(text), memory,
                                      {static_cast<std::uint32_t>(steps.size()), 1, 1}, {1, 1, 1}, arguments);
      ASSERT_FALSE(report.error || !report.findings.empty()) << operation << "." << type << space << "\n"
                                                             << describe(report);
      const auto read = [&](std::uint64_t address, std::size_t n) {
        std::vector<std::uint8_t> raw(static_cast<std::size_t>(width / 8));
        memory.read(address + n * raw.size(), std::as_writable_bytes(std::span(raw)));
        Bits value = 0;
        for (std::size_t k = 0; k < raw.size(); ++k) value |= Bits{raw[k]} << (8 * k);
        return value;
      };
      for (std::size_t n = 0; n < steps.size(); ++n) {
        const Want want = model(steps[n]);
        const Bits got = read(left, n);
        const bool good = want.kind == Want::Kind::kNan
                              ? is_nan(type, got)
                              : got == want.bits || (want.kind == Want::Kind::kEither && got == want.other);
        EXPECT_TRUE(good) << (returns ? "atom" : "red") << space << "." << operation << "." << type
                          << std::hex << " old " << steps[n].old << " operand " << steps[n].operand
                          << " want " << want.bits << " got " << got;
        if (returns) {
          EXPECT_EQ(read(returned, n), steps[n].old) << operation << space;
        }
      }
    }
}

std::vector<Step> steps(int width) {
  std::vector<Step> all;
  const std::vector<Bits> few = {
      0, 1, 5, low_bits(~Bits{0}, width), Bits{1} << (width - 1), (Bits{1} << (width - 1)) - 1};
  for (const Bits a : few)
    for (const Bits b : few) all.push_back({a, b, 5});
  return all;
}

TEST(Atomic, IntegerAddExchangeCompare) {
  for (const std::string type : {"u32", "s32", "u64"}) {
    const int width = width_of(type);
    expect_atomic("add", type, steps(width),
                  [=](const Step& s) -> Want { return low_bits(s.old + s.operand, width); });
  }
  for (const std::string type : {"b32", "b64"}) {
    expect_atomic("exch", type, steps(width_of(type)), [](const Step& s) -> Want { return s.operand; });
    expect_atomic("cas", type, steps(width_of(type)),
                  [](const Step& s) -> Want { return s.old == s.compare ? s.operand : s.old; });
  }
  expect_atomic("cas", "b16", steps(16),
                [](const Step& s) -> Want { return s.old == s.compare ? s.operand : s.old; });
}

TEST(Atomic, IntegerMinMaxLogic) {
  for (const std::string type : {"u32", "s32", "u64", "s64"}) {
    const int width = width_of(type);
    const auto key = [=](Bits v) { return type[0] == 's' ? v ^ Bits { 1 } << (width - 1) : v; };
    expect_atomic("min", type, steps(width),
                  [&](const Step& s) -> Want { return key(s.old) < key(s.operand) ? s.old : s.operand; });
    expect_atomic("max", type, steps(width),
                  [&](const Step& s) -> Want { return key(s.old) > key(s.operand) ? s.old : s.operand; });
  }
  for (const std::string type : {"b32", "b64"}) {
    expect_atomic("and", type, steps(width_of(type)),
                  [](const Step& s) -> Want { return s.old & s.operand; });
    expect_atomic("or", type, steps(width_of(type)), [](const Step& s) -> Want { return s.old | s.operand; });
    expect_atomic("xor", type, steps(width_of(type)),
                  [](const Step& s) -> Want { return s.old ^ s.operand; });
  }
}

TEST(Atomic, IncrementAndDecrementWrapAtTheOperand) {
  expect_atomic("inc", "u32", steps(32),
                [](const Step& s) -> Want { return s.old >= s.operand ? 0 : s.old + 1; });
  expect_atomic("dec", "u32", steps(32), [](const Step& s) -> Want {
    return s.old == 0 || s.old > s.operand ? s.operand : s.old - 1;
  });
}

TEST(Atomic, FloatAddRoundsToNearest) {
  for (const auto& [type, format] : {std::pair{"f32", kF32}, std::pair{"f64", kF64}}) {
    const Format f = format;
    std::vector<Step> cases;
    const Bits one = Bits(f.max_exponent) << (f.precision - 1);
    for (const Row& r : random_floats(51, 200, 2, f))
      if (!is_subnormal(f, r[0]) && !is_subnormal(f, r[1])) cases.push_back({r[0], r[1], 0});
    for (const Bits b : {Bits{0}, one, one + 1, one | Bits{1} << (f.bits - 1)}) cases.push_back({one, b, 0});
    expect_atomic("add", type, cases, [&](const Step& s) -> Want {
      const Bits sum = float_add(f, s.old, s.operand, Round::kNearestEven);
      if (is_nan(f, sum)) return Want::nan();
      return is_subnormal(f, sum) ? Want::either(sum, flush(f, sum)) : Want(sum);
    });
  }
}

// f32 on global memory flushes subnormals (operands and result), on shared memory it does not (ISA, atom).
TEST(Atomic, F32AddFlushesOnGlobalOnly) {
  for (const bool shared : {false, true}) {
    const std::string text = kernel(
        ".param .u64 out",
        std::string(".shared .align 4 .u32 cell;\nld.param.u64 %rd1, [out];\n") +
            (shared ? "st.shared.u32 [cell], 0x00000005;\natom.shared.add.f32 %f1, [cell], "
                      "0f00000003;\nld.shared.u32 %r1, [cell];\nst.global.u32 [%rd1], %r1;\n"
                    : "st.global.u32 [%rd1], 0x00000005;\natom.global.add.f32 %f1, [%rd1], 0f00000003;\n") +
            "ret;");
    Memory memory;
    const std::uint64_t out = memory.add_output("out", 4);
    expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out)));
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], shared ? 8u : 0u);
  }
}

TEST(Atomic, HalfAdds) {
  const std::vector<Bits> halves = {0, 0x3c00, 0x0001, 0x03ff, 0x7bff, 0xbc00, 0x3c01};
  std::vector<Step> cases;
  for (const Bits a : halves)
    for (const Bits b : halves) cases.push_back({a, b, 0});
  for (const auto& [type, format] : {std::pair{"f16", kF16}, std::pair{"bf16", kBf16}}) {
    const Format f = format;
    expect_atomic("add.noftz", type, cases,
                  [&](const Step& s) -> Want { return float_add(f, s.old, s.operand, Round::kNearestEven); });
    std::vector<Step> packed;
    for (const Step& s : cases) packed.push_back({s.old << 16 | 0x3c00, s.operand << 16 | 0x4000, 0});
    expect_atomic("add.noftz", std::string(type) + "x2", packed, [&](const Step& s) -> Want {
      return float_add(f, s.old >> 16, s.operand >> 16, Round::kNearestEven) << 16 |
             float_add(f, s.old & 0xffff, s.operand & 0xffff, Round::kNearestEven);
    });
  }
}

// Many threads on one cell: nothing is lost, and every intermediate value is handed out once.
TEST(Atomic, CounterHandsOutEveryNumberOnce) {
  const std::string text = kernel(".param .u64 counter, .param .u64 out", R"(
ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r1; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd2, %rd2, %rd3;
@%p1 bra EVEN;
atom.global.add.u32 %r6, [%rd1], 1;
bra DONE;
EVEN:
atom.global.inc.u32 %r6, [%rd1], 0xffffffff;
DONE:
st.global.u32 [%rd2], %r6;
ret;)");
  constexpr std::size_t kThreads = 7 * 77;
  for (const int host_threads : {1, 3}) {
    Memory memory;
    const std::uint64_t counter = memory.add_zeroed("counter", 4),
                        out = memory.add_output("out", 4 * kThreads);
    Options options;
    options.host_threads = host_threads;
    expect_clean(
        run(parse_valid(text), memory, {7, 1, 1}, {77, 1, 1}, Arguments().u64(counter).u64(out), options));
    auto values = read_all<std::uint32_t>(memory, out, kThreads);
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i < kThreads; ++i) ASSERT_EQ(values[i], i);
    EXPECT_EQ(read_all<std::uint32_t>(memory, counter, 1)[0], kThreads);
  }
}

}  // namespace
}  // namespace moe4::ptx::test
