// Barriers of the block and of the warp, and fences.
#include <algorithm>
#include <bit>
#include <string>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/collective.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

// The first lane's value, and whether all lanes agree.
bool uniform(const std::uint32_t* values, LaneMask mask, std::uint32_t* value) {
  *value = values[std::countr_zero(mask)];
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    if (values[std::countr_zero(left)] != *value) return false;
  }
  return true;
}

unsigned first_lane(LaneMask mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

}  // namespace

void run_barrier(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto kind = static_cast<BarrierKind>(instr.imm & 0xff);
  const bool aligned = instr.imm & (1u << 8), counted = instr.imm & (1u << 9);
  if (aligned && !gather(warp, instr, mask, kAllLanes, true)) return;
  if (!aligned && split_by_guard(warp, instr, mask)) return;
  Block& block = *warp.block;
  const std::uint32_t at = instr_index(warp, instr);
  std::uint32_t id = 0, expected = 0;
  if (!uniform(lanes<std::uint32_t>(warp, instr.a), mask, &id) ||
      (counted && !uniform(lanes<std::uint32_t>(warp, instr.b), mask, &expected))) {
    return block.fault(Check::kInvalidOperand, warp, at, first_lane(mask),
                       "the lanes of a warp name different barriers or counts");
  }
  if (id >= 16 || (counted && (expected == 0 || expected % kLanes != 0 || expected > 1024))) {
    return block.fault(Check::kInvalidOperand, warp, at, first_lane(mask),
                       "barrier " + std::to_string(id) +
                           (counted ? " for " + std::to_string(expected) + " threads" : "") +
                           ": 16 barriers exist, and counts are multiples of 32");
  }
  ++block.counters().barriers;
  std::uint32_t population = 0;
  if (kind >= BarrierKind::kRedPopc) {
    const LaneMask predicate = warp.predicates[instr.c] ^ (instr.imm & (1u << 10) ? kAllLanes : 0u);
    population = static_cast<std::uint32_t>(std::popcount(predicate & mask)) |
                 ((predicate & mask) == mask ? 1u << 16 : 0u);
  } else {
    population = 1u << 16;
  }
  block.arrive(warp, at, mask, id, expected, counted, kind != BarrierKind::kArrive, population);
}

void Block::arrive(Warp& warp, std::uint32_t instr, LaneMask lanes, std::uint32_t id, std::uint32_t expected,
                   bool counted, bool waits, std::uint32_t population) {
  Barrier& barrier = barriers_[id];
  if (!barrier.active) {
    barrier = Barrier{};
    barrier.active = true;
    barrier.counted = counted;
    barrier.expected = expected;
    barrier.first_instr = instr;
    barrier.clock = BlockClock{};
  } else if (barrier.counted != counted || barrier.expected != expected) {
    return fault(Check::kInvalidOperand, warp, instr, first_lane(lanes),
                 "barrier " + std::to_string(id) + " is awaited with different numbers of threads");
  }
  barrier.population += population & 0xffff;
  barrier.all = barrier.all && (population >> 16) != 0;
  barrier.any = barrier.any || (population & 0xffff) != 0;
  if (checks_) join(barrier.clock, shared_races_.clocks().released(warp, lanes));
  // Lanes of a warp may come apart (barrier.sync); the warp has arrived when all its live lanes have.
  LaneMask here = lanes;
  for (const Barrier::Waiting& waiting : barrier.waiting) {
    if (waiting.warp == warp.index) here |= waiting.lanes;
  }
  const bool whole = (warp.live & ~here) == 0;
  if (waits) {
    barrier.waiting.push_back({warp.index, lanes, instr});
    warp.others.push_back({warp.pc, lanes, Fragment::State::kBlocked, 0, id, 0});
    warp.active &= ~lanes;
    warp.stop = WarpStop::kReschedule;
    warp.limit = 0;
  }
  if (whole || !waits) {
    barrier.threads += kLanes;
    barrier.warps |= 1u << warp.index;
    if (checks_) {
      if (waits) {
        shared_races_.clocks().warp_barrier(warp, warp.live);
      } else {
        shared_races_.clocks().advance(warp.index);
      }
    }
  }
  release(id);
}

// Lets the waiting lanes go when all that the barrier waits for have arrived.
void Block::release(std::uint32_t id) {
  Barrier& barrier = barriers_[id];
  if (!barrier.active) return;
  if (barrier.counted) {
    if (barrier.threads < barrier.expected) return;
  } else {
    for (const Warp& warp : warps_) {
      if (warp.live != 0 && !((barrier.warps >> warp.index) & 1)) return;
    }
  }
  made_progress();
  std::array<LaneMask, kMaxWarps> passing{};  // of each warp, though they may have come apart
  for (const Barrier::Waiting& waiting : barrier.waiting) passing[waiting.warp] |= waiting.lanes;
  for (unsigned w = 0; checks_ && w < run_.warps; ++w) {
    if (passing[w] != 0) shared_races_.clocks().acquire(warps_[w], passing[w], barrier.clock);
  }
  for (const Barrier::Waiting& waiting : barrier.waiting) {
    Warp& warp = warps_[waiting.warp];
    const Instr& instr = warp.code[waiting.instr];
    const auto kind = static_cast<BarrierKind>(instr.imm & 0xff);
    if (kind == BarrierKind::kRedPopc) {
      std::uint32_t* d = ptx::lanes<std::uint32_t>(warp, instr.d);
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((waiting.lanes >> lane) & 1) d[lane] = barrier.population;
      }
    } else if (kind == BarrierKind::kRedAnd || kind == BarrierKind::kRedOr) {
      const bool value = kind == BarrierKind::kRedAnd ? barrier.all : barrier.any;
      LaneMask& d = warp.predicates[instr.d];
      d = value ? d | waiting.lanes : d & ~waiting.lanes;
    }
    for (Fragment& fragment : warp.others) {
      if (fragment.state == Fragment::State::kBlocked && fragment.barrier == id) {
        fragment.state = Fragment::State::kReady;
      }
    }
  }
  barrier.active = false;
  barrier.waiting.clear();
}

void Block::lanes_exited(Warp& warp) {
  for (std::uint32_t id = 0; id < barriers_.size(); ++id) {
    Barrier& barrier = barriers_[id];
    if (!barrier.active) continue;
    // The lanes that wait may be all that is left of the warp.
    LaneMask here = 0;
    for (const Barrier::Waiting& waiting : barrier.waiting) {
      if (waiting.warp == warp.index) here |= waiting.lanes;
    }
    if (here != 0 && (warp.live & ~here) == 0 && !((barrier.warps >> warp.index) & 1)) {
      barrier.threads += kLanes;
      barrier.warps |= 1u << warp.index;
      if (checks_) shared_races_.clocks().warp_barrier(warp, warp.live);
    }
    release(id);
  }
  if (cluster_ != nullptr) cluster_->lanes_exited();
}

// Lanes wait in a warp for others of the same warp that are nowhere to come from.
void Block::report_stuck(Warp& warp) {
  if (warp.live == 0) return;
  const Fragment* first = nullptr;
  for (const Fragment& fragment : warp.others) {
    // Lanes that wait for others than their warp may come yet.
    if (fragment.state == Fragment::State::kBlocked || fragment.state == Fragment::State::kWaiting) return;
    if (first == nullptr || fragment.pc < first->pc) first = &fragment;
  }
  if (first == nullptr) return;
  const Fragment* second = nullptr;
  for (const Fragment& fragment : warp.others) {
    if (&fragment != first) second = &fragment;
  }
  Finding* finding = report(Check::kBarrierDivergence, warp, first->pc, first_lane(first->lanes),
                            "a collective instruction is reached by lanes " + hex(first->lanes) +
                                " of a warp, while lanes " + hex(first->needs & warp.live & ~first->lanes) +
                                " of it wait elsewhere");
  if (finding != nullptr && second != nullptr) {
    finding->other = place(second->pc, warp.index, first_lane(second->lanes));
  }
  faulted_ = true;
}

void Block::report_deadlock() {
  Stuck stuck = describe_stuck();
  if (stuck.warp == nullptr) stuck.warp = &warps_[0];
  report(Check::kBarrierDeadlock, *stuck.warp, stuck.instr, stuck.lane,
         "no thread of the block can go on; " + stuck.picture);
  faulted_ = true;
}

Block::Stuck Block::describe_stuck() {
  // "barrier 1 (line 40): warps 0,2 wait, 64 of 128 threads came"
  std::string picture;
  const Warp* place_warp = nullptr;
  std::uint32_t place_instr = 0;
  unsigned place_lane = 0;
  const auto line_of = [&](std::uint32_t instr) {
    return std::to_string(run_.function->sources[run_.function->code[instr].source].line);
  };
  for (std::uint32_t id = 0; id < barriers_.size(); ++id) {
    const Barrier& barrier = barriers_[id];
    if (!barrier.active) continue;
    picture += "barrier " + std::to_string(id) + " (";
    picture += barrier.counted ? std::to_string(barrier.threads) + " of " + std::to_string(barrier.expected) +
                                     " threads came"
                               : "all threads must come";
    picture += "):";
    for (const Barrier::Waiting& waiting : barrier.waiting) {
      picture += " warp " + std::to_string(waiting.warp) + " waits at line " + line_of(waiting.instr) + ",";
      if (place_warp != nullptr) continue;
      place_warp = &warps_[waiting.warp];
      place_instr = waiting.instr;
      place_lane = first_lane(waiting.lanes);
    }
    picture += " ";
  }
  for (const Warp& warp : warps_) {
    if (warp.live == 0) picture += "warp " + std::to_string(warp.index) + " has exited, ";
    for (const Fragment& fragment : warp.others) {
      if (fragment.state == Fragment::State::kWaiting) {
        picture += "warp " + std::to_string(warp.index) + " waits at line " + line_of(fragment.pc) + " for " +
                   async_.describe_wait(fragment.barrier, fragment.phase) + ", ";
        if (place_warp == nullptr) {
          place_warp = &warp;
          place_instr = fragment.pc;
          place_lane = first_lane(fragment.lanes);
        }
      }
      if (fragment.state == Fragment::State::kBlocked && fragment.barrier == kClusterBarrier) {
        picture += "warp " + std::to_string(warp.index) + " waits at line " + line_of(fragment.pc - 1) +
                   " for the cluster, ";
        if (place_warp == nullptr) {
          place_warp = &warp;
          place_instr = fragment.pc - 1;
          place_lane = first_lane(fragment.lanes);
        }
      }
      if (fragment.state != Fragment::State::kConverging) continue;
      picture += "lanes " + hex(fragment.lanes) + " of warp " + std::to_string(warp.index) +
                 " wait at line " + line_of(fragment.pc) + " for lanes " +
                 hex(fragment.needs & warp.live & ~fragment.lanes) + ", ";
      if (place_warp != nullptr) continue;
      place_warp = &warp;
      place_instr = fragment.pc;
      place_lane = first_lane(fragment.lanes);
    }
  }
  for (const Warp& warp : warps_) {
    if (warp.active == 0 || warp.live == 0) continue;
    picture += "warp " + std::to_string(warp.index) + " polls memory near line " + line_of(warp.pc) + ", ";
    if (place_warp != nullptr) continue;
    place_warp = &warp;
    place_instr = warp.pc;
    place_lane = first_lane(warp.active);
  }
  while (!picture.empty() && (picture.back() == ' ' || picture.back() == ',')) picture.pop_back();
  return {std::move(picture), place_warp, place_instr, place_lane};
}

void run_warp_barrier(Warp& warp, const Instr& instr, LaneMask mask) {
  mask = gather_members(warp, instr, mask, lanes<std::uint32_t>(warp, instr.a));
  if (mask != 0 && warp.block->checks()) warp.block->shared_races().clocks().warp_barrier(warp, mask);
}

}  // namespace moe4::ptx
