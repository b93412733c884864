// Delta debugging over a set of indices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace moe4::oracle {

// A subset of `start` (ascending) for which `fails` still holds and from which no single index can be left
// out. Precondition: fails(start). `fails` is called with non-empty, ascending subsets only; when it begins
// to answer false to everything (its time is up), the smallest failing subset so far is returned.
std::vector<std::int64_t> narrow(std::vector<std::int64_t> start,
                                 const std::function<bool(const std::vector<std::int64_t>&)>& fails);

}  // namespace moe4::oracle
