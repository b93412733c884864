// What the lanes of a warp tell each other.
#include <algorithm>
#include <bit>
#include <string>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/collective.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

unsigned first_lane(LaneMask mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

}  // namespace

void run_shuffle(Warp& warp, const Instr& instr, LaneMask mask) {
  mask = gather_members(warp, instr, mask, lanes<std::uint32_t>(warp, warp.function->lists[instr.aux]));
  if (mask == 0) return;
  const std::uint32_t* a = lanes<std::uint32_t>(warp, instr.a);
  const std::uint32_t* b = lanes<std::uint32_t>(warp, instr.b);
  const std::uint32_t* c = lanes<std::uint32_t>(warp, instr.c);
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  const auto mode = static_cast<ShuffleMode>(instr.imm);
  std::uint32_t result[kLanes];
  LaneMask valid = 0, bad = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t bval = b[lane] & 31, cval = c[lane] & 31, segment = (c[lane] >> 8) & 31;
    const std::uint32_t highest = (lane & segment) | (cval & ~segment), lowest = lane & segment;
    std::uint32_t j = lane;
    bool inside = false;
    switch (mode) {
      case ShuffleMode::kUp:
        j = lane - bval;
        inside = static_cast<std::int32_t>(j) >= static_cast<std::int32_t>(highest);
        break;
      case ShuffleMode::kDown:
        j = lane + bval;
        inside = j <= highest;
        break;
      case ShuffleMode::kButterfly:
        j = lane ^ bval;
        inside = j <= highest;
        break;
      case ShuffleMode::kIndex:
        j = lowest | (bval & ~segment);
        inside = j <= highest;
        break;
    }
    if (!inside) j = lane;
    valid |= inside ? LaneMask{1} << lane : 0u;
    bad |= ((mask >> j) & 1) ? 0u : LaneMask{1} << lane;
    result[lane] = a[j & 31];
  }
  bad &= mask;
  if (bad != 0 && warp.block->checks()) {
    warp.block->report(Check::kInvalidOperand, warp, instr_index(warp, instr), first_lane(bad),
                       "lanes " + hex(bad) + " read a lane that does not take part in the shuffle",
                       static_cast<std::uint64_t>(std::popcount(bad)));
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) d[lane] = (mask >> lane) & 1 ? result[lane] : d[lane];
  if (instr.e != 0) warp.predicates[instr.e] = (warp.predicates[instr.e] & ~mask) | (valid & mask);
}

void run_vote(Warp& warp, const Instr& instr, LaneMask mask) {
  mask = gather_members(warp, instr, mask, lanes<std::uint32_t>(warp, instr.a));
  if (mask == 0) return;
  const LaneMask yes = (warp.predicates[instr.c] ^ (instr.imm & 256 ? kAllLanes : 0u)) & mask;
  const auto mode = static_cast<VoteMode>(instr.imm & 0xff);
  if (mode == VoteMode::kBallot) {
    std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane) & 1) d[lane] = yes;
    }
    return;
  }
  const bool value = mode == VoteMode::kAll   ? yes == mask
                     : mode == VoteMode::kAny ? yes != 0
                                              : yes == mask || yes == 0;
  LaneMask& d = warp.predicates[instr.d];
  d = value ? d | mask : d & ~mask;
}

void run_match(Warp& warp, const Instr& instr, LaneMask mask) {
  mask = gather_members(warp, instr, mask, lanes<std::uint32_t>(warp, instr.b));
  if (mask == 0) return;
  const bool wide = (instr.imm >> 8) == 8;
  std::uint64_t value[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    value[lane] =
        wide ? lanes<std::uint64_t>(warp, instr.a)[lane] : lanes<std::uint32_t>(warp, instr.a)[lane];
  }
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  const bool all = static_cast<MatchMode>(instr.imm & 0xff) == MatchMode::kAll;
  LaneMask agree = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    LaneMask same = 0;
    for (unsigned other = 0; other < kLanes; ++other) {
      if (((mask >> other) & 1) && value[other] == value[lane]) same |= LaneMask{1} << other;
    }
    const bool unanimous = same == mask;
    d[lane] = all ? (unanimous ? mask : 0) : same;
    if (unanimous) agree |= LaneMask{1} << lane;
  }
  if (instr.e != 0) warp.predicates[instr.e] = (warp.predicates[instr.e] & ~mask) | agree;
}

void run_reduce(Warp& warp, const Instr& instr, LaneMask mask) {
  mask = gather_members(warp, instr, mask, lanes<std::uint32_t>(warp, instr.b));
  if (mask == 0) return;
  const std::uint32_t* a = lanes<std::uint32_t>(warp, instr.a);
  const auto mode = static_cast<ReduceMode>(instr.imm & 0xff);
  const bool is_signed = instr.imm & 256;
  std::uint32_t result = a[first_lane(mask)];
  for (LaneMask left = mask & (mask - 1); left != 0; left &= left - 1) {
    const std::uint32_t x = a[first_lane(left)];
    const bool less =
        is_signed ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(result) : x < result;
    switch (mode) {
      case ReduceMode::kAdd:
        result += x;
        break;
      case ReduceMode::kMin:
        result = less ? x : result;
        break;
      case ReduceMode::kMax:
        result = less ? result : x;
        break;
      case ReduceMode::kAnd:
        result &= x;
        break;
      case ReduceMode::kOr:
        result |= x;
        break;
      case ReduceMode::kXor:
        result ^= x;
        break;
    }
  }
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane) & 1) d[lane] = result;
  }
}

void run_activemask(Warp& warp, const Instr& instr, LaneMask mask) {
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane) & 1) d[lane] = mask;
  }
}

// The lowest lane of the mask is elected.
void run_elect(Warp& warp, const Instr& instr, LaneMask mask) {
  mask = gather_members(warp, instr, mask, lanes<std::uint32_t>(warp, instr.a));
  if (mask == 0) return;
  const unsigned leader = first_lane(mask);
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane) & 1) d[lane] = leader;
  }
  if (instr.e != 0) {
    warp.predicates[instr.e] = (warp.predicates[instr.e] & ~mask) | (LaneMask{1} << leader);
  }
}

}  // namespace moe4::ptx
