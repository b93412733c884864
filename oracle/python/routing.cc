// RTE-32 to RTE-34: the builders of what the serving contracts read.
#include "oracle/python/bindings.h"
#include "oracle/python/errors.h"
#include "oracle/python/views.h"
#include "reference/routing/align_blocks.h"
#include "reference/routing/grouped_rows.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

Error wrong(const char* field, std::int64_t value, const char* rule) {
  return {field, std::to_string(value), rule};
}

Routes routes_of(const View& ids, std::int64_t experts) {
  const TensorView view = ids.tensor();
  if (view.rank() != 2)
    throw Refused{Error{"selected_experts", to_string(view.shape), "VAL-1: its rank is 2"}};
  if (view.dtype != Dtype::kI32 && view.dtype != Dtype::kI64) {
    throw Refused{
        Error{"selected_experts", std::string(name_of(view.dtype)), "VAL-2: its dtype is I32 or I64"}};
  }
  if (experts < 0 || experts > INT32_MAX) throw Refused{wrong("experts", experts, "is 0 to 2^31-1")};
  if (view.dim(0) * view.dim(1) > INT32_MAX) {
    throw Refused{Error{"selected_experts", to_string(view.shape), "RTE-7: at most 2^31-1 routes"}};
  }
  return routes_from(view, experts);
}

nb::tuple aligned(const View& ids, std::int64_t experts, std::int64_t block_m) {
  if (block_m < 1) throw Refused{wrong("block_m", block_m, "RTE-7: is 1 or more")};
  const Routes routes = routes_of(ids, experts);
  const AlignedRoutes made = align_blocks(routes, experts, block_m);
  return nb::make_tuple(ids_array(made.sorted_ids), ids_array(made.expert_ids), made.num_tokens_padded);
}

nb::tuple map_arrays(const RowMap& map) {
  return nb::make_tuple(ids_array(map.row_of_route), ids_array(map.route_of_row));
}

nb::tuple contiguous(const View& ids, std::int64_t experts, std::int64_t alignment) {
  if (alignment < 1) throw Refused{wrong("alignment", alignment, "is 1 or more")};
  const ContiguousRows made = contiguous_rows(routes_of(ids, experts), experts, alignment);
  return nb::make_tuple(ids_array(made.m_indices), map_arrays(made.map));
}

nb::tuple masked(const View& ids, std::int64_t experts, std::int64_t max_m) {
  if (max_m < 0) throw Refused{wrong("max_m", max_m, "is 0 or more")};
  const MaskedRows made = take(masked_rows(routes_of(ids, experts), experts, max_m));
  return nb::make_tuple(ids_array(made.masked_m), map_arrays(made.map));
}

nb::object local_ids(std::int64_t experts, std::int64_t first, std::int64_t count) {
  if (experts < 0 || experts > INT32_MAX) throw Refused{wrong("experts", experts, "is 0 to 2^31-1")};
  if (first < 0 || first > experts) throw Refused{wrong("first", first, "is 0 to experts")};
  if (count < 0 || count > experts - first) throw Refused{wrong("count", count, "is 0 to experts - first")};
  return ids_array(expert_map(experts, first, count));
}

}  // namespace

void bind_routing(nb::module_& m) {
  m.def("align_blocks", &aligned);
  m.def("contiguous_rows", &contiguous);
  m.def("masked_rows", &masked);
  m.def("expert_map", &local_ids);
}

}  // namespace moe4::python
