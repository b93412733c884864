// Branches, exits and traps, and how lanes that part come together again: the lanes at the lowest instruction
// run, the others wait for them, unless those spin.
#include <algorithm>
#include <bit>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/collective.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

// Backward branches after which lanes that keep others of their warp waiting are taken to spin.
constexpr std::uint32_t kSpins = 64, kLongLoop = 1u << 17;
// … and after which a warp that polls memory lets other warps run.
constexpr std::uint32_t kPolls = 16;

bool others_ready(const Warp& warp) {
  return std::any_of(warp.others.begin(), warp.others.end(),
                     [](const Fragment& f) { return f.state == Fragment::State::kReady; });
}

void went_back(Warp& warp) {
  ++warp.backward;
  if (warp.polled) {
    warp.polled = false;
    ++warp.polls;
  }
  if (!warp.others.empty()) {
    const bool spins = warp.polls != 0 ? warp.backward > kSpins : warp.backward > kLongLoop;
    if (spins && others_ready(warp)) {
      warp.rotate = true;
      warp.stop = WarpStop::kReschedule;
      warp.limit = 0;
      return;
    }
  }
  if (warp.polls > kPolls) {
    warp.stop = WarpStop::kYield;
    warp.limit = 0;
  }
}

// Whether nothing but branches lies between an instruction and an exit.
bool exits_at_once(const Warp& warp, std::uint32_t pc) {
  for (int steps = 0; steps < 8; ++steps) {
    const Instr& instr = warp.code[pc];
    if (instr.guard != kTruePredicate) return false;
    if (instr.run == &run_exit) return true;
    if (instr.run != &run_branch) return false;
    pc = static_cast<std::uint32_t>(instr.imm);
  }
  return false;
}

void jump(Warp& warp, std::uint32_t target) {
  const std::uint32_t from = warp.pc;
  warp.pc = target;
  if (!warp.others.empty()) {
    set_limit(warp);
    // Lanes that were jumped over are now the lowest.
    for (const Fragment& other : warp.others) {
      if (other.state != Fragment::State::kReady || other.pc < from || other.pc >= target) continue;
      warp.stop = WarpStop::kReschedule;
      warp.limit = 0;
    }
  }
  if (target < from) went_back(warp);
}

}  // namespace

void set_limit(Warp& warp) {
  auto limit = static_cast<std::uint32_t>(warp.function->code.size());
  for (const Fragment& fragment : warp.others) {
    if (fragment.state == Fragment::State::kBlocked || fragment.state == Fragment::State::kWaiting) continue;
    if (fragment.pc >= warp.pc) limit = std::min(limit, fragment.pc);
  }
  warp.limit = limit;
}

bool split_by_guard(Warp& warp, const Instr& instr, LaneMask mask) {
  if (mask == warp.active) return false;
  warp.others.push_back({instr_index(warp, instr), mask, Fragment::State::kReady});
  warp.active &= ~mask;
  warp.stop = WarpStop::kReschedule;
  warp.limit = 0;
  return true;
}

bool gather(Warp& warp, const Instr& instr, LaneMask mask, LaneMask needs, bool all_or_exit) {
  if (split_by_guard(warp, instr, mask)) return false;
  if ((needs & warp.live & ~mask) == 0) return true;
  Fragment waiting{instr_index(warp, instr), mask, Fragment::State::kConverging, needs};
  if (all_or_exit) {
    for (const Fragment& other : warp.others) {
      if (!exits_at_once(warp, other.pc)) waiting.due |= other.lanes;
    }
  }
  warp.others.push_back(waiting);
  warp.active = 0;
  warp.stop = WarpStop::kReschedule;
  warp.limit = 0;
  return false;
}

LaneMask gather_members(Warp& warp, const Instr& instr, LaneMask mask, const std::uint32_t* masks) {
  if (split_by_guard(warp, instr, mask)) return 0;
  const auto first = [](LaneMask lanes) { return static_cast<unsigned>(std::countr_zero(lanes)); };
  const auto invalid = [&](LaneMask lanes, LaneMask needs) {
    warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr), first(lanes),
                      "lanes " + hex(lanes) + " name the members " + hex(needs) + ", which others do not");
    return LaneMask{0};
  };
  LaneMask first_needs = 0;
  for (LaneMask left = mask; left != 0;) {
    const LaneMask needs = masks[first(left)];
    LaneMask alike = 0;
    for (LaneMask rest = left; rest != 0; rest &= rest - 1) {
      if (masks[first(rest)] == needs) alike |= rest & (0u - rest);
    }
    if ((needs & alike) != alike) return invalid(alike, needs);
    if ((needs & warp.live & ~mask) == 0) {
      if (alike != (needs & warp.live)) return invalid(alike, needs);
      if (alike == mask) return alike;
      // Groups with masks of their own go one after the other.
      warp.others.push_back({instr_index(warp, instr), mask & ~alike, Fragment::State::kReady});
      warp.active = alike;
      warp.stop = WarpStop::kReschedule;
      warp.limit = 0;
      return alike;
    }
    if (first_needs == 0) first_needs = needs;
    left &= ~alike;
  }
  gather(warp, instr, mask, first_needs);
  return 0;
}

void run_branch(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto target = static_cast<std::uint32_t>(instr.imm);
  hash_path(warp, (static_cast<std::uint64_t>(warp.pc) << 32) | mask);
  if (mask == warp.active) return jump(warp, target);
  // Part of the lanes branch: the lower of the two places goes on, the other waits.
  const LaneMask stay = warp.active & ~mask;
  if (target < warp.pc) {
    warp.others.push_back({warp.pc, stay, Fragment::State::kReady});
    warp.active = mask;
    jump(warp, target);
  } else {
    warp.others.push_back({target, mask, Fragment::State::kReady});
    warp.active = stay;
    set_limit(warp);
  }
}

void run_branch_list(Warp& warp, const Instr& instr, LaneMask mask) {
  const std::vector<std::uint32_t>& targets = warp.function->branch_lists[instr.aux];
  const std::uint32_t* index = lanes<std::uint32_t>(warp, instr.a);
  const LaneMask stay = warp.active & ~mask;
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (index[lane] >= targets.size()) {
      return warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr), lane,
                               "brx.idx index " + std::to_string(index[lane]) + " outside its list of " +
                                   std::to_string(targets.size()));
    }
    hash_path(warp, (static_cast<std::uint64_t>(warp.pc) << 32) | targets[index[lane]]);
    warp.others.push_back({targets[index[lane]], LaneMask{1} << lane, Fragment::State::kReady});
  }
  warp.active = stay;
  warp.stop = WarpStop::kReschedule;
  warp.limit = 0;
}

void run_exit(Warp& warp, const Instr& instr, LaneMask mask) {
  for (const Fragment& waiting : warp.others) {
    const LaneMask passed = waiting.state == Fragment::State::kConverging ? waiting.due & mask : 0;
    if (passed == 0) continue;
    Block& block = *warp.block;
    const auto lane = static_cast<unsigned>(std::countr_zero(waiting.lanes));
    Finding* finding = block.report(Check::kBarrierDivergence, warp, waiting.pc, lane,
                                    "an aligned barrier is reached by lanes " + hex(waiting.lanes) +
                                        " of a warp, and lanes " + hex(passed) + " pass it by");
    if (finding != nullptr) {
      finding->other =
          block.place(instr_index(warp, instr), warp.index, static_cast<unsigned>(std::countr_zero(passed)));
    }
    block.stop(warp);
    return;
  }
  warp.live &= ~mask;
  warp.active &= ~mask;
  if (warp.active == 0) {
    warp.stop = WarpStop::kReschedule;
    warp.limit = 0;
  }
  warp.block->lanes_exited(warp);
}

void run_trap(Warp& warp, const Instr& instr, LaneMask mask) {
  warp.block->fault(Check::kTrap, warp, instr_index(warp, instr),
                    static_cast<unsigned>(std::countr_zero(mask)), "the kernel stopped itself",
                    static_cast<std::uint64_t>(std::popcount(mask)));
}

void run_nothing(Warp&, const Instr&, LaneMask) {}

void run_sleep(Warp& warp, const Instr&, LaneMask) { warp.polled = true; }

}  // namespace moe4::ptx
