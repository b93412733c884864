// Rows grouped by expert, in one padded buffer or one block an expert (RTE-34), and the way back to route
// order.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/routing/contract.h"
#include "reference/routing/routes.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

// Where each route's row lies, and what lies in each row; -1: nowhere, nothing.
struct RowMap {
  std::vector<std::int64_t> row_of_route;
  std::vector<std::int64_t> route_of_row;
};

struct ContiguousRows {
  RowMap map;
  std::vector<std::int32_t> m_indices;

  TensorView m_indices_view() const {
    return {Dtype::kI32, {static_cast<std::int64_t>(m_indices.size())}, m_indices.data(), {}};
  }
};

struct MaskedRows {
  RowMap map;  // rows e·max_m + r
  std::int64_t max_m = 0;
  std::vector<std::int32_t> masked_m;

  TensorView masked_m_view() const {
    return {Dtype::kI32, {static_cast<std::int64_t>(masked_m.size())}, masked_m.data(), {}};
  }
};

// Precondition for both: experts of routes are -1..experts-1. alignment >= 1, max_m >= 0.
ContiguousRows contiguous_rows(const Routes& routes, std::int64_t experts,
                               std::int64_t alignment = kContiguousAlignment);
// An Error if an expert has more than max_m rows.
Result<MaskedRows> masked_rows(const Routes& routes, std::int64_t experts, std::int64_t max_m);

// The routes that m_indices or masked_m describe under the map: the inverse of the builders.
Routes routes_from(const ContiguousRows& rows, std::int64_t tokens, std::int64_t top_k);
Routes routes_from(const MaskedRows& rows, std::int64_t tokens, std::int64_t top_k);

// tokens [T,I] laid out by the map as [rows,I], padding zero. Any dtype; contiguous.
Tensor gather_rows(const Tensor& tokens, std::int64_t top_k, const RowMap& map);
// An output of rows (any leading shape) back in route order, [T·K,O]; routes that lie nowhere are zero.
Tensor in_route_order(const Tensor& output, const RowMap& map);

}  // namespace moe4
