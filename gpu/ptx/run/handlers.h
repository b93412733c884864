// Handlers of the instructions that are not plain arithmetic. Operand fields are those of Instr.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gpu/ptx/alu/alu.h"
#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

// ---- special.cc ----
enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kClock,
  kClockHi,
  kClock64,
  kGlobaltimer,
  kGlobaltimerLo,
  kGlobaltimerHi,
  kDynamicSmemSize,
  kTotalSmemSize,
  kClusterIdX,
  kClusterIdY,
  kClusterIdZ,
  kNclusterIdX,
  kNclusterIdY,
  kNclusterIdZ,
  kClusterRank,
  kClusterBlocks,
  kClusterBlockX,
  kClusterBlockY,
  kClusterBlockZ,
  kClusterNblockX,
  kClusterNblockY,
  kClusterNblockZ,
  kExplicitCluster,
  kGridWorkspaceHigh,  // the memory that a cooperative launch gives to its grid barrier
  kGridWorkspaceLow,
};
std::optional<Special> special_named(std::string_view name);
unsigned bytes_of_special(Special special);
void run_special(Warp&, const Instr&, LaneMask);            // d = special register imm
void run_special_predicate(Warp&, const Instr&, LaneMask);  // p d = %is_explicit_cluster

// ---- moves.cc ----
void run_move_predicate(Warp&, const Instr&, LaneMask);  // d = a ^ imm
void run_and_predicate(Warp&, const Instr&, LaneMask);
void run_or_predicate(Warp&, const Instr&, LaneMask);
void run_xor_predicate(Warp&, const Instr&, LaneMask);
void run_not_predicate(Warp&, const Instr&, LaneMask);
void run_select_predicate(Warp&, const Instr&, LaneMask);  // d = c ? a : b, all predicates
// Lists: aux names the list of `imm` parts.
Handler pack_handler(unsigned part_bytes);    // d = parts, the first lowest
Handler unpack_handler(unsigned part_bytes);  // parts = a
Handler move_wide_handler();                  // 16 bytes
void run_is_in_window(Warp&, const Instr&,
                      LaneMask);  // p d = the 64-bit a lies in the window imm; | 1: of the cluster
void run_division_check(Warp&, const Instr&, LaneMask);  // reports lanes whose divisor a (imm bytes) is zero

enum class Property : std::uint8_t { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };
Property property_named(std::string_view name);
void run_test_property(Warp&, const Instr&, LaneMask);  // p d = a (imm bits 8…: bytes) has the property

// ---- carry.cc ----
enum class CarryOp : std::uint8_t { kAdd, kSub, kMadLo, kMadHi };
// imm: bit 0 the carry comes in, bit 1 it goes out.
Handler carry_handler(CarryOp op, Type type);

// ---- rounding.cc ----
// f32 and f64 with a rounding other than to nearest; imm: encode(mode).
Handler directed_handler(FloatOp op, Type type, Rounding rounding);

// ---- approximate.cc ----
enum class Approximate : std::uint8_t { kEx2, kLg2, kSin, kCos, kTanh, kDiv, kRcp64, kRsqrt64 };
// One value that the ISA's error bound allows: the function in FP64, rounded once. imm: encode(mode).
Handler approximate_handler(Approximate op, Type type);

// ---- convert.cc ----
struct Conversion {
  Type to = Type::kNone, from = Type::kNone;
  Rounding rounding = Rounding::kNone;
  bool integral = false;  // .rni, .rzi, …
  bool ftz = false, sat = false, relu = false;
};
std::uint64_t encode(const Conversion& conversion);
void run_convert(Warp&, const Instr&, LaneMask);  // d = a, registers of the types' own widths; imm: encode(…)
void run_convert_pair(Warp&, const Instr&, LaneMask);  // d = {b low, a high}: f16x2 or bf16x2 from f32

// ---- control.cc ----
void run_branch(Warp&, const Instr&, LaneMask);       // to imm
void run_branch_list(Warp&, const Instr&, LaneMask);  // to branch_lists[aux][a]
void run_exit(Warp&, const Instr&, LaneMask);
void run_trap(Warp&, const Instr&, LaneMask);
void run_nothing(Warp&, const Instr&, LaneMask);
// aux: offsets in local memory, in Function::lists. vprintf: format, arguments, result (imm 1).
// __assertfail: expression, file, line, function.
void run_print(Warp&, const Instr&, LaneMask);
void run_assert(Warp&, const Instr&, LaneMask);
void run_sleep(Warp&, const Instr&, LaneMask);

// ---- barrier_ops.cc ----
enum class BarrierKind : std::uint8_t { kSync, kArrive, kRedPopc, kRedAnd, kRedOr };
// imm: kind | aligned << 8 | has count << 9 | c negated << 10; a: barrier, b: count; c: predicate; d: result.
void run_barrier(Warp&, const Instr&, LaneMask);
void run_warp_barrier(Warp&, const Instr&, LaneMask);  // a: member mask

// ---- cluster_ops.cc ----
void run_cluster_arrive(Warp&, const Instr&, LaneMask);  // imm: aligned | relaxed << 1
void run_cluster_wait(Warp&, const Instr&, LaneMask);    // imm: aligned
void run_map_to_block(Warp&, const Instr&,
                      LaneMask);  // mapa: d = the address a in block b; imm: bytes of both
void run_block_of_address(Warp&, const Instr&,
                          LaneMask);            // getctarank: d = rank of the block of a; imm: bytes
void run_fence(Warp&, const Instr&, LaneMask);  // imm: 1 for scopes beyond the cluster, 2 for the cluster

// ---- warp_ops.cc ----
enum class ShuffleMode : std::uint8_t { kUp, kDown, kButterfly, kIndex };
void run_shuffle(Warp&, const Instr&, LaneMask);  // d|e = a from lane b, c clamp; aux: list[mask], imm mode
enum class VoteMode : std::uint8_t { kAll, kAny, kUni, kBallot };
void run_vote(Warp&, const Instr&, LaneMask);  // d = vote of predicate c; a: mask; imm mode | negated << 8
enum class MatchMode : std::uint8_t { kAny, kAll };
void run_match(Warp&, const Instr&, LaneMask);  // d|e; a value (imm bits 8…: bytes), b mask
enum class ReduceMode : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };
void run_reduce(Warp&, const Instr&, LaneMask);  // d = a over mask b; imm mode | signed << 8
void run_activemask(Warp&, const Instr&, LaneMask);
void run_elect(Warp&, const Instr&, LaneMask);  // d|e; a mask

// ---- memory_ops.cc, atomic_ops.cc ----
// aux: Function::memory_ops.
void run_load(Warp&, const Instr&, LaneMask);
void run_store(Warp&, const Instr&, LaneMask);
void run_atomic(Warp&, const Instr&, LaneMask);  // list: results (none for red), then operands
// What an atomic operation on memory that holds `old` leaves there; c: the new value of cas.
std::uint64_t combine_atomic(AtomicOp op, Type type, Space space, std::uint64_t old, std::uint64_t b,
                             std::uint64_t c);

}  // namespace moe4::ptx
