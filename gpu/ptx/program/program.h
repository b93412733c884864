// What the executor runs: an entry as a flat array of decoded instructions.
//
// A register is a vector of 32 lanes of its width, at a byte offset in the register file of a warp;
// predicates are 32-bit lane masks of their own. Offsets are allocated by liveness (registers.h), so that a
// file stays small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ptx/program/types.h"
#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

inline constexpr unsigned kLanes = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = ~LaneMask{0};

struct Warp;
struct Instr;
using Handler = void (*)(Warp&, const Instr&, LaneMask);

// Where an operand lies: a byte offset in the register file, or in the constants when kConstant is set.
// Predicates are indices; index 0 is always true, index 1 always false.
inline constexpr std::uint32_t kConstant = 0x80000000u;
inline constexpr std::uint32_t kTruePredicate = 0;
inline constexpr std::uint32_t kFalsePredicate = 1;

struct Instr {
  Handler run = nullptr;
  std::uint64_t imm = 0;
  std::uint32_t d = 0, e = 0;         // destinations
  std::uint32_t a = 0, b = 0, c = 0;  // sources
  std::uint32_t aux = 0;              // index into a side table of the function
  std::uint32_t guard = kTruePredicate;
  LaneMask guard_flip = 0;   // all ones for @!p
  std::uint32_t source = 0;  // index into Function::sources
};

// Which fields of an instruction are registers, for liveness and for the tracking of unwritten memory.
struct Roles {
  enum Field : std::uint8_t { kD = 1, kE = 2, kA = 4, kB = 8, kC = 16 };
  std::uint8_t writes = 0, reads = 0;  // fields
  std::uint8_t predicates = 0;         // fields that are predicates
  enum class Flow : std::uint8_t { kNext, kBranch, kList, kStop } flow = Flow::kNext;
  std::uint32_t list = 0;  // Function::lists: `list_writes` then `list_reads` registers
  std::uint16_t list_writes = 0, list_reads = 0;
};

enum class AtomicOp : std::uint8_t { kAdd, kExch, kCas, kAnd, kOr, kXor, kInc, kDec, kMin, kMax };
bool atomic_type_fits(AtomicOp op, Type type);  // whether atom and red have the operation for the type
enum class Order : std::uint8_t { kWeak, kRelaxed, kAcquire, kRelease, kAcqRel };

// The fixed part of a load, store or atomic operation.
struct MemoryOp {
  Space space = Space::kGeneric;
  Order order = Order::kWeak;  // volatile counts as relaxed
  bool wide = true;            // the scope of the order reaches other blocks
  bool cluster_scope = false;  // … those of the cluster only
  bool cluster = false;        // shared memory by addresses that may name another block of the cluster
  AtomicOp atomic = AtomicOp::kAdd;
  Type type = Type::kB32;
  std::uint8_t element_bytes = 4;  // in memory
  std::uint8_t register_bytes = 4;
  std::uint8_t count = 1;  // vector elements
  bool sign_extend = false;
  bool non_coherent = false;       // ld.global.nc
  bool register_address = false;   // Instr::a holds an address register …
  std::uint8_t address_bytes = 8;  // … of 4 or 8 bytes
  std::uint32_t list = 0;          // data registers in Function::lists
  std::int64_t offset = 0;         // added to the register, or the whole address
  std::uint64_t used_bytes = ~0ull;
};

struct SourcePlace {
  int line = 0;      // in the PTX text
  std::string text;  // the instruction
  std::uint32_t file = 0;
  int source_line = 0;  // of `file`; 0: unknown
};

// A variable in a space, by offset.
struct Placed {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Span {
  std::uint32_t offset = 0, bytes = 0;
};

struct Function {
  EntryInfo info;
  std::vector<Instr> code;
  std::vector<Roles> roles;          // one an instruction
  std::vector<std::uint32_t> lists;  // register operands of variable number
  std::vector<MemoryOp> memory_ops;
  std::vector<std::vector<std::uint32_t>> branch_lists;  // brx.idx
  std::vector<std::byte> constants;                      // lane vectors of the immediates
  std::vector<SourcePlace> sources;
  std::vector<Placed> shared;  // static shared variables

  std::uint32_t register_bytes = 0;
  std::uint32_t predicates = 2;
  std::vector<Span> poisoned_registers;  // may be read before they are written
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;    // a thread; .local and .param variables of the body
  unsigned race_granule = 4;        // bytes: no store of the kernel is smaller
  bool blocks_communicate = false;  // global atomics, acquire/release, volatile global access
  bool uses_dynamic_shared = false;
  bool meets_cluster = false;  // barrier.cluster
  bool multiplies_f16 = false, multiplies_bf16 = false;
  // Registers that wgmma uses have places of their own from the first wgmma to the last wait, so that they
  // can be written late. By place / 64: number + 1, or 0.
  std::uint32_t held_registers = 0;
  std::vector<std::uint32_t> held_slots;
  std::vector<bool> touches_held;  // one an instruction: it names one of them and is no wgmma
};

// Bytes of a module-level space at launch, with the pointers that its initialisers hold.
struct ModuleData {
  std::uint64_t bytes = 0;
  struct Piece {
    std::uint64_t at = 0;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Piece> pieces;
};

class Program {
 public:
  std::string name;
  std::string target;
  std::vector<std::string> files;   // index = number of the .file directive
  std::vector<Function> functions;  // entries, in the order of the text
  ModuleData constants, globals;
  std::uint64_t id = 0;  // unique in this process

  const Function* find(std::string_view entry) const;
};

// The windows of the generic address space. Buffers of a Memory lie above all of them.
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kSharedWindow = 2 * kWindowBytes;
inline constexpr std::uint64_t kLocalWindow = 4 * kWindowBytes;
inline constexpr std::uint64_t kParamWindow = 6 * kWindowBytes;
inline constexpr std::uint64_t kConstWindow = 8 * kWindowBytes;
inline constexpr std::uint64_t kGlobalsWindow = 10 * kWindowBytes;  // .global variables of the module

// Offset 0 of shared memory belongs to nobody, so that a null pointer is found; the dynamic part starts on
// 1024.
inline constexpr std::uint32_t kSharedBase = 1024;

// mapa: the address of shared memory in block `rank` of the cluster. Without such a part an address names the
// executing block.
inline constexpr unsigned kRankShift = 24;
inline constexpr std::uint32_t kMaxCluster = 16;
inline constexpr std::uint32_t cluster_address(std::uint32_t offset, std::uint32_t rank) {
  return offset | ((rank + 1) << kRankShift);
}

}  // namespace moe4::ptx
