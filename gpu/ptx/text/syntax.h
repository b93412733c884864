// The syntax tree of a module, names resolved: what the parser makes and the decoder reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/program/types.h"
#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

// A virtual register of one function. Registers of inner scopes are further entries of the same list.
struct Register {
  std::string_view name;
  Type type = Type::kNone;
};

// A .shared, .local, .global, .const or .param variable.
struct Variable {
  std::string_view name;
  Space space = Space::kGlobal;
  std::uint32_t align = 1;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;              // in its space, once laid out
  bool dynamic = false;                  // .extern .shared name[]
  std::vector<std::uint8_t> bytes_init;  // may be shorter than `bytes`: the rest is zero
  struct Address {                       // a pointer in the initialiser
    std::uint64_t at = 0;
    std::uint32_t variable = 0;
    std::int64_t addend = 0;
    bool generic = false;
  };
  std::vector<Address> addresses;
};

// Numbers of Operand::index >= kModuleVariables name a module variable (minus this), others one of the
// function.
inline constexpr std::uint32_t kModuleVariables = 0x80000000u;

enum class OperandKind : std::uint8_t {
  kRegister,
  kInteger,   // value
  kDouble,    // bits: an f64 pattern (0d…, or decimal)
  kSingle,    // bits: an f32 pattern (0f…)
  kVariable,  // index, value = added offset
  kLabel,     // index into Function::labels
  kName,      // a function, a prototype, or nothing known
  kSpecial,   // %tid.x, …; text
  kVector,    // items
  kAddress,   // items[0] is the base (register, variable or integer), value the offset; further items:
              // coordinates
  kSink,      // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;  // !p
  std::uint32_t index = 0;
  std::int64_t value = 0;  // integer, or offset
  std::uint64_t bits = 0;  // floating-point pattern
  std::string_view text;
  std::vector<Operand> items;
  std::uint32_t paired = kNoIndex;  // d|p: the register p; kSinkPair for d|_
};
inline constexpr std::uint32_t kSinkPair = 0xfffffffeu;

struct SourceLocation {
  std::uint32_t file = 0;  // number of the .file directive
  int line = 0;
};

struct Statement {
  int line = 0;
  SourceLocation location;
  std::string_view text;           // without guard and semicolon
  std::uint32_t guard = kNoIndex;  // register
  bool guard_negated = false;
  std::string_view base;  // "ld"
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
  std::uint64_t used_bytes_mask = ~0ull;  // of a .pragma "used_bytes_mask …" before it
};

struct BranchTargets {
  std::uint32_t label = 0;             // the label in front of .branchtargets
  std::vector<std::uint32_t> targets;  // labels
};

struct FunctionSyntax {
  std::string_view name;
  int line = 0;
  bool entry = false;
  bool defined = false;
  std::vector<std::uint32_t> parameters;  // variables
  std::vector<std::uint32_t> results;     // variables (.func)
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<std::uint32_t> labels;  // label -> index of the statement behind it
  std::vector<Statement> statements;
  std::vector<BranchTargets> branch_targets;
  std::optional<Dim3> required_block, max_block, required_cluster;
  std::uint32_t max_cluster_blocks = 0;  // .maxclusterrank; 0: not given
  std::vector<Error> unsupported;        // directives that change meaning and are not known
};

struct ModuleSyntax {
  std::string target;
  int version_major = 0, version_minor = 0;
  std::vector<std::pair<std::uint32_t, std::string>> files;
  std::vector<Variable> variables;
  std::vector<FunctionSyntax> functions;
};

}  // namespace moe4::ptx
