#include "gpu/ptx/run/turns.h"

#include <algorithm>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/collector.h"
#include "gpu/ptx/run/mix.h"

namespace moe4::ptx {
namespace {

class Turns {
 public:
  Turns(Run& run, const Options& options)
      : run_(run),
        budget_(budget_of(options)),
        order_(clusters_of(run), options.schedule),
        count_(clusters_of(run)),
        random_(options.schedule ? mix(*options.schedule + 0x51ed27u) | 1 : 0),
        collector_(run, options) {}

  LaunchReport run() {
    while (next_ < count_ || !started_.empty()) {
      choose();
      Cluster& cluster = **turn_;
      const std::uint64_t before = cluster.instructions(), progress = cluster.progress();
      const std::uint64_t used = collector_.instructions() + running_;
      Block::State state = cluster.resume(budget_ - std::min(budget_, used), length());
      running_ += cluster.instructions() - before;
      if (cluster.progress() != progress || state == Block::State::kFinished) waits_.clear();
      if (state == Block::State::kYielded) ++waits_[&cluster];
      if (next_ == count_ && waits_.size() == started_.size() && waits_[&cluster] > kRounds) {
        cluster.deadlocked();
        state = Block::State::kFaulted;
      }
      if (state == Block::State::kYielded || state == Block::State::kPreempted) {
        ++turn_;
        continue;
      }
      running_ -= cluster.instructions();
      collect(cluster);
      idle_.push_back(std::move(*turn_));
      started_.erase(turn_);
      if (state == Block::State::kFaulted) {
        // The others end with it; what they found so far still counts.
        for (const auto& other : started_) collect(*other);
        collector_.report().completed = false;
        break;
      }
      // A finished block may be what the others waited for.
      turn_ = started_.begin();
    }
    return std::move(collector_.report());
  }

 private:
  // Rounds in which no block does anything but poll, after which they are taken to wait for nothing.
  static constexpr std::uint64_t kRounds = 1u << 10;
  // Blocks that a seed readily lets run side by side; more of them start slowly, or when all wait.
  static constexpr std::size_t kTogether = 64;

  void collect(Cluster& cluster) {
    for (Block::Result& result : cluster.take_results()) collector_.add(std::move(result));
  }
  std::uint64_t draw(std::uint64_t below) {
    random_ += 0x9e3779b97f4a7c15u;
    return mix(random_) % below;
  }
  std::uint64_t length() {
    if (random_ == 0) return ~std::uint64_t{0};
    constexpr std::uint64_t kLengths[] = {16, 256, 4096};
    return 1 + draw(kLengths[draw(3)]);
  }
  void start() {
    if (idle_.empty()) idle_.push_back(std::make_unique<Cluster>(run_));
    idle_.back()->start(order_(next_++));
    turn_ = started_.insert(started_.end(), std::move(idle_.back()));
    idle_.pop_back();
  }
  void choose() {
    if (random_ == 0) {
      if (turn_ != started_.end()) return;
      if (next_ < count_) return start();
      turn_ = started_.begin();
      return;
    }
    const bool all_wait = waits_.size() == started_.size();
    if (next_ < count_ &&
        (started_.empty() || all_wait || draw(started_.size() < kTogether ? 4 : 256) == 0)) {
      return start();
    }
    turn_ = std::next(started_.begin(), static_cast<std::ptrdiff_t>(draw(started_.size())));
  }

  Run& run_;
  const std::uint64_t budget_;
  const ClusterOrder order_;
  const std::uint64_t count_;
  std::uint64_t random_;
  Collector collector_;
  std::list<std::unique_ptr<Cluster>> started_;
  std::vector<std::unique_ptr<Cluster>> idle_;
  std::list<std::unique_ptr<Cluster>>::iterator turn_ = started_.end();
  std::uint64_t next_ = 0;
  std::uint64_t running_ = 0;  // instructions of the blocks that have started
  // Turns that each block gave up since any of them did something that others may wait for.
  std::unordered_map<const Cluster*, std::uint64_t> waits_;
};

}  // namespace

LaunchReport run_communicating(Run& run, const Options& options) {
  const FloatEnvironment environment;
  GlobalSync sync;
  run.sync = options.checks ? &sync : nullptr;
  LaunchReport report = Turns(run, options).run();
  run.sync = nullptr;
  return report;
}

}  // namespace moe4::ptx
