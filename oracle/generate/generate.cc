#include "oracle/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

#include "oracle/generate/bare_roundings.h"
#include "oracle/generate/fill_data.h"
#include "oracle/generate/padded_routes.h"
#include "oracle/generate/route.h"
#include "oracle/generate/store.h"
#include "oracle/generate/support.h"
#include "oracle/generate/weights.h"
#include "reference/fast/fast.h"
#include "reference/layout/repack.h"
#include "reference/linear/row_dot.h"
#include "reference/routing/align_blocks.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kWorthThreads = std::int64_t{1} << 15;  // elements

__extension__ using Int128 = __int128;

// Rows of activations that the op may need at the most.
Int128 most_rows(const Case& c) {
  const Int128 routes = Int128{c.tokens} * c.top_k;
  const std::int64_t experts = c.local_experts();
  switch (c.op) {
    case Op::kExpertLinear:
    case Op::kIndexed:
      return c.tokens;
    case Op::kCombine:
      return c.tokens + routes;
    case Op::kGroupedContiguous: {
      const Int128 loose = 2 * routes * c.block_rows();
      const Int128 aligned = aligned_capacity(c.tokens * c.top_k, experts, c.block_rows());
      const Int128 rows = c.routing == Routing::kSentinel ? loose : aligned;
      return std::max<Int128>(rows, c.capacity.value_or(0));
    }
    case Op::kGroupedMasked:
      return Int128{experts} * c.max_m.value_or((c.tokens * c.top_k + 127) / 128 * 128);
  }
  return 0;
}

// DATA-5: what is written, in bytes; the weights of experts that no slot selects stay unmapped.
Status check_size(const Case& c, std::int64_t written_experts) {
  const auto size = [](Dtype dtype) { return static_cast<Int128>(size_of(dtype)); };
  const Int128 tokens = c.tokens;
  Int128 bytes = most_rows(c) * c.in * size(c.dtype) + tokens * c.out * size(c.shared_dtype());
  bytes += tokens * c.top_k * (size(c.mixture_dtype()) + size(c.ids_dtype));
  bytes += static_cast<Int128>(written_experts) * c.out * (c.in / kGroupSize) * 18;
  if (c.op == Op::kIndexed) {
    const Int128 loose = 2 * tokens * c.top_k * c.block_rows();
    const Int128 aligned = aligned_capacity(c.tokens * c.top_k, c.local_experts(), c.block_rows());
    bytes += 8 * std::max<Int128>(c.routing == Routing::kSentinel ? loose : aligned, c.capacity.value_or(0));
  }
  if (bytes <= (Int128{1} << 33)) return {};
  return Error{"case", to_string(c), "DATA-5: the data that is written has at most 2^33 bytes"};
}

// x[t,:] of one token as row `row` of a tensor; the tensor's row is +0 outside of the support.
void write_token(const Case& c, const FillData& fill, const Support& support, std::int64_t t, Tensor& tensor,
                 std::int64_t row) {
  if (!support.token(t)) return;
  for (std::int64_t i = 0; i < c.in; ++i) {
    if (support.column(i)) store_float(tensor, row * c.in + i, fill.token(t, i));
  }
}

void write_tokens(const Case& c, const FillData& fill, const Support& support, Tensor& tokens) {
#pragma omp parallel for schedule(static) if (c.tokens * c.in > kWorthThreads)
  for (std::int64_t t = 0; t < c.tokens; ++t) write_token(c, fill, support, t, tokens, t);
}

// DATA-44: rows of routes, and NaN in rows of none.
void write_rows(const Case& c, const FillData& fill, const Support& support,
                const std::vector<std::int64_t>& route_of_row, Tensor& tokens) {
  const auto rows = static_cast<std::int64_t>(route_of_row.size());
#pragma omp parallel for schedule(static) if (rows * c.in > kWorthThreads)
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t route = route_of_row[static_cast<std::size_t>(row)];
    if (route >= 0) {
      write_token(c, fill, support, route / c.top_k, tokens, row);
    } else {
      for (std::int64_t i = 0; i < c.in; ++i) store_float(tokens, row * c.in + i, ExactValue::nan());
    }
  }
}

void write_shared(const Case& c, const FillData& fill, const Support& support, Tensor& shared) {
#pragma omp parallel for schedule(static) if (c.tokens * c.out > kWorthThreads)
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    if (!support.token(t)) continue;
    for (std::int64_t o = 0; o < c.out; ++o) {
      if (support.output(o)) store_float(shared, t * c.out + o, fill.shared(t, o));
    }
  }
}

void write_mixture(const Case& c, const FillData& fill, const std::vector<std::int64_t>& ids,
                   Tensor& mixture) {
  std::vector<ExactValue> p(static_cast<std::size_t>(c.top_k));
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    fill.mixture(t, p);
    for (std::int64_t j = 0; j < c.top_k; ++j) {
      // DATA-10: what stands beside an absent slot has no effect, so it is NaN.
      const bool absent = ids[static_cast<std::size_t>(t * c.top_k + j)] < 0;
      store_float(mixture, t * c.top_k + j, absent ? ExactValue::nan() : p[static_cast<std::size_t>(j)]);
    }
  }
}

void write_mixing(const Case& c, const FillData& fill, const Support& support,
                  const std::vector<std::int64_t>& ids, CaseData& data) {
  data.selected_experts = Tensor(c.ids_dtype, {c.tokens, c.top_k});
  data.mixture_weights = Tensor(c.mixture_dtype(), {c.tokens, c.top_k});
  data.shared_output = Tensor(c.shared_dtype(), {c.tokens, c.out});
  for (std::size_t n = 0; n < ids.size(); ++n) {
    store_id(data.selected_experts, static_cast<std::int64_t>(n), ids[n]);
  }
  write_mixture(c, fill, ids, data.mixture_weights);
  write_shared(c, fill, support, data.shared_output);
}

// The rows of BF16 tokens: those of grouped_contiguous, by the fast path.
Result<Tensor> bf16_rows(const Case& c, const CaseData& layer, const Tensor& tokens,
                         const std::vector<std::int64_t>& ids) {
  const std::int64_t routes = c.tokens * c.top_k;
  Tensor x(Dtype::kBF16, {routes, c.in});
  Tensor m_indices(Dtype::kI32, {routes});
  const auto bytes = static_cast<std::size_t>(c.in) * size_of(Dtype::kBF16);
  for (std::int64_t route = 0; route < routes; ++route) {
    std::copy_n(tokens.data() + static_cast<std::size_t>(route / c.top_k) * bytes, bytes,
                x.data() + static_cast<std::size_t>(route) * bytes);
    store_id(m_indices, route, ids[static_cast<std::size_t>(route)]);
  }
  Tensor rows(Dtype::kBF16, {routes, c.out});
  if (routes == 0) return rows;
  std::fill_n(rows.as<std::uint16_t>().begin(), static_cast<std::size_t>(rows.elements()),
              static_cast<std::uint16_t>(kBF16.canonical_nan()));
  const auto written = fast::grouped_contiguous({x.view(), layer.expert_weights(), m_indices.view()},
                                                rows.mutable_view(), c.policy);
  if (!written.ok()) return written.error();
  return rows;
}

// DATA-47: the rows that the experts of a layer would give (RTE-1), NaN for absent slots.
Result<Tensor> combine_rows(const Case& c, const FillData& fill, const Support& support,
                            const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& used) {
  CaseData layer;
  layer.weights = c.weights;
  write_weights(c, fill, support, used, layer);
  const WeightReader reader(layer.expert_weights(), c.policy);
  Tensor tokens(c.dtype, {c.tokens, c.in});
  write_tokens(c, fill, support, tokens);
  if (c.dtype == Dtype::kBF16) return bf16_rows(c, layer, tokens, ids);
  const Elements<2> activations(tokens.view());
  Tensor rows(Dtype::kBF16, {c.tokens * c.top_k, c.out});
  const std::span<std::uint16_t> bits = rows.as<std::uint16_t>();
#pragma omp parallel if (c.tokens * c.top_k * c.out * c.in > kWorthThreads)
  {
    std::vector<ExactValue> x(static_cast<std::size_t>(c.in));
#pragma omp for schedule(static)
    for (std::int64_t route = 0; route < c.tokens * c.top_k; ++route) {
      const std::int64_t e = ids[static_cast<std::size_t>(route)];
      for (std::int64_t i = 0; i < c.in; ++i) {
        x[static_cast<std::size_t>(i)] = activations.value({route / c.top_k, i});
      }
      for (std::int64_t o = 0; o < c.out; ++o) {
        const auto value = e < 0 ? kBF16.canonical_nan() : row_dot(reader, e, o, x).round(kBF16);
        bits[static_cast<std::size_t>(route * c.out + o)] = static_cast<std::uint16_t>(value);
      }
    }
  }
  return rows;
}

Routes routes_of(const Case& c, const std::vector<std::int64_t>& ids) {
  Routes routes{c.tokens, c.top_k, {}};
  for (const std::int64_t id : ids) routes.expert.push_back(static_cast<std::int32_t>(id));
  return routes;
}

Status write_op(const Case& c, const FillData& fill, const Support& support,
                const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& used, CaseData& data) {
  if (c.op == Op::kCombine) {
    data.has_selected_experts = std::find(ids.begin(), ids.end(), -1) != ids.end();
    Result<Tensor> rows = combine_rows(c, fill, support, ids, used);
    if (!rows.ok()) return rows.error();
    data.rows = std::move(*rows);
    write_mixing(c, fill, support, ids, data);
    if (c.fill == Fill::kSlabCancel) lay_roundings_bare(data);
    return {};
  }
  write_weights(c, fill, support, used, data);
  if (c.op == Op::kExpertLinear || c.op == Op::kIndexed) {
    data.latent_tokens = Tensor(c.dtype, {c.tokens, c.in});
    write_tokens(c, fill, support, data.latent_tokens);
    if (c.op == Op::kIndexed) return write_indexed(c, routes_of(c, ids), data);
    write_mixing(c, fill, support, ids, data);
    return {};
  }
  const bool contiguous = c.op == Op::kGroupedContiguous;
  Result<RowsOfRoutes> rows =
      contiguous ? write_contiguous(c, routes_of(c, ids), data) : write_masked(c, routes_of(c, ids), data);
  if (!rows.ok()) return rows.error();
  const auto count = static_cast<std::int64_t>(rows->route_of_row.size());
  const std::int64_t experts = c.local_experts();
  data.latent_tokens = contiguous ? Tensor(c.dtype, {count, c.in})
                                  : Tensor(c.dtype, {experts, experts == 0 ? 0 : count / experts, c.in});
  write_rows(c, fill, support, rows->route_of_row, data.latent_tokens);
  return {};
}

Result<CaseData> generate_valid(const Case& c, const FillData& fill) {
  const std::vector<std::int64_t> ids = local_ids(c, selected_experts(c));
  const std::vector<std::int64_t> used = used_experts(ids);
  const bool all = c.routing == Routing::kPoison || c.layout;
  if (Status status = check_size(c, all ? c.local_experts() : static_cast<std::int64_t>(used.size()))) {
    return *status;
  }
  CaseData data;
  data.line = c;
  data.op = c.op;
  data.weights = c.weights;
  data.policy = c.policy;
  data.output_dtype = c.dtype;
  if (Status status = write_op(c, fill, Support(c), ids, used, data)) return *status;
  if (c.layout) {
    if (Status status = pack_weights(*find_weight_layout(*c.layout), data)) return *status;
  }
  if (c.fill != Fill::kExact8 && c.fill != Fill::kExact24) return data;
  data.proof = prove_exact(data, c.fill == Fill::kExact8 ? 8 : 24);
  if (data.proof->proved) return data;
  return Error{"case", to_string(c),
               fmt::format("DATA-33: no room for an exact fill: {} units, limit {}",
                           data.proof->largest_units, data.proof->limit_units)};
}

}  // namespace

Status pack_weights(const WeightLayout& layout, CaseData& data) {
  const WeightViews logical{data.packed_weights.view(), data.scale_tensor().view()};
  Result<WeightTensors> packed = pack(layout, logical);
  if (!packed.ok()) return packed.error();
  data.layout = &layout;
  data.packed = std::move(*packed);
  return {};
}

Result<CaseData> generate(const Case& c) {
  if (Status status = validate_case(c)) return *status;
  Result<std::unique_ptr<FillData>> fill = make_fill(c);
  if (!fill) return fill.error();
  try {
    return generate_valid(c, **fill);
  } catch (const std::bad_alloc&) {
    return Error{"case", to_string(c), "DATA-5: this machine has no memory for the tensors of the case"};
  }
}

}  // namespace moe4::oracle
