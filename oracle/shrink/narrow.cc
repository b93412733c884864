#include "oracle/shrink/narrow.h"

#include <algorithm>

namespace moe4::oracle {
namespace {

using Indices = std::vector<std::int64_t>;

// The chunk-th of `chunks` nearly equal parts.
std::pair<std::size_t, std::size_t> part(std::size_t size, std::size_t chunk, std::size_t chunks) {
  return {size * chunk / chunks, size * (chunk + 1) / chunks};
}

}  // namespace

std::vector<std::int64_t> narrow(Indices kept, const std::function<bool(const Indices&)>& fails) {
  std::size_t chunks = 2;
  while (kept.size() > 1) {
    chunks = std::min(chunks, kept.size());
    bool smaller = false;
    for (std::size_t c = 0; c < chunks && !smaller; ++c) {
      const auto [first, last] = part(kept.size(), c, chunks);
      Indices one(kept.begin() + static_cast<std::ptrdiff_t>(first),
                  kept.begin() + static_cast<std::ptrdiff_t>(last));
      if (fails(one)) {
        kept = std::move(one);
        chunks = 2;
        smaller = true;
      }
    }
    for (std::size_t c = 0; c < chunks && !smaller && chunks > 2; ++c) {
      const auto [first, last] = part(kept.size(), c, chunks);
      Indices others = kept;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(first),
                   others.begin() + static_cast<std::ptrdiff_t>(last));
      if (fails(others)) {
        kept = std::move(others);
        chunks = std::max<std::size_t>(2, chunks - 1);
        smaller = true;
      }
    }
    if (smaller) continue;
    if (chunks == kept.size()) break;
    chunks *= 2;
  }
  return kept;
}

}  // namespace moe4::oracle
