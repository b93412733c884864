// Routes, expert maps and the builders of the serving contracts (RTE-32 to RTE-34), a second time: by
// counting and searching instead of sorting.
//
// Each step is a virtual function, so that a test can plant one wrong step and see it found.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace slow_model {

// expert[token * top_k + slot], -1: on no list.
struct RouteList {
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
  std::vector<std::int32_t> expert;
};

struct Aligned {
  std::vector<std::int32_t> sorted_ids;
  std::vector<std::int32_t> expert_ids;

  friend bool operator==(const Aligned&, const Aligned&) = default;
};

// The expert of each row of a buffer, -1 padding; row_of[id] is where a route lies, -1: nowhere.
struct Placed {
  std::vector<std::int32_t> expert_of_row;
  std::vector<std::int64_t> row_of;

  friend bool operator==(const Placed&, const Placed&) = default;
};

class Builders {
 public:
  virtual ~Builders() = default;

  std::vector<std::int32_t> expert_map(std::int64_t experts, std::int64_t first, std::int64_t count) const;
  RouteList to_local(const RouteList& global, const std::vector<std::int32_t>& map) const;

  Aligned align(const RouteList& routes, std::int64_t experts, std::int64_t block_m) const;
  virtual std::int64_t capacity(std::int64_t routes, std::int64_t experts, std::int64_t block_m) const;
  Placed contiguous(const RouteList& routes, std::int64_t experts, std::int64_t alignment) const;
  // Nothing if an expert has more than max_m rows.
  std::optional<Placed> masked(const RouteList& routes, std::int64_t experts, std::int64_t max_m) const;

 protected:
  virtual std::int32_t local_id(std::int64_t id, std::int64_t first, std::int64_t count) const;
  virtual std::vector<std::int64_t> ids_of(const RouteList& routes, std::int64_t expert) const;
  virtual std::int64_t padded(std::int64_t rows, std::int64_t multiple) const;
  virtual std::int64_t sentinel(const RouteList& routes) const;
};

}  // namespace slow_model
