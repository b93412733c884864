#include "gpu/ptx/run/block_clock.h"

namespace moe4::ptx {
namespace {

void merge(OtherBlocks::Block& to, const OtherBlocks::Block& from) {
  join(to.warps, from.warps);
  join(to.proxied, from.proxied);
  to.lanes.join(from.lanes);
}

}  // namespace

void LaneEpochs::raise(unsigned warp, unsigned lane, std::uint32_t epoch) {
  const std::uint32_t key = warp * 32 + lane;
  const auto at = std::lower_bound(list_.begin(), list_.end(), key,
                                   [](const Entry& entry, std::uint32_t k) { return entry.lane < k; });
  if (at == list_.end() || at->lane != key) {
    list_.insert(at, {key, epoch, {}});
  } else {
    at->epoch = std::max(at->epoch, epoch);
  }
}

void LaneEpochs::join(const LaneEpochs& from) {
  if (list_.empty()) {
    list_ = from.list_;
    return;
  }
  std::vector<Entry> both;
  both.reserve(list_.size() + from.list_.size());
  auto a = list_.begin();
  auto b = from.list_.begin();
  while (a != list_.end() || b != from.list_.end()) {
    if (b == from.list_.end() || (a != list_.end() && a->lane < b->lane)) {
      both.push_back(*a++);
    } else if (a == list_.end() || b->lane < a->lane) {
      both.push_back(*b++);
    } else {
      both.push_back({a->lane,
                      std::max(a->epoch, b->epoch),
                      {std::max(a->proxied[0], b->proxied[0]), std::max(a->proxied[1], b->proxied[1])}});
      ++a, ++b;
    }
  }
  list_ = std::move(both);
}

bool LaneEpochs::knows(Who access) const {
  bool itself = false, another = false;
  for (const Entry& entry : list_) {
    if (entry.lane / 32 != access.warp() || entry.epoch < access.epoch()) continue;
    (entry.lane % 32 == access.lane() ? itself : another) = true;
  }
  return itself && (another || !access.several());
}

void LaneEpochs::proxy_fence(FencedSpace space) {
  for (Entry& entry : list_) entry.proxied[static_cast<std::size_t>(space)] = entry.epoch;
}

void LaneEpochs::raise_proxied(FencedSpace space, unsigned warp, unsigned lane, std::uint32_t epoch) {
  for (Entry& entry : list_) {
    std::uint32_t& proxied = entry.proxied[static_cast<std::size_t>(space)];
    if (entry.lane == warp * 32 + lane) proxied = std::max(proxied, epoch);
  }
}

bool LaneEpochs::proxied(FencedSpace space, Who access) const {
  return std::any_of(list_.begin(), list_.end(), [&](const Entry& entry) {
    return entry.lane == access.warp() * 32 + access.lane() &&
           entry.proxied[static_cast<std::size_t>(space)] >= access.epoch();
  });
}

const OtherBlocks::Block* OtherBlocks::find(std::uint64_t block) const {
  if (blocks_ == nullptr) return nullptr;
  const auto found = blocks_->find(block);
  return found == blocks_->end() ? nullptr : &found->second;
}

BlockClock told(const BlockClock& from, std::uint64_t from_block, std::uint64_t to_block) {
  if (from_block == to_block) return from;
  BlockClock to;
  to.blocks = from.blocks;
  if (const OtherBlocks::Block* back = from.blocks.find(to_block)) {
    to.warps = back->warps;
    to.lanes = back->lanes;
  }
  const auto global = static_cast<std::size_t>(FencedSpace::kGlobal);
  to.blocks.join(from_block, {from.warps, from.proxied[global].warps, from.lanes});
  return to;
}

bool OtherBlocks::knows(std::uint64_t block, Who access) const {
  if (blocks_ == nullptr) return false;
  const auto found = blocks_->find(block);
  if (found == blocks_->end()) return false;
  return found->second.warps[access.warp()] >= access.epoch() || found->second.lanes.knows(access);
}

bool OtherBlocks::proxied(std::uint64_t block, Who access) const {
  if (blocks_ == nullptr) return false;
  const auto found = blocks_->find(block);
  if (found == blocks_->end()) return false;
  return found->second.proxied[access.warp()] >= access.epoch() ||
         found->second.lanes.proxied(FencedSpace::kGlobal, access);
}

void OtherBlocks::proxy_fence() {
  if (blocks_ == nullptr) return;
  auto fenced = std::make_shared<std::map<std::uint64_t, Block>>(*blocks_);
  for (auto& [number, block] : *fenced) {
    block.proxied = block.warps;
    block.lanes.proxy_fence(FencedSpace::kGlobal);
  }
  blocks_ = std::move(fenced);
}

void OtherBlocks::join(const OtherBlocks& from) {
  if (from.blocks_ == nullptr || from.blocks_ == blocks_) return;
  if (blocks_ == nullptr) {
    blocks_ = from.blocks_;
    return;
  }
  auto both = std::make_shared<std::map<std::uint64_t, Block>>(*blocks_);
  for (const auto& [number, theirs] : *from.blocks_) merge((*both)[number], theirs);
  blocks_ = std::move(both);
}

void OtherBlocks::join(std::uint64_t block, const Block& known) {
  auto both = blocks_ == nullptr ? std::make_shared<std::map<std::uint64_t, Block>>()
                                 : std::make_shared<std::map<std::uint64_t, Block>>(*blocks_);
  merge((*both)[block], known);
  blocks_ = std::move(both);
}

}  // namespace moe4::ptx
