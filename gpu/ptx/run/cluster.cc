#include "gpu/ptx/run/cluster.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/mix.h"

namespace moe4::ptx {
namespace {

// Rounds in which all threads that can run only poll, after which they are taken to wait for nothing.
constexpr std::uint32_t kPollingRounds = 1u << 16;

}  // namespace

Cluster::Cluster(Run& run) : run_(run), alone_(run.cluster_blocks == 1 && !run.function->meets_cluster) {
  for (unsigned rank = 0; rank < run.cluster_blocks; ++rank) {
    blocks_.push_back(std::make_unique<Block>(run, alone_ ? nullptr : this, rank));
  }
}

void Cluster::start(std::uint64_t number) {
  const Dim3 grid = run_.launch->grid, size = run_.cluster;
  const std::uint64_t across = grid.x / size.x, down = grid.y / size.y;
  const std::uint64_t x = number % across * size.x, y = number / across % down * size.y,
                      z = number / across / down * size.z;
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) {
    const std::uint64_t bx = x + rank % size.x, by = y + rank / size.x % size.y,
                        bz = z + rank / size.x / size.y;
    numbers_[rank] = (bz * grid.y + by) * grid.x + bx;
  }
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) blocks_[rank]->start(numbers_[rank]);
  if (alone_) return;
  members_.assign(std::size_t{run_.warps} * blocks_.size(), Member{});
  arriving_.assign(blocks_.size(), BlockClock{});
  ended_ = arriving_;
  phase_ = 0;
  polling_rounds_ = gave_up_ = 0;
  polls_ = false;
  random_ = run_.options->schedule ? mix(*run_.options->schedule * 0x9e3779b97f4a7c15u + number) | 1 : 0;
}

std::optional<unsigned> Cluster::rank_of(std::uint64_t linear) const {
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) {
    if (numbers_[rank] == linear) return rank;
  }
  return std::nullopt;
}

std::uint64_t Cluster::instructions() const {
  std::uint64_t sum = 0;
  for (const auto& block : blocks_) sum += block->instructions();
  return sum;
}

std::vector<Block::Result> Cluster::take_results() {
  std::vector<Block::Result> results;
  for (const auto& block : blocks_) results.push_back(block->take_result());
  return results;
}

std::uint64_t Cluster::progress() const {
  std::uint64_t sum = phase_;
  for (const auto& block : blocks_) sum += block->progress() + (block->finished() ? 1 : 0);
  return sum;
}

Block::State Cluster::resume(std::uint64_t more_instructions, std::uint64_t turn) {
  if (alone_) return blocks_[0]->resume(more_instructions, turn);
  const std::uint64_t used = instructions();
  const std::uint64_t budget = used + std::min(more_instructions, ~std::uint64_t{0} - used);
  const auto count = static_cast<unsigned>(blocks_.size());
  while (true) {
    const std::uint64_t before = progress();
    bool ended = true;
    const unsigned first =
        random_ != 0 ? static_cast<unsigned>(mix(random_ += 0x9e3779b97f4a7c15u) % count) : 0;
    for (unsigned i = 0; i < count; ++i) {
      Block& block = *blocks_[(first + i) % count];
      if (block.finished()) continue;
      switch (block.resume(budget - std::min(budget, instructions()), length())) {
        case Block::State::kFaulted:
          return Block::State::kFaulted;
        case Block::State::kYielded:
          polls_ = true;
          gave_up_ |= 1u << block.rank();
          ended = false;
          break;
        case Block::State::kWaiting:
          gave_up_ |= 1u << block.rank();
          ended = false;
          break;
        case Block::State::kPreempted:
          ended = false;
          break;
        case Block::State::kFinished:
          break;
      }
    }
    if (ended) return Block::State::kFinished;
    bool all = true;
    for (const auto& block : blocks_)
      all = all && (block->finished() || ((gave_up_ >> block->rank()) & 1) != 0);
    const bool moved = progress() != before, polls = polls_;
    if (moved || all) {
      gave_up_ = 0;
      polls_ = false;
    }
    if (moved) polling_rounds_ = 0;
    if (!moved && all && !land()) {
      bool goes_on = false;
      if (polls) {
        if (run_.serial) return Block::State::kYielded;
        goes_on = ++polling_rounds_ <= kPollingRounds;
      } else {
        for (const auto& block : blocks_) goes_on = (!block->finished() && block->expire_waits()) || goes_on;
      }
      if (!goes_on) {
        report_deadlock();
        return Block::State::kFaulted;
      }
    }
    if (instructions() - used >= turn) return Block::State::kPreempted;
  }
}

// Turns of the blocks: under a seed they are cut short, so that blocks meet in the middle of things.
std::uint64_t Cluster::length() {
  if (random_ == 0) return ~std::uint64_t{0};
  return 1 + mix(random_ += 0x9e3779b97f4a7c15u) % 512;
}

void Cluster::deadlocked() {
  if (alone_) return blocks_[0]->deadlocked();
  report_deadlock();
}

// One asynchronous operation takes effect: one that somebody waits for, if there is one.
bool Cluster::land() {
  for (const bool awaited : {true, false}) {
    for (const auto& block : blocks_) {
      if (!block->finished() && block->async().land_one(awaited)) return true;
    }
  }
  return false;
}

void Cluster::arrive(Block& block, Warp& warp, std::uint32_t instr, LaneMask lanes, bool releases) {
  Member& me = member(block, warp);
  if (const LaneMask twice = lanes & (me.arrived | me.due)) {
    return block.fault(Check::kCluster, warp, instr, static_cast<unsigned>(std::countr_zero(twice)),
                       "a second barrier.cluster.arrive of a thread without barrier.cluster.wait between");
  }
  block.made_progress();
  me.arrived |= lanes;
  if (block.checks()) {
    if (const auto clock = block.arrival_clock(warp, lanes, releases)) join(arriving_[block.rank()], *clock);
    if (releases) block.shared_races().clocks().advance(warp.index);
  }
  complete_if_all_came();
}

void Cluster::complete_if_all_came() {
  for (const auto& block : blocks_) {
    if (block->finished()) continue;
    for (const Warp& warp : block->warps()) {
      if ((warp.live & ~member(*block, warp).arrived) != 0) return;
    }
  }
  bool any = false;
  for (Member& each : members_) {
    any = any || each.arrived != 0;
    each.due |= std::exchange(each.arrived, 0);
  }
  if (!any) return;
  ++phase_;
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) join(ended_[rank], arriving_[rank]);
  for (const auto& block : blocks_) {
    for (Warp& warp : block->warps()) {
      LaneMask passing = 0;
      for (Fragment& fragment : warp.others) {
        if (fragment.state != Fragment::State::kBlocked || fragment.barrier != kClusterBarrier) continue;
        fragment.state = Fragment::State::kReady;
        passing |= fragment.lanes;
      }
      if (passing == 0) continue;
      member(*block, warp).due &= ~passing;
      take_in(*block, warp, passing);
    }
  }
}

void Cluster::take_in(Block& block, Warp& warp, LaneMask lanes) {
  member(block, warp).waited = phase_;
  if (!block.checks()) return;
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) {
    block.shared_races().clocks().acquire(warp, lanes, told(ended_[rank], numbers_[rank], block.linear()));
  }
}

void Cluster::wait(Block& block, Warp& warp, std::uint32_t instr, LaneMask lanes) {
  Member& me = member(block, warp);
  if (const LaneMask idle = lanes & ~(me.arrived | me.due)) {
    return block.fault(Check::kCluster, warp, instr, static_cast<unsigned>(std::countr_zero(idle)),
                       "barrier.cluster.wait of a thread that has not arrived");
  }
  const LaneMask done = lanes & me.due;
  if (done != 0) {
    me.due &= ~done;
    take_in(block, warp, done);
  }
  const LaneMask blocked = lanes & ~done;
  if (blocked == 0) return;
  warp.others.push_back({warp.pc, blocked, Fragment::State::kBlocked, 0, kClusterBarrier, 0});
  warp.active &= ~blocked;
  warp.stop = WarpStop::kReschedule;
  warp.limit = 0;
}

void Cluster::lanes_exited() { complete_if_all_came(); }

std::uint64_t Cluster::next_phase(const Block& block, const Warp& warp, unsigned lane) const {
  const Member& me = members_[std::size_t{block.rank()} * run_.warps + warp.index];
  return phase_ + ((me.arrived >> lane) & 1 ? 2 : 1);
}

std::uint64_t Cluster::waited(const Block& block, unsigned warp) const {
  return members_[std::size_t{block.rank()} * run_.warps + warp].waited;
}

void Cluster::report_deadlock() {
  std::string picture;
  Block* first = nullptr;
  Block::Stuck place;
  const bool awaited =
      std::any_of(members_.begin(), members_.end(), [](const Member& each) { return each.arrived != 0; });
  for (const auto& block : blocks_) {
    const std::string who = "block " + to_string(block->id());
    if (block->finished()) {
      picture += who + " has ended; ";
      continue;
    }
    const Block::Stuck stuck = block->describe_stuck();
    picture += who + ": " + stuck.picture;
    for (const Warp& warp : block->warps()) {
      const Member& each = member(*block, warp);
      const LaneMask lacks = warp.live & ~each.arrived;
      if (lacks != 0 && awaited) {
        picture += ", warp " + std::to_string(warp.index) + " has not arrived at the cluster barrier";
      }
    }
    picture += "; ";
    if (first != nullptr || stuck.warp == nullptr) continue;
    first = block.get();
    place = stuck;
  }
  picture.resize(picture.size() - 2);
  if (first == nullptr) {
    first = blocks_[0].get();
    place.warp = &first->warps()[0];
  }
  first->report(Check::kBarrierDeadlock, *place.warp, place.instr, place.lane,
                "no thread of the cluster can go on; " + picture);
  first->stop(const_cast<Warp&>(*place.warp));
}

}  // namespace moe4::ptx
