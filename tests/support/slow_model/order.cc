#include "tests/support/slow_model/order.h"

#include <algorithm>

namespace slow_model {
namespace {

std::string pair(const char* word, std::int64_t a, std::int64_t b) {
  return std::string(word) + "(" + std::to_string(a) + "," + std::to_string(b) + ")";
}

std::string chains_text(const SumOrder& order) {
  switch (order.chains) {
    case SumOrder::Chains::kAny:
      return "any";
    case SumOrder::Chains::kSeq:
      return "seq";
    case SumOrder::Chains::kGroups:
      return "groups(" + std::to_string(order.a) + ")";
    case SumOrder::Chains::kLanesShfl:
      return pair("lanes", order.a, order.b) + "+shfl";
    case SumOrder::Chains::kLanesSeq:
      return pair("lanes", order.a, order.b) + "+seq";
    case SumOrder::Chains::kWarpsTree:
      return pair("warps", order.a, order.b) + "+tree";
  }
  return "";
}

// `count` chains, index i of 0..width-1 in the chain that chain_of says.
template <class ChainOf>
std::vector<std::vector<std::int64_t>> chains_by(std::int64_t count, std::int64_t width,
                                                 const ChainOf& chain_of) {
  std::vector<std::vector<std::int64_t>> chains(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < width; ++i) chains[static_cast<std::size_t>(chain_of(i))].push_back(i);
  return chains;
}

std::vector<std::pair<std::size_t, std::size_t>> one_after_the_other(std::size_t chains) {
  std::vector<std::pair<std::size_t, std::size_t>> joins;
  for (std::size_t from = 1; from < chains; ++from) joins.emplace_back(0, from);
  return joins;
}

std::vector<std::pair<std::size_t, std::size_t>> by_halves(std::size_t chains) {
  std::vector<std::pair<std::size_t, std::size_t>> joins;
  for (std::size_t h = chains / 2; h >= 1; h /= 2) {
    for (std::size_t into = 0; into < h; ++into) joins.emplace_back(into, into + h);
  }
  return joins;
}

Accumulators accumulators(const SumOrder& order, std::int64_t width) {
  Accumulators result;
  const std::int64_t a = order.a;
  const std::int64_t b = order.b;
  switch (order.chains) {
    case SumOrder::Chains::kAny:
    case SumOrder::Chains::kSeq:
      result.chains = chains_by(1, width, [](std::int64_t) { return std::int64_t{0}; });
      break;
    case SumOrder::Chains::kGroups:
      result.chains = chains_by((width + a - 1) / a, width, [&](std::int64_t i) { return i / a; });
      result.joins = one_after_the_other(result.chains.size());
      break;
    case SumOrder::Chains::kLanesShfl:
      result.chains = chains_by(a, width, [&](std::int64_t i) { return i / b % a; });
      result.joins = by_halves(result.chains.size());
      break;
    case SumOrder::Chains::kLanesSeq:
      result.chains = chains_by(a, width, [&](std::int64_t i) { return i / b % a; });
      result.joins = one_after_the_other(result.chains.size());
      break;
    case SumOrder::Chains::kWarpsTree:
      result.chains = chains_by(b, width, [&](std::int64_t i) { return i / a % b; });
      result.joins = by_halves(result.chains.size());
      break;
  }
  return result;
}

}  // namespace

std::string text_of(const SumOrder& order) {
  if (order.slices == SumOrder::Slices::kNone) return chains_text(order);
  const char* word = order.slices == SumOrder::Slices::kSplit ? "split(" : "streamk(";
  const std::string slices = word + std::to_string(order.n) + ")";
  return order.chains == SumOrder::Chains::kSeq ? slices : slices + "*" + chains_text(order);
}

std::vector<Accumulators> plan_of(const SumOrder& order, std::int64_t in) {
  if (order.slices == SumOrder::Slices::kNone) return {accumulators(order, in)};
  std::vector<Accumulators> result;
  const std::int64_t groups = in / 32;
  for (std::int64_t k = 0; k < order.n; ++k) {
    const std::int64_t first = k * groups / order.n * 32;
    const std::int64_t end = (k + 1) * groups / order.n * 32;
    if (first == end) continue;
    Accumulators slice = accumulators(order, end - first);
    for (std::vector<std::int64_t>& chain : slice.chains) {
      for (std::int64_t& i : chain) i += first;
    }
    result.push_back(std::move(slice));
  }
  return result;
}

std::vector<std::vector<Steps>> streamk_slices(std::int64_t blocks, std::int64_t tiles, std::int64_t steps) {
  const std::int64_t rest = tiles % blocks;
  std::int64_t shared = rest;
  if (tiles <= blocks) {
    shared = tiles;
  } else if (rest > 0 && 10 * rest <= blocks) {
    shared = rest + blocks;
  }
  const std::int64_t share = (shared * steps + blocks - 1) / blocks;
  std::vector<std::vector<Steps>> result;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t uncut = tiles - shared;
    std::vector<Steps>& slices = result.emplace_back();
    if (tile < uncut) {
      slices.emplace_back(0, steps);
      continue;
    }
    // A step of the flat range opens a slice if it opens the tile or a block's share.
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t flat = (tile - uncut) * steps + step;
      if (step == 0 || flat % share == 0) {
        slices.emplace_back(step, step + 1);
      } else {
        slices.back().second = step + 1;
      }
    }
  }
  return result;
}

}  // namespace slow_model
