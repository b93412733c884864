#include "gpu/ptx/run/block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/mix.h"
#include "gpu/ptx/run/taint.h"

namespace moe4::ptx {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Block::Block(Run& run, Cluster* cluster, unsigned rank)
    : run_(run), cluster_(cluster), rank_(rank), checks_(run.options->checks) {
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
  const Function& function = *run_.function;
  linear_ = linear;
  id_ = block_of(*run_.launch, linear);
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
    warp.polled = warp.rotate = warp.idle = false;
    warp.timed_out = warp.tried = 0;
    warp.max_registers = 0;
    warp.stop = WarpStop::kNone;
    warp.hash = mix(linear * kMaxWarps + warp.index + 1);
    warp.instructions = warp.lane_instructions = 0;
  }
  for (Barrier& barrier : barriers_) barrier = Barrier{};
  next_warp_ = 0;
  faulted_ = preempted_ = finished_ = false;
  visits_.assign(cluster_ != nullptr ? std::size_t{run_.cluster_blocks} * kMaxWarps : 0, Visit{});
  random_ = run_.options->schedule ? mix(*run_.options->schedule * 0x9e3779b97f4a7c15u + linear) | 1 : 0;
  instructions_ = clock_reads_ = 0;
  progress_ = progress_at_timeout_ = 0;
  timeouts_ = 0;
  progress_at_poll_ = polling_rounds_ = 0;
  async_.start();
  counters_ = Counters{};
  findings_.clear();
  keys_.clear();
  printed_.clear();
  if (checks_) {
    const unsigned granule = std::clamp(std::bit_floor(function.race_granule), 1u, 16u);
    shared_races_.start(run_.shared_end, granule, run_.warps, rank_,
                        cluster_ != nullptr ? cluster_->numbers() : nullptr);
    syncs_.clear();
    syncs_.resize(run_.warps);
    released_.clear();
  }
  if (run_.taint != nullptr) run_.taint->start_block(*this);
}

std::string Block::shared_name(std::uint64_t address) const {
  for (const Placed& placed : function().shared) {
    if (address >= placed.offset && address < placed.offset + placed.bytes) {
      return " ('" + placed.name + "' + " + std::to_string(address - placed.offset) + ")";
    }
  }
  if (address < run_.dynamic_begin) return {};
  return " (dynamic + " + std::to_string(address - run_.dynamic_begin) + ")";
}

Block& Block::peer(unsigned rank) { return cluster_ == nullptr ? *this : cluster_->block(rank); }

bool Block::reaches(Warp& warp, std::uint32_t instr, LaneMask lanes, Block& owner, bool visits) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const std::string whose = "shared memory of block " + to_string(owner.id()) + " of the cluster, ";
  if (owner.finished_) {
    fault(Check::kCluster, warp, instr, lane, whose + "which has exited");
    return false;
  }
  if (!checks_) return true;
  const WarpClocks& clocks = shared_races_.clocks();
  // A relaxed cluster barrier tells nothing of memory, but that all have come.
  if (!clocks.has_met(owner.rank_, warp.index, lane) && cluster_->waited(*this, warp.index) == 0) {
    report(Check::kCluster, warp, instr, lane,
           whose + "which need not have started (no cluster barrier between)");
  }
  if (visits)
    owner.visits_[std::size_t{rank_} * kMaxWarps + warp.index] = {clocks.epoch(warp.index), instr, lane};
  return true;
}

// Each use of this block's shared memory must be known to it before it exits.
void Block::check_visits() {
  const WarpClocks& clocks = shared_races_.clocks();
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    const Visit& visit = visits_[i];
    const auto rank = static_cast<unsigned>(i / kMaxWarps), by = static_cast<unsigned>(i % kMaxWarps);
    if (visit.epoch == 0) continue;
    bool known = false;
    for (unsigned w = 0; w < run_.warps && !known; ++w) {
      const Who visited = Who::make(visit.epoch, false, by, visit.lane);
      for (unsigned lane = 0; lane < (clocks.parted(w) ? kLanes : 1) && !known; ++lane) {
        known = clocks.ordered_in_cluster(rank, visited, w, lane);
      }
    }
    if (known) continue;
    Block& visitor = peer(rank);
    visitor.report(Check::kCluster, visitor.warps_[by], visit.instr, visit.lane,
                   "shared memory of block " + to_string(id_) +
                       " of the cluster, which may have exited by then (no cluster barrier behind)");
  }
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

void Block::print(std::string_view text) {
  printed_ += text.substr(0, kMaxPrinted - std::min(kMaxPrinted, printed_.size()));
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
  result.printed = std::exchange(printed_, {});
  result.finished = !faulted_;
  findings_.clear();
  keys_.clear();
  return result;
}

}  // namespace moe4::ptx
