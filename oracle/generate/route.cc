#include "oracle/generate/route.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "oracle/generate/random.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kWorthThreads = std::int64_t{1} << 15;  // words drawn

enum RouteStream : std::int64_t {
  kTokenRank = 1,  // the ranking of a token
  kCaseRank = 2,   // the ranking of the case
  kTokenDraw = 3,  // what a token does
  kAbsentSlot = 4,
};

// DATA-7: the experts that may be selected, ascending.
std::vector<std::int64_t> eligible_experts(const Case& c) {
  std::vector<std::int64_t> experts = c.route;
  if (experts.empty()) {
    experts.resize(static_cast<std::size_t>(c.experts));
    std::iota(experts.begin(), experts.end(), 0);
  }
  std::erase_if(experts, [&c](std::int64_t e) {
    if (c.routing == Routing::kPoison) return c.route.empty() && e % 2 == 1;
    if (c.routing != Routing::kEmpty) return false;
    return e == 0 || e == c.experts / 2 || e == c.experts - 1;
  });
  return experts;
}

// DATA-8: the experts by the word that key(e) gives, smallest first; only the first `count` are put in order.
std::vector<std::int64_t> ranking(Key key, const std::vector<std::int64_t>& experts, std::size_t count) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> ranked;
  ranked.reserve(experts.size());
  for (const std::int64_t e : experts) ranked.emplace_back(key(e).word(), e);
  count = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count), ranked.end());
  std::vector<std::int64_t> order(count);
  for (std::size_t n = 0; n < count; ++n) order[n] = ranked[n].second;
  return order;
}

// DATA-9, boundary: which run token t is in, if the runs of `slot` start with the (slot mod 3)-th length.
std::int64_t run_of(std::int64_t t, std::int64_t slot) {
  constexpr std::array<std::int64_t, 12> kLengths = {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  std::int64_t run = 0;
  for (std::size_t n = static_cast<std::size_t>(slot % 3); t >= kLengths[n]; n = (n + 1) % kLengths.size()) {
    t -= kLengths[n];
    ++run;
  }
  return run;
}

// DATA-9, duplicate: the rank of slot j of a token.
std::int64_t duplicate_rank(std::int64_t kind, std::int64_t j) {
  if (kind == 0) return 0;
  if (kind == 1) return j == 0 ? 0 : (j + 1) % 2;
  return j / 2;
}

class Router {
 public:
  explicit Router(const Case& c)
      : c_(c),
        root_(Key::from_seed(c.seed)(0)),
        experts_(eligible_experts(c)),
        case_order_(ranking(root_(kCaseRank), experts_,
                            c.routing == Routing::kBoundary ? experts_.size() : std::size_t{1})) {}

  void route(std::int64_t t, std::int64_t* ids) const {
    const std::int64_t top_k = c_.top_k;
    if (c_.routing == Routing::kOne) {
      std::fill(ids, ids + top_k, case_order_[0]);
      return;
    }
    if (c_.routing == Routing::kBoundary) {
      const std::int64_t block = static_cast<std::int64_t>(case_order_.size()) / top_k;
      for (std::int64_t j = 0; j < top_k; ++j) {
        const std::int64_t run = std::min(run_of(t, j), block - 1);
        ids[j] = case_order_[static_cast<std::size_t>(j * block + run)];
      }
      return;
    }
    std::vector<std::int64_t> order =
        ranking(root_(kTokenRank)(t), experts_, static_cast<std::size_t>(top_k) + 1);
    const Key draw = root_(kTokenDraw)(t);
    if (c_.routing == Routing::kHot && draw.bits(0, 3) != 0) {
      std::erase(order, case_order_[0]);
      order.insert(order.begin(), case_order_[0]);
    }
    for (std::int64_t j = 0; j < top_k; ++j) {
      const std::int64_t rank = c_.routing == Routing::kDuplicate ? duplicate_rank(draw.pick(3), j) : j;
      ids[j] = order[static_cast<std::size_t>(rank) % order.size()];
    }
  }

  // DATA-10.
  bool absent(std::int64_t t, std::int64_t j) const {
    const Key key = root_(kAbsentSlot)(t)(j);
    if (c_.policy.ids == Ids::kAbsent && key.bits(0, 3) == 0) return true;
    if (c_.routing != Routing::kMinusOne) return false;
    return key.bits(3, 2) == 0 || root_(kTokenDraw)(t).bits(0, 3) == 0;
  }

 private:
  const Case& c_;
  Key root_;
  std::vector<std::int64_t> experts_;
  std::vector<std::int64_t> case_order_;
};

}  // namespace

std::vector<std::int64_t> selected_experts(const Case& c) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(c.tokens * c.top_k));
  if (ids.empty()) return ids;
  const Router router(c);
#pragma omp parallel for schedule(static) if (c.tokens * c.experts > kWorthThreads)
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    std::int64_t* row = ids.data() + t * c.top_k;
    router.route(t, row);
    for (std::int64_t j = 0; j < c.top_k; ++j) {
      if (router.absent(t, j)) row[j] = -1;
    }
  }
  return ids;
}

std::vector<std::int64_t> local_ids(const Case& c, std::vector<std::int64_t> ids) {
  for (std::int64_t& id : ids) {
    if (id < 0) continue;
    id -= c.first_expert();
    if (id < 0 || id >= c.local_experts()) id = -1;
  }
  return ids;
}

std::vector<std::int64_t> used_experts(const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> used = ids;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (!used.empty() && used.front() < 0) used.erase(used.begin());
  return used;
}

}  // namespace moe4::oracle
