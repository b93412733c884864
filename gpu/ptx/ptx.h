// moe4::ptx, the PTX executor: runs an .entry of PTX text on the CPU and checks it while it runs.
//
// Four steps: parse a Module; place buffers in a Memory; Launch an entry; read the LaunchReport.
// No function here prints, throws or aborts on bad input. Same Module, Memory contents and Options give the
// same bits, counters and findings on every machine and for every number of host threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/tensor_core.h"

namespace moe4::ptx {

// Why something could not be done: a place in the PTX text (line 0: none) and a sentence.
struct Error {
  int line = 0;
  std::string instruction;
  std::string message;
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// ---- Module
// ------------------------------------------------------------------------------------------------------

struct Parameter {
  std::string name;
  std::uint32_t offset = 0;  // in the parameter block
  std::uint32_t size = 0;
  std::uint32_t align = 0;
};

struct EntryInfo {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t instructions = 0;
  std::optional<Dim3> required_block;    // .reqntid
  std::optional<Dim3> max_block;         // .maxntid
  std::optional<Dim3> required_cluster;  // .reqnctapercluster
  std::uint32_t max_cluster_blocks = 0;  // .maxclusterrank; 0: not given
  bool needs_tensor_core = false;        // multiplies matrices: Options::tensor_core must be given
  std::vector<Error> unsupported;        // empty: the executor can run it
  std::vector<Error>
      approximate;  // instructions whose bits the ISA leaves open within a bound (docs/executor.md)
};

class Program;  // flat instructions; internal (gpu/ptx/program.h)

class Module {
 public:
  // Parses PTX text (.version 7.0 to 9.x). name is used in reports. Nothing of `text` is kept by reference.
  static std::optional<Module> parse(std::string_view text, std::string name, Error* error);

  const std::string& name() const;
  const std::string& target() const;  // "sm_90a"
  std::vector<EntryInfo> entries() const;
  const Program& program() const { return *program_; }

 private:
  std::shared_ptr<const Program> program_;
};

// ---- Memory: the device's global address space
// ---------------------------------------------------------------------

enum class Access { kReadOnly, kReadWrite };

// Sparse: a buffer takes host memory only for the pages that are touched, whatever its size. Buffers lie far
// apart (guard space of at least 4 GiB between them), so that an offset that wraps or runs over leaves every
// buffer.
class Memory {
 public:
  Memory();
  ~Memory();
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;

  // Each returns the buffer's address; 0: larger than 4 TiB, or no room left.
  // Borrows host memory (no copy), fully initialised. The host memory must outlive the Memory.
  std::uint64_t add_input(std::string name, std::span<const std::byte> host);
  // Owned, never written yet: every byte is poison (Options::poison) until the kernel writes it.
  std::uint64_t add_output(std::string name, std::uint64_t bytes);
  // Owned, initialised with zeros (a workspace that its owner clears).
  std::uint64_t add_zeroed(std::string name, std::uint64_t bytes);

  // Copies bytes out of the buffer that starts at `address`; unwritten bytes read as poison.
  void read(std::uint64_t address, std::span<std::byte> to) const;
  // Which bytes a launch has written, one flag a byte, for buffers of add_output.
  std::vector<bool> written(std::uint64_t address) const;

  class Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- Findings
// ------------------------------------------------------------------------------------------------------

enum class Check {
  kOutOfBounds,  // an access outside every buffer (global), or outside the shared/local/param/const space
  kMisaligned,
  kInputWritten,   // a store to a read-only buffer
  kUninitialized,  // a branch, an address or a final output depends on memory that nothing wrote
  kSharedRace,
  kGlobalRace,
  kBarrierDeadlock,
  kBarrierDivergence,  // an .aligned barrier reached by part of a warp
  kInvalidOperand,     // undefined by the ISA: integer division by zero, shuffle from an inactive lane, ...
  kTrap,
  kBudget,        // instruction budget used up
  kAsyncPending,  // asynchronous work that nobody has waited for when the block ends
  kProxyFence,    // ordinary writes reach TMA or wgmma without fence.proxy.async
  kMbarrier,      // an mbarrier used against its rules
  kWgmma,         // registers of a wgmma touched too early, a missing wgmma.fence, warps that disagree
  kCluster,       // another block's shared memory before it has started or after it may have exited
};
std::string_view name_of(Check check);  // "out-of-bounds", ...

// A place in a running kernel.
struct Place {
  int ptx_line = 0;
  std::string instruction;  // the PTX text of the instruction
  std::string source_file;  // CUDA source where .loc says so
  int source_line = 0;
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
};

struct Finding {
  Check check = Check::kOutOfBounds;
  std::string kernel;
  std::string message;  // one line: what, which buffer, which offset
  Place place;
  std::optional<Place> other;  // the other side of a race
  std::uint64_t count = 1;     // same check at the same instruction
  // The ISA leaves it undefined, and kernels that are in use live with it: reported, no fault by default.
  bool formal = false;
};
std::string to_string(const Finding& finding);

// ---- Launch
// --------------------------------------------------------------------------------------------------------

struct Options {
  bool checks = true;                     // races, initialisation, alignment; bounds are always checked
  std::optional<std::uint64_t> schedule;  // none: fixed default order; a seed permutes blocks and warps
  std::byte poison{0xFF};                 // what unwritten memory and registers read as
  int host_threads = 0;                   // 0: all cores
  std::uint64_t instruction_budget = 0;   // warp instructions per launch; 0: 2^40
  std::uint32_t max_findings = 20;
  const TensorCore* tensor_core = nullptr;  // outlives the launch; none: entries that need one are refused
};

struct Launch {
  std::string entry;
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;  // the parameter block, laid out as EntryInfo::parameters says
  std::optional<Dim3> cluster;        // blocks of a cluster; none: what the entry demands, else one
  // All blocks run at once, and the entry gets what the grid barrier of cooperative groups needs (%envreg1,
  // 2).
  bool cooperative = false;
};

struct Counters {
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  // active lanes
  std::uint64_t global_load_bytes = 0, global_store_bytes = 0;
  std::uint64_t shared_load_bytes = 0, shared_store_bytes = 0;
  std::uint64_t shared_bank_conflicts = 0;  // extra wavefronts
  std::uint64_t barriers = 0;
  std::uint64_t tensor_multiply_adds = 0;
};

inline constexpr std::size_t kMaxPrinted = std::size_t{1} << 20;

struct LaunchReport {
  std::optional<Error>
      error;  // it could not run at all: unknown entry, unsupported instruction, bad geometry
  std::vector<Finding> findings;
  Counters counters;
  bool completed = false;  // every thread ran to its exit
  std::string printed;     // by vprintf, block after block; at most kMaxPrinted bytes
  // Of the branches taken and the addresses used, with Options::checks: equal for two runs that did the same.
  std::uint64_t path_hash = 0;
};

// Runs one launch once, with Options::poison for everything that nothing wrote.
LaunchReport launch(const Module& module, Memory& memory, const Launch& launch, const Options& options);

}  // namespace moe4::ptx
