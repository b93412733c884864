// Single-instruction probes (fixtures/hardware/probes/instructions.probes, docs/hardware.md): an instruction,
// the types of its operands, and how far two results may lie apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle {

struct ProbeType {
  std::string name;      // "f32", "bf16x2", "s64", "b32"
  std::uint32_t bytes;   // 2, 4 or 8
  std::string_view reg;  // the PTX type of its registers: ".f32", ".b16"
};
std::optional<ProbeType> probe_type(std::string_view name);

struct ProbeOperand {
  ProbeType type;
  std::string near;                        // where values are drawn: "", "bf16", "int", "shift", …
  std::optional<std::uint64_t> immediate;  // in the instruction's text, not in memory
};

// How far a result may lie from the executor's.
struct ProbeBound {
  enum class Kind { kExact, kUlp, kRelative, kAbsolute, kMagnitude };
  Kind kind = Kind::kExact;
  double size = 0;
  std::string text;  // "exact", "relative 2^-23"
};

struct Probe {
  enum class Form { kScalar, kMma, kWgmma };
  std::string name;         // unique: the instruction, with its immediates
  std::string instruction;  // "fma.rn.f32"
  std::string target;       // "sm_80": the least that has it
  ProbeType result;
  std::vector<ProbeOperand> operands;
  ProbeBound bound;
  Form form = Form::kScalar;
  std::uint32_t m = 1, n = 1, k = 1;  // of a matrix product

  // Bytes of one instance: one execution by one thread, or one tile.
  std::size_t operand_bytes(std::size_t operand) const;  // 0: an immediate
  std::size_t result_bytes() const { return std::size_t{m} * n * result.bytes; }
};

// One probe a line; '#' begins a comment. An Error names the line.
Result<std::vector<Probe>> parse_probes(std::string_view text);

// Those of this build.
const std::vector<Probe>& probes();
const Probe* find_probe(std::string_view name);

}  // namespace moe4::oracle
