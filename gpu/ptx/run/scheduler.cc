// Which warp of a block runs, which of its lanes, and for how long.
#include <algorithm>
#include <bit>
#include <utility>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/mix.h"
#include "gpu/ptx/run/taint.h"

namespace moe4::ptx {
namespace {

// Bits of a mask, without the call that std::popcount is where the host's instruction may not be assumed.
std::uint32_t count_lanes(LaneMask mask) {
  mask -= (mask >> 1) & 0x55555555u;
  mask = (mask & 0x33333333u) + ((mask >> 2) & 0x33333333u);
  return (((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

// Warp instructions after which another warp gets its turn, so that a warp that waits for it goes on.
constexpr std::uint64_t kTurn = 1u << 20;

// Rounds in which all threads that can run only poll, after which they are taken to wait for nothing.
constexpr std::uint32_t kPollingRounds = 1u << 16;

}  // namespace

std::uint64_t Block::next_random() {
  random_ += 0x9e3779b97f4a7c15u;
  return mix(random_);
}

bool Block::runnable(const Warp& warp) const {
  if (warp.active != 0) return true;
  for (const Fragment& fragment : warp.others) {
    if (fragment.state == Fragment::State::kReady) return true;
    if (fragment.state == Fragment::State::kConverging &&
        (fragment.needs & warp.live & ~fragment.lanes) == 0) {
      return true;
    }
  }
  return false;
}

// Where one block reads or writes what others may, the next may be theirs.
void Block::may_preempt(Warp& warp) {
  if (random_ == 0 || !run_.serial || next_random() % 4 != 0) return;
  preempted_ = true;
  warp.stop = WarpStop::kReschedule;
  warp.limit = 0;
}

Block::State Block::resume(std::uint64_t more_instructions, std::uint64_t turn_instructions) {
  const std::uint64_t instruction_budget =
      instructions_ + std::min(more_instructions, ~std::uint64_t{0} - instructions_);
  const std::uint32_t count = run_.warps;
  const std::uint64_t end_of_turn =
      instructions_ + std::min(turn_instructions, ~std::uint64_t{0} - instructions_);
  preempted_ = false;
  while (!faulted_) {
    if (preempted_ || instructions_ >= end_of_turn) return State::kPreempted;
    std::uint32_t candidates = 0, chosen = count;
    for (std::uint32_t w = 0; w < count; ++w) candidates += runnable(warps_[w]) ? 1 : 0;
    if (candidates == 0) {
      // What is under way when the last thread has gone is nobody's to wait for.
      const bool waits = std::any_of(warps_.begin(), warps_.end(), [](const Warp& w) { return w.live != 0; });
      if (waits && cluster_ != nullptr) return State::kWaiting;
      if (waits && unblock()) continue;
      break;
    }
    if (random_ != 0 && next_random() % 8 == 0) async_.land_any();
    if (random_ != 0) {
      std::uint64_t pick = next_random() % candidates;
      for (std::uint32_t w = 0; w < count && chosen == count; ++w) {
        if (runnable(warps_[w]) && pick-- == 0) chosen = w;
      }
    } else {
      for (std::uint32_t i = 0; i < count && chosen == count; ++i) {
        if (runnable(warps_[(next_warp_ + i) % count])) chosen = (next_warp_ + i) % count;
      }
    }
    Warp& warp = warps_[chosen];
    const std::uint64_t left = instruction_budget - std::min(instruction_budget, instructions_);
    if (left == 0) {
      choose(warp, false);
      const std::uint32_t pc =
          std::min<std::uint32_t>(warp.pc, static_cast<std::uint32_t>(function().code.size() - 1));
      fault(Check::kBudget, warp, pc, warp.active ? static_cast<unsigned>(std::countr_zero(warp.active)) : 0,
            "the launch used up its instruction budget");
      break;
    }
    const std::uint64_t turn = random_ != 0 ? 1 + next_random() % 256 : kTurn;
    const bool yielded = run_warp(warp, std::min({left, turn, end_of_turn - instructions_}));
    next_warp_ = yielded ? chosen + 1 : (runnable(warp) && random_ == 0 ? chosen + 1 : chosen);
    if (yielded) {
      warp.idle = true;
    } else if (!preempted_ && instructions_ < end_of_turn) {
      for (Warp& other : warps_) other.idle = false;
    }
    if (yielded && std::all_of(warps_.begin(), warps_.end(),
                               [this](const Warp& other) { return other.idle || !runnable(other); })) {
      // All that can run only poll.
      for (Warp& other : warps_) other.idle = false;
      if (cluster_ != nullptr) return State::kYielded;
      if (async_.land_one()) continue;
      if (run_.serial) return State::kYielded;
      // Nobody else can change what they look at, and none of them stores anything between two looks.
      polling_rounds_ = progress() == progress_at_poll_ ? polling_rounds_ + 1 : 0;
      progress_at_poll_ = progress();
      if (polling_rounds_ > kPollingRounds) break;
    }
  }
  if (faulted_) return State::kFaulted;
  for (const Warp& warp : warps_) {
    if (warp.live == 0) continue;
    report_deadlock();
    return State::kFaulted;
  }
  async_.finish();
  if (checks_) check_visits();
  finished_ = true;
  return State::kFinished;
}

bool Block::unblock() { return async_.land_one() || expire_waits(); }

bool Block::expire_waits() {
  // A wait for an mbarrier may end without success at any time: a program that does not just try again must
  // have its way. One that does is deadlocked.
  constexpr unsigned kTimeouts = 16;
  timeouts_ = progress_ == progress_at_timeout_ ? timeouts_ + 1 : 0;
  progress_at_timeout_ = progress_;
  if (timeouts_ >= kTimeouts) return false;
  bool any = false;
  for (Warp& warp : warps_) {
    for (Fragment& fragment : warp.others) {
      if (fragment.state != Fragment::State::kWaiting) continue;
      fragment.state = Fragment::State::kReady;
      warp.timed_out |= fragment.lanes;
      any = true;
    }
  }
  return any;
}

// True when the warp spins on memory and would rather wait.
bool Block::run_warp(Warp& warp, std::uint64_t fuel) {
  bool rotate = false;
  while (choose(warp, rotate)) {
    rotate = false;
    warp.stop = WarpStop::kNone;
    execute(warp, fuel);
    if (warp.stop == WarpStop::kEnd || faulted_) return false;
    if (fuel == 0 || preempted_) return false;
    if (warp.stop == WarpStop::kYield) {
      if (!warp.others.empty()) {
        rotate = true;  // other lanes of the warp may be what it waits for
        for (const Fragment& fragment : warp.others) {
          if (fragment.state == Fragment::State::kReady) warp.polls = 0;
        }
        if (warp.polls == 0) continue;
      }
      warp.polls = 0;
      return true;
    }
    rotate = std::exchange(warp.rotate, false);
  }
  if (!faulted_) report_stuck(warp);
  return false;
}

void Block::execute(Warp& warp, std::uint64_t& fuel) {
  if (run_.taint != nullptr) return run_.taint->execute(*this, warp, fuel, &instructions_);
  if (checks_ && function().held_registers != 0) return execute_plain<true>(warp, fuel);
  execute_plain<false>(warp, fuel);
}

// kHeld: registers of wgmma are watched.
template <bool kHeld>
void Block::execute_plain(Warp& warp, std::uint64_t& fuel) {
  const Instr* code = warp.code;
  std::uint64_t left = fuel, lanes_run = 0;
  while (warp.pc < warp.limit && left != 0) {
    const Instr& instr = code[warp.pc++];
    --left;
    const LaneMask mask = warp.active & (warp.predicates[instr.guard] ^ instr.guard_flip);
    if constexpr (kHeld) {
      if (mask != 0 && warp.function->touches_held[warp.pc - 1]) check_held_registers(warp, instr);
    }
    if (mask == kAllLanes) {
      lanes_run += kLanes;
      instr.run(warp, instr, mask);
    } else if (mask != 0) {
      lanes_run += count_lanes(mask);
      instr.run(warp, instr, mask);
    }
  }
  instructions_ += fuel - left;
  warp.instructions += fuel - left;
  warp.lane_instructions += lanes_run;
  fuel = left;
}

// Decides which lanes of the warp run next: those at the lowest instruction, or (rotate) the next ones above
// the lanes that ran last. False: none can.
bool Block::choose(Warp& warp, bool rotate) {
  std::vector<Fragment>& all = warp.others;
  const std::uint32_t last_pc = warp.pc;
  if (warp.active != 0) all.push_back({warp.pc, warp.active, Fragment::State::kReady});
  warp.active = 0;
  // Lanes at one place become one fragment.
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size();) {
      const bool merge =
          all[i].pc == all[k].pc && all[i].state != Fragment::State::kBlocked &&
          all[k].state != Fragment::State::kBlocked &&
          !(all[i].state == Fragment::State::kWaiting && all[k].state == Fragment::State::kWaiting);
      if (!merge) {
        ++k;
        continue;
      }
      all[i].lanes |= all[k].lanes;
      all[i].state = Fragment::State::kReady;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (all[i].state == Fragment::State::kConverging && (all[i].needs & warp.live & ~all[i].lanes) == 0) {
      all[i].state = Fragment::State::kReady;
    }
  }
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].state != Fragment::State::kReady) continue;
    if (best == all.size()) {
      best = i;
      continue;
    }
    const auto rank = [&](const Fragment& f) { return std::pair(rotate && f.pc <= last_pc, f.pc); };
    if (rank(all[i]) < rank(all[best])) best = i;
  }
  if (best == all.size()) return false;
  warp.pc = all[best].pc;
  warp.active = all[best].lanes;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(best));
  warp.backward = 0;
  set_limit(warp);
  return true;
}

}  // namespace moe4::ptx
