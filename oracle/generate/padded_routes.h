// Routes as the tensors of the serving contracts, with all that may not be read beside them (DATA-44 …
// DATA-46).
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case_data.h"
#include "reference/routing/routes.h"

namespace moe4::oracle {

// Which route lies in which row of a grouped buffer; -1: none.
struct RowsOfRoutes {
  std::vector<std::int64_t> route_of_row;
};

// Sets sorted_ids, expert_ids, num_tokens_padded, top_k and block_m.
Status write_indexed(const Case& c, const Routes& routes, CaseData& data);
// Sets m_indices.
Result<RowsOfRoutes> write_contiguous(const Case& c, const Routes& routes, CaseData& data);
// Sets masked_m and expected_m; rows e·max_m + r.
Result<RowsOfRoutes> write_masked(const Case& c, const Routes& routes, CaseData& data);

}  // namespace moe4::oracle
