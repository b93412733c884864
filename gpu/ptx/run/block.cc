#include "gpu/ptx/run/block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/taint.h"

namespace moe4::ptx {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Bits of a mask, without the call that std::popcount is where the host's instruction may not be assumed.
std::uint32_t count_lanes(LaneMask mask) {
  mask -= (mask >> 1) & 0x55555555u;
  mask = (mask & 0x33333333u) + ((mask >> 2) & 0x33333333u);
  return (((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

// Warp instructions after which another warp gets its turn, so that a warp that waits for it goes on.
constexpr std::uint64_t kTurn = 1u << 20;

}  // namespace

Block::Block(Run& run) : run_(run), checks_(run.options->checks) {
  const Function& function = *run.function;
  const std::size_t file = aligned(function.register_bytes) + 64;
  register_storage_.resize(file * run.warps + 64);
  predicate_storage_.resize(std::size_t{function.predicates} * run.warps);
  shared_.resize(run.shared_end);
  local_stride_ = static_cast<std::uint32_t>((function.local_bytes + 15) / 16 * 16);
  local_.resize(std::size_t{local_stride_} * run.warps * kLanes);
  warps_.resize(run.warps);
  auto* begin = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(register_storage_.data()) + 63) / 64 * 64);
  for (std::uint32_t w = 0; w < run.warps; ++w) {
    Warp& warp = warps_[w];
    warp.base[0] = begin + file * w;
    warp.base[1] = const_cast<std::byte*>(function.constants.data());
    warp.predicates = predicate_storage_.data() + std::size_t{function.predicates} * w;
    warp.code = function.code.data();
    warp.function = &function;
    warp.block = this;
    warp.index = w;
  }
}

void Block::start(std::uint64_t linear) {
  const Launch& launch = *run_.launch;
  const Function& function = *run_.function;
  linear_ = linear;
  id_.x = static_cast<std::uint32_t>(linear % launch.grid.x);
  id_.y = static_cast<std::uint32_t>(linear / launch.grid.x % launch.grid.y);
  id_.z = static_cast<std::uint32_t>(linear / launch.grid.x / launch.grid.y);
  const int poison = std::to_integer<int>(run_.options->poison);
  std::fill(shared_.begin(), shared_.end(), run_.options->poison);
  std::fill(local_.begin(), local_.end(), run_.options->poison);
  for (Warp& warp : warps_) {
    for (const Span& span : function.poisoned_registers) {
      std::memset(warp.base[0] + span.offset, poison, span.bytes);
    }
    std::memset(warp.predicates, poison, std::size_t{function.predicates} * sizeof(LaneMask));
    warp.predicates[kTruePredicate] = kAllLanes;
    warp.predicates[kFalsePredicate] = 0;
    const std::uint32_t first = warp.index * kLanes;
    const std::uint32_t count = std::min(kLanes, run_.threads - first);
    warp.live = count == kLanes ? kAllLanes : (LaneMask{1} << count) - 1;
    warp.active = 0;
    warp.others.assign(1, Fragment{0, warp.live, Fragment::State::kReady});
    warp.carry = 0;
    warp.backward = warp.polls = 0;
    warp.polled = warp.rotate = false;
    warp.stop = WarpStop::kNone;
    warp.hash = mix(linear * kMaxWarps + warp.index + 1);
    warp.instructions = warp.lane_instructions = 0;
  }
  for (Barrier& barrier : barriers_) barrier = Barrier{};
  next_warp_ = 0;
  faulted_ = false;
  random_ = run_.options->schedule ? mix(*run_.options->schedule * 0x9e3779b97f4a7c15u + linear) | 1 : 0;
  instructions_ = clock_reads_ = 0;
  counters_ = Counters{};
  findings_.clear();
  keys_.clear();
  if (checks_) {
    const unsigned granule = std::clamp(std::bit_floor(function.race_granule), 1u, 16u);
    shared_races_.start(run_.shared_end, granule, run_.warps);
    syncs_.assign(run_.warps, WarpSync{});
    released_.clear();
  }
  if (run_.taint != nullptr) run_.taint->start_block(*this);
}

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

Block::State Block::resume(std::uint64_t more_instructions) {
  const std::uint64_t instruction_budget =
      instructions_ + std::min(more_instructions, ~std::uint64_t{0} - instructions_);
  const std::uint32_t count = run_.warps;
  std::uint32_t yielded_in_turn = 0;
  while (!faulted_) {
    std::uint32_t candidates = 0, chosen = count;
    for (std::uint32_t w = 0; w < count; ++w) candidates += runnable(warps_[w]) ? 1 : 0;
    if (candidates == 0) break;
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
    const bool yielded = run_warp(warp, std::min(left, turn));
    next_warp_ = yielded ? chosen + 1 : (runnable(warp) && random_ == 0 ? chosen + 1 : chosen);
    if (!yielded) {
      yielded_in_turn = 0;
    } else if (++yielded_in_turn >= candidates && run_.serial) {
      return State::kYielded;
    }
  }
  if (faulted_) return State::kFaulted;
  for (const Warp& warp : warps_) {
    if (warp.live == 0) continue;
    report_deadlock();
    return State::kFaulted;
  }
  return State::kFinished;
}

// True when the warp spins on memory and would rather wait.
bool Block::run_warp(Warp& warp, std::uint64_t fuel) {
  bool rotate = false;
  while (choose(warp, rotate)) {
    rotate = false;
    warp.stop = WarpStop::kNone;
    execute(warp, fuel);
    if (warp.stop == WarpStop::kEnd || faulted_) return false;
    if (fuel == 0) return false;
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
  const Instr* code = warp.code;
  std::uint64_t left = fuel, lanes_run = 0;
  while (warp.pc < warp.limit && left != 0) {
    const Instr& instr = code[warp.pc++];
    --left;
    const LaneMask mask = warp.active & (warp.predicates[instr.guard] ^ instr.guard_flip);
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
      const bool merge = all[i].pc == all[k].pc && all[i].state != Fragment::State::kBlocked &&
                         all[k].state != Fragment::State::kBlocked;
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

Place Block::place(std::uint32_t instr, std::uint32_t warp, unsigned lane) const {
  const Launch& launch = *run_.launch;
  Place place = place_of(*run_.program, *run_.function, instr);
  place.block = id_;
  const std::uint32_t thread = warp * kLanes + lane;
  place.thread = {thread % launch.block.x, thread / launch.block.x % launch.block.y,
                  thread / launch.block.x / launch.block.y};
  return place;
}

Finding* Block::report(Check check, const Warp& warp, std::uint32_t instr, unsigned lane, std::string message,
                       std::uint64_t count) {
  const std::uint64_t key = (static_cast<std::uint64_t>(check) << 32) | run_.function->code[instr].source;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] != key) continue;
    findings_[i].count += count;
    return nullptr;
  }
  if (findings_.size() >= run_.options->max_findings) return nullptr;
  Finding finding;
  finding.check = check;
  finding.kernel = run_.function->info.name;
  finding.message = std::move(message);
  finding.place = place(instr, warp.index, lane);
  finding.count = count;
  findings_.push_back(std::move(finding));
  keys_.push_back(key);
  return &findings_.back();
}

void Block::fault(Check check, Warp& warp, std::uint32_t instr, unsigned lane, std::string message,
                  std::uint64_t count) {
  report(check, warp, instr, lane, std::move(message), count);
  stop(warp);
}

void Block::stop(Warp& warp) {
  faulted_ = true;
  warp.stop = WarpStop::kEnd;
  warp.limit = 0;
}

Block::Result Block::take_result() {
  Result result;
  result.findings = std::move(findings_);
  result.keys = std::move(keys_);
  result.counters = counters_;
  for (const Warp& warp : warps_) {
    result.counters.warp_instructions += warp.instructions;
    result.counters.thread_instructions += warp.lane_instructions;
    result.hash += mix(warp.hash);
  }
  result.instructions = instructions_;
  result.finished = !faulted_;
  findings_.clear();
  keys_.clear();
  return result;
}

}  // namespace moe4::ptx
