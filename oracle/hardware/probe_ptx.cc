#include "oracle/hardware/probe_ptx.h"

#include <fmt/core.h>

namespace moe4::oracle {
namespace {

std::string head(const Probe& probe) {
  std::string parameters = ".param .u64 result";
  for (std::size_t n = 0; n < probe.operands.size(); ++n) {
    if (!probe.operands[n].immediate) parameters += fmt::format(", .param .u64 operand_{}", n);
  }
  return fmt::format(
      ".version 8.0\n.target {}\n.address_size 64\n\n.visible .entry probe({}, .param .u32 count)\n{{\n"
      "  .reg .pred %p;\n  .reg .b32 %n<8>;\n  .reg .b64 %at<8>;\n",
      probe.target, parameters);
}

// %at<n> = parameter + %n0 * bytes
std::string address(int n, const std::string& parameter, std::size_t bytes) {
  return fmt::format(
      "  ld.param.u64 %at{0}, [{1}];\n  cvta.to.global.u64 %at{0}, %at{0};\n"
      "  mad.wide.u32 %at{0}, %n0, {2}, %at{0};\n",
      n, parameter, bytes);
}

std::string scalar(const Probe& probe) {
  std::string text = head(probe);
  text += fmt::format("  .reg {} %d;\n", probe.result.reg);
  std::string loads, arguments = "%d";
  for (std::size_t n = 0; n < probe.operands.size(); ++n) {
    const ProbeOperand& operand = probe.operands[n];
    if (operand.immediate) {
      arguments += fmt::format(", {}", *operand.immediate);
      continue;
    }
    text += fmt::format("  .reg {} %a{};\n", operand.type.reg, n);
    loads += address(1, fmt::format("operand_{}", n), operand.type.bytes);
    loads += fmt::format("  ld.global.b{} %a{}, [%at1];\n", operand.type.bytes * 8, n);
    arguments += fmt::format(", %a{}", n);
  }
  text += fmt::format(
      "\n  mov.u32 %n1, %ctaid.x;\n  mov.u32 %n2, %tid.x;\n  mad.lo.u32 %n0, %n1, {}, %n2;\n"
      "  ld.param.u32 %n3, [count];\n  setp.ge.u32 %p, %n0, %n3;\n  @%p ret;\n",
      kScalarThreads);
  text += loads;
  text += fmt::format("\n  {} {};\n\n", probe.instruction, arguments);
  text += address(0, "result", probe.result.bytes);
  text += fmt::format("  st.global.b{} [%at0], %d;\n  ret;\n}}\n", probe.result.bytes * 8);
  return text;
}

// The fragments of the PTX ISA: lane l has the rows l/4 and l/4 + 8 of its warp's 16, the columns 2(l%4) and
// the next one of c and d, and the depths 2(l%4), the next one, and both plus 8.
// %n1: row of the tile; %n2: l/4; %n3: l%4. %at1 … %at3: the lane's first element of a, b, c; %at0: of d.
std::string fragments(const Probe& probe) {
  const unsigned row = probe.k * 2;  // bytes
  std::string text =
      "\n  .reg .b32 %a<4>;\n  .reg .b32 %b<2>;\n  .reg .f32 %c<4>;\n  .reg .f32 %d<4>;\n"
      "  mov.u32 %n0, %ctaid.x;\n  mov.u32 %n4, %tid.x;\n  shr.u32 %n5, %n4, 5;\n  and.b32 %n3, %n4, 3;\n"
      "  shr.u32 %n2, %n4, 2;\n  and.b32 %n2, %n2, 7;\n  mad.lo.u32 %n1, %n5, 16, %n2;\n";
  const auto step = [](int at, const char* count, unsigned bytes) {
    return fmt::format("  mad.wide.u32 %at{0}, {1}, {2}, %at{0};\n", at, count, bytes);
  };
  text += address(1, "operand_0", probe.operand_bytes(0)) + step(1, "%n1", row) + step(1, "%n3", 4);
  text += address(2, "operand_1", probe.operand_bytes(1));
  text += address(3, "operand_2", probe.operand_bytes(2)) + step(3, "%n1", 32) + step(3, "%n3", 8);
  text += address(0, "result", probe.result_bytes()) + step(0, "%n1", 32) + step(0, "%n3", 8);
  for (unsigned n = 0; n < probe.k / 4; ++n) {
    text += fmt::format("  ld.global.b32 %a{}, [%at1+{}];\n", n, (n % 2) * 8 * row + (n / 2) * 16);
  }
  return text + "  ld.global.v2.f32 {%c0, %c1}, [%at3];\n  ld.global.v2.f32 {%c2, %c3}, [%at3+256];\n";
}

constexpr const char* kStoreTile =
    "  st.global.v2.f32 [%at0], {%d0, %d1};\n  st.global.v2.f32 [%at0+256], {%d2, %d3};\n  ret;\n}\n";

std::string mma(const Probe& probe) {
  std::string text = head(probe) + fragments(probe);
  text +=
      fmt::format("  mad.wide.u32 %at2, %n2, {}, %at2;\n  mad.wide.u32 %at2, %n3, 4, %at2;\n", probe.k * 2);
  for (unsigned n = 0; n < probe.k / 8; ++n) {
    text += fmt::format("  ld.global.b32 %b{}, [%at2+{}];\n", n, n * 16);
  }
  text += fmt::format("\n  {} {{%d0, %d1, %d2, %d3}}, {{{}}}, {{{}}}, {{%c0, %c1, %c2, %c3}};\n\n",
                      probe.instruction, probe.k == 8 ? "%a0, %a1" : "%a0, %a1, %a2, %a3",
                      probe.k == 8 ? "%b0" : "%b0, %b1");
  return text + kStoreTile;
}

// b goes to shared memory as two core matrices of 8 columns × 8 depths, 128 bytes each. There is one core
// matrix along N, so that both strides of the descriptor can be 128.
std::string wgmma(const Probe& probe) {
  std::string text = head(probe) + "  .shared .align 128 .b8 tile[256];\n" + fragments(probe);
  text +=
      "  mov.u32 %n6, tile;\n  setp.ge.u32 %p, %n4, 64;\n  @%p bra FILLED;\n"
      "  mad.wide.u32 %at2, %n4, 4, %at2;\n  ld.global.b32 %b0, [%at2];\n"
      "  shr.u32 %n5, %n4, 3;\n  mad.lo.u32 %n7, %n5, 16, %n6;\n"
      "  and.b32 %n5, %n4, 3;\n  mad.lo.u32 %n7, %n5, 4, %n7;\n"
      "  shr.u32 %n5, %n4, 2;\n  and.b32 %n5, %n5, 1;\n  mad.lo.u32 %n7, %n5, 128, %n7;\n"
      "  st.shared.b32 [%n7], %b0;\n"
      "FILLED:\n  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
      "  shr.u32 %n5, %n6, 4;\n  cvt.u64.u32 %at4, %n5;\n  or.b64 %at4, %at4, 0x0000000800080000;\n"
      "  mov.f32 %d0, %c0;\n  mov.f32 %d1, %c1;\n  mov.f32 %d2, %c2;\n  mov.f32 %d3, %c3;\n"
      "  setp.eq.u32 %p, %n6, %n6;\n  wgmma.fence.sync.aligned;\n";
  text += fmt::format("\n  {} {{%d0, %d1, %d2, %d3}}, {{%a0, %a1, %a2, %a3}}, %at4, %p, 1, 1, 0;\n\n",
                      probe.instruction);
  text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  return text + kStoreTile;
}

}  // namespace

std::uint32_t threads_of(const Probe& probe) {
  switch (probe.form) {
    case Probe::Form::kScalar:
      return kScalarThreads;
    case Probe::Form::kMma:
      return 32;
    case Probe::Form::kWgmma:
      return 128;
  }
  return 0;
}

std::string probe_ptx(const Probe& probe) {
  switch (probe.form) {
    case Probe::Form::kScalar:
      return scalar(probe);
    case Probe::Form::kMma:
      return mma(probe);
    case Probe::Form::kWgmma:
      return wgmma(probe);
  }
  return "";
}

}  // namespace moe4::oracle
