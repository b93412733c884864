// Broken PTX text never crashes the parser nor a launch: each mutant is refused with a line inside the text,
// or runs within its budget.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

const std::string& seed_text() {
  static const std::string text = module_header() + R"(.file 1 "kernel.cu"
.extern .shared .align 16 .b8 dynamic[];
.const .align 4 .u32 five = 5;
.global .align 4 .u32 table[4] = {1, 2, 0x3};
)" + entry("kernel", ".param .u64 out, .param .align 8 .b8 block[16], .param .u32 n", R"(
.shared .align 4 .b8 tile[256];
.local .align 4 .b8 depot[16];
.loc 1 3 1
ld.param.u64 %rd1, [out]; ld.param.u32 %r9, [n]; mov.u32 %r1, %tid.x; cvta.to.global.u64 %rd1, %rd1;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r2, tile; mad.lo.s32 %r3, %r1, 4, %r2;
cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f2, %f1, 0f40000000, %f1; st.shared.f32 [%r3], %f2;
bar.sync 0;
xor.b32 %r4, %r1, 1; mad.lo.s32 %r5, %r4, 4, %r2; ld.shared.v2.f32 {%f3, %f4}, [tile+8]; ld.shared.f32 %f5, [%r5];
setp.lt.and.u32 %p1|%p2, %r1, %r9, !%p3;
{ .reg .pred p; .reg .b32 t<2>;
setp.ne.s32 p, %r1, 0; mov.u32 t0, 3;
LOOP: sub.u32 t0, t0, 1; setp.ne.u32 p, t0, 0; @p bra LOOP; }
shfl.sync.bfly.b32 %r6|%p4, %r1, 1, 0x1f, 0xffffffff;
atom.global.add.u32 %r7, [table+4], 1; ld.const.u32 %r8, [five];
cvt.rn.bf16x2.f32 %r10, %f3, %f4; mov.b32 {%h1, %h2}, %r10; st.local.b16 [depot+-0], %h1;
@!%p1 bra $L__END;
st.global.f32 [%rd3], %f5;
$L__END:
ret;)");
  return text;
}

std::string mutate(Lcg& random, std::string text) {
  const std::uint32_t changes = 1 + random.below(3);
  for (std::uint32_t i = 0; i < changes; ++i) {
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(text.size()));
    const std::uint32_t length = 1 + random.below(12);
    const std::uint32_t from = random.below(static_cast<std::uint32_t>(text.size()));
    static const std::string alphabet = ";,.{}[]()%@!|:-+*/<>\"\n 0x9fFr_$~\0\xff";
    switch (random.below(6)) {
      case 0:
        text[at] = alphabet[random.below(static_cast<std::uint32_t>(alphabet.size()))];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(from, length));
        break;
      case 3:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 4:
        text.insert(at, 1, alphabet[random.below(static_cast<std::uint32_t>(alphabet.size()))]);
        break;
      case 5:
        text.replace(at, length, text.substr(from, length));
        break;
    }
    if (text.empty()) return text;
  }
  return text;
}

// Changes that mostly stay valid PTX: other digits (registers, offsets, immediates), statements dropped,
// doubled or moved within the body.
std::string disturb(Lcg& random, const std::string& text) {
  const std::size_t body = text.find("ld.param"), end = text.rfind("ret;");
  std::vector<std::string> statements;
  for (std::size_t at = body; at < end;) {
    const std::size_t next = std::min(text.find(';', at), end - 1) + 1;
    statements.push_back(text.substr(at, next - at));
    at = next;
  }
  const auto count = [&] { return static_cast<std::uint32_t>(statements.size()); };
  for (std::uint32_t i = 0; i < 1 + random.below(3); ++i) {
    const std::uint32_t at = random.below(count());
    switch (random.below(5)) {
      case 0:
        statements.erase(statements.begin() + at);
        break;
      case 1:
        statements.insert(statements.begin() + at, statements[random.below(count())]);
        break;
      case 2:
        std::swap(statements[at], statements[random.below(count())]);
        break;
      default:
        for (char& c : statements[at])
          if (c >= '0' && c <= '9' && random.below(4) == 0) c = static_cast<char>('0' + random.below(10));
    }
  }
  std::string result = text.substr(0, body);
  for (const std::string& statement : statements) result += statement;
  return result + text.substr(end);
}

TEST(Mutation, SeedIsClean) {
  const Module module = parse_valid(seed_text());
  EXPECT_TRUE(module.entries().at(0).unsupported.empty());
}

TEST(Mutation, NeverCrashes) {
  Lcg random(2024);
  int refused = 0, ran = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = i % 2 ? mutate(random, seed_text()) : disturb(random, seed_text());
    const int lines = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    Error error;
    const std::optional<Module> module = Module::parse(text, "mutant", &error);
    if (!module) {
      ++refused;
      ASSERT_FALSE(error.message.empty()) << text;
      ASSERT_GE(error.line, 0);
      ASSERT_LE(error.line, lines) << text;
      continue;
    }
    for (const EntryInfo& info : module->entries()) {
      for (const Error& unsupported : info.unsupported) ASSERT_LE(unsupported.line, lines);
      if (info.parameter_bytes > 4096) continue;
      Memory memory;
      const std::uint64_t out = memory.add_zeroed("out", 256);
      Launch what;
      what.entry = info.name;
      what.grid = {2, 1, 1};
      what.block = {64, 1, 1};
      what.parameters.resize(info.parameter_bytes);
      for (std::size_t k = 0; k < 8 && k < what.parameters.size(); ++k)
        what.parameters[k] = static_cast<std::byte>(out >> (8 * k));
      Options options;
      options.instruction_budget = 5000;
      options.host_threads = 1;
      const LaunchReport report = launch(*module, memory, what, options);
      ran += !report.error;
      ASSERT_LE(report.findings.size(), options.max_findings);
    }
  }
  EXPECT_GT(refused, 1000);  // the mutations reach both sides
  EXPECT_GT(ran, 500);
}

TEST(Mutation, EveryPrefixIsRefusedOrRuns) {
  const std::string& text = seed_text();
  for (std::size_t n = 0; n < text.size(); n += 3) {
    Error error;
    const std::optional<Module> module = Module::parse(text.substr(0, n), "prefix", &error);
    if (!module) {
      ASSERT_FALSE(error.message.empty()) << n;
    }
  }
}

// Deep nesting and long lists must not exhaust the stack nor time.
TEST(Mutation, DeepAndLong) {
  std::string deep = module_header() + ".visible .entry kernel()\n";
  deep += std::string(200000, '{') + std::string(200000, '}');
  Error error;
  Module::parse(deep, "deep", &error);
  std::string expression =
      kernel("", "mov.u32 %r1, " + std::string(200000, '(') + "1" + std::string(200000, ')') + ";\nret;");
  Module::parse(expression, "expression", &error);
  std::string registers = kernel("", ".reg .b32 huge<4000000000>;\nret;");
  Module::parse(registers, "registers", &error);
  std::string shared = kernel("", ".shared .align 4 .b8 huge[999999999999999999];\nret;");
  Module::parse(shared, "shared", &error);
  std::string global =
      module_header() + ".global .align 4 .b8 huge[99999999999999];\n" + entry("kernel", "", "ret;");
  Module::parse(global, "global", &error);
  std::string many = "mov.u32 %r1, 0;\n";
  for (int i = 0; i < 50000; ++i) many += "add.u32 %r1, %r1, 1;\n";
  EXPECT_EQ(parse_valid(kernel("", many + "ret;")).entries().at(0).instructions, 50002u);
}

}  // namespace
}  // namespace moe4::ptx::test
