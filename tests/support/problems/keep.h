// Parts of row-major tensors: how drawn problems are made smaller.
#pragma once

#include <cstdint>
#include <vector>

namespace problems {

// Of a [outer, middle, inner] array, the given middle indices, in the given order. An empty array, such as a
// tensor of the other weight format, stays empty.
template <class T>
std::vector<T> keep(const std::vector<T>& data, std::int64_t outer, std::int64_t middle, std::int64_t inner,
                    const std::vector<std::int64_t>& kept) {
  std::vector<T> result;
  if (data.empty()) return result;
  for (std::int64_t a = 0; a < outer; ++a) {
    for (const std::int64_t b : kept) {
      const auto first = data.begin() + (a * middle + b) * inner;
      result.insert(result.end(), first, first + inner);
    }
  }
  return result;
}

// 0..n-1 without one of them.
inline std::vector<std::int64_t> all_but(std::int64_t n, std::int64_t dropped) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i != dropped) result.push_back(i);
  }
  return result;
}

}  // namespace problems
