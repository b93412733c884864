#include "oracle/judge/relations.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "oracle/generate/generate.h"
#include "oracle/generate/store.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kMostWeights = std::size_t{64} << 20;

using Rows = std::vector<std::int64_t>;

// The tensor, seen as `count` equal parts, whose parts are from[0], from[1], …
Tensor parts_from(const Tensor& tensor, std::int64_t count, const Rows& from) {
  Shape shape = tensor.shape();
  const auto parts = static_cast<std::int64_t>(from.size());
  if (parts != count) shape[0] = shape[0] / std::max<std::int64_t>(count, 1) * parts;
  Tensor to(tensor.dtype(), shape);
  const std::size_t bytes = count == 0 ? 0 : tensor.bytes() / static_cast<std::size_t>(count);
  for (std::size_t n = 0; n < from.size() && bytes > 0; ++n) {
    std::memcpy(to.data() + n * bytes, tensor.data() + static_cast<std::size_t>(from[n]) * bytes, bytes);
  }
  return to;
}

Rows identity(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

Status repack(CaseData& data) {
  if (data.layout == nullptr) return {};
  return pack_weights(*data.layout, data);
}

// Tokens 0, 1, … of expert_linear and combine are from[0], from[1], … of `data`.
CaseData with_tokens(const CaseData& data, const Rows& from) {
  const std::int64_t tokens = data.mixture_weights.dim(0);
  CaseData other = data;
  if (data.op == Op::kCombine) {
    other.rows = parts_from(data.rows, tokens, from);
  } else {
    other.latent_tokens = parts_from(data.latent_tokens, tokens, from);
  }
  if (data.has_selected_experts) other.selected_experts = parts_from(data.selected_experts, tokens, from);
  other.mixture_weights = parts_from(data.mixture_weights, tokens, from);
  other.shared_output = parts_from(data.shared_output, tokens, from);
  if (other.line) other.line->tokens = static_cast<std::int64_t>(from.size());
  return other;
}

// Rows of one expert, by expert, in the order of the output.
std::map<std::int64_t, Rows> rows_by_expert(const CaseData& data) {
  std::map<std::int64_t, Rows> rows;
  for (const OutputRow& row : output_rows(data)) {
    if (!row.slots.empty()) rows[row.slots[0].expert].push_back(row.row);
  }
  return rows;
}

// The rows of every expert in reverse order, the others where they are.
Rows reversed_runs(const CaseData& data) {
  Rows from = identity(output_shape(data).rows);
  for (const auto& [expert, rows] : rows_by_expert(data)) {
    for (std::size_t n = 0; n < rows.size(); ++n) {
      from[static_cast<std::size_t>(rows[n])] = rows[rows.size() - 1 - n];
    }
  }
  return from;
}

std::optional<Related> permute_tokens(const CaseData& data) {
  if (data.op == Op::kExpertLinear || data.op == Op::kCombine) {
    Rows from = identity(data.mixture_weights.dim(0));
    std::reverse(from.begin(), from.end());
    return Related{"permute_tokens", with_tokens(data, from), from};
  }
  Related related{"permute_tokens", data, {}};
  if (data.op == Op::kIndexed) {
    const std::int64_t tokens = data.latent_tokens.dim(0);
    const std::int64_t routes = tokens * data.top_k;
    Rows from = identity(tokens);
    std::reverse(from.begin(), from.end());
    related.data.latent_tokens = parts_from(data.latent_tokens, tokens, from);
    for (std::int64_t r = 0; r < data.sorted_ids.elements(); ++r) {
      const std::int64_t id = load_id(data.sorted_ids, r);
      if (id >= 0 && id < routes) {
        store_id(related.data.sorted_ids, r, (tokens - 1 - id / data.top_k) * data.top_k + id % data.top_k);
      }
    }
    for (std::int64_t id = 0; id < routes; ++id) {
      related.twin.push_back((tokens - 1 - id / data.top_k) * data.top_k + id % data.top_k);
    }
    return related;
  }
  related.twin = reversed_runs(data);
  related.data.latent_tokens = parts_from(data.latent_tokens, output_shape(data).rows, related.twin);
  return related;
}

// Every expert becomes the next one.
std::optional<Related> permute_experts(const CaseData& data) {
  if (data.op == Op::kCombine || data.packed_weights.bytes() > kMostWeights) return std::nullopt;
  const std::int64_t experts = data.packed_weights.dim(0);
  if (experts < 2) return std::nullopt;
  Rows from = identity(experts);
  std::rotate(from.begin(), from.end() - 1, from.end());
  Related related{"permute_experts", data, identity(output_shape(data).rows)};
  CaseData& other = related.data;
  other.packed_weights = parts_from(data.packed_weights, experts, from);
  other.scale_tensor() = parts_from(data.scale_tensor(), experts, from);
  if (data.op == Op::kGroupedMasked) {
    other.latent_tokens = parts_from(data.latent_tokens, experts, from);
    other.masked_m = parts_from(data.masked_m, experts, from);
    const std::int64_t max_m = output_shape(data).rows / experts;
    for (std::int64_t row = 0; row < experts * max_m; ++row) {
      related.twin[static_cast<std::size_t>(row)] =
          from[static_cast<std::size_t>(row / max_m)] * max_m + row % max_m;
    }
  } else {
    Tensor& ids = data.op == Op::kExpertLinear ? other.selected_experts
                  : data.op == Op::kIndexed    ? other.expert_ids
                                               : other.m_indices;
    for (std::int64_t n = 0; n < ids.elements(); ++n) {
      const std::int64_t id = load_id(ids, n);
      if (id >= 0 && id < experts) store_id(ids, n, (id + 1) % experts);
    }
  }
  if (repack(other)) return std::nullopt;
  return related;
}

// About half of the rows alone.
std::optional<Related> split_batch(const CaseData& data) {
  Related related{"split_batch", data, {}};
  switch (data.op) {
    case Op::kExpertLinear:
    case Op::kCombine: {
      const std::int64_t tokens = data.mixture_weights.dim(0);
      if (tokens < 2) return std::nullopt;
      related.twin = identity((tokens + 1) / 2);
      related.data = with_tokens(data, related.twin);
      return related;
    }
    case Op::kIndexed: {
      const std::int64_t blocks = load_id(data.num_tokens_padded, 0) / data.block_m;
      if (blocks < 2) return std::nullopt;
      store_id(related.data.num_tokens_padded, 0, blocks / 2 * data.block_m);
      related.twin = identity(output_shape(data).rows);
      return related;
    }
    case Op::kGroupedMasked:
      for (std::int64_t e = 0; e < data.masked_m.elements(); ++e) {
        store_id(related.data.masked_m, e, (load_id(data.masked_m, e) + 1) / 2);
      }
      related.twin = identity(output_shape(data).rows);
      return related;
    case Op::kGroupedContiguous:
      return std::nullopt;  // its rows come in runs of block_m: see block_m
  }
  return std::nullopt;
}

// What no row reads holds other bytes: padding of the activations, ids of padding, weights of experts that no
// row has.
std::optional<Related> padding(const CaseData& data) {
  if (data.op == Op::kCombine || data.packed_weights.bytes() > kMostWeights) return std::nullopt;
  Related related{"padding", data, identity(output_shape(data).rows)};
  CaseData& other = related.data;
  std::set<std::int64_t> used, sources;
  for (const OutputRow& row : output_rows(data)) {
    sources.insert(row.source);
    for (const Slot& slot : row.slots) used.insert(slot.expert);
  }
  const std::int64_t experts = data.packed_weights.dim(0);
  for (Tensor* tensor : {&other.packed_weights, &other.scale_tensor()}) {
    const std::size_t bytes = experts == 0 ? 0 : tensor->bytes() / static_cast<std::size_t>(experts);
    for (std::int64_t e = 0; e < experts; ++e) {
      if (!used.contains(e)) std::memset(tensor->data() + static_cast<std::size_t>(e) * bytes, 0x5A, bytes);
    }
  }
  const std::int64_t rows = is_row_op(data.op) && data.op != Op::kIndexed ? output_shape(data).rows : 0;
  const std::size_t bytes = rows == 0 ? 0 : other.latent_tokens.bytes() / static_cast<std::size_t>(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!sources.contains(row))
      std::memset(other.latent_tokens.data() + static_cast<std::size_t>(row) * bytes, 0x3C, bytes);
  }
  if (data.op == Op::kIndexed) {
    const std::int64_t routes = data.latent_tokens.dim(0) * data.top_k;
    for (std::int64_t r = 0; r < data.sorted_ids.elements(); ++r) {
      const std::int64_t id = load_id(data.sorted_ids, r);
      if (id >= routes) store_id(other.sorted_ids, r, id == routes ? routes + 1 : routes);
    }
  }
  if (repack(other)) return std::nullopt;
  return related;
}

// The same line with another value of one key. Rows that move are found by their expert and their place in
// its run.
std::optional<Related> other_line(std::string_view name, const CaseData& data, const Declaration& declaration,
                                  const Case& line) {
  if (validate_case(line) || declaration.refuses(line)) return std::nullopt;
  Result<CaseData> other = generate(line);
  if (!other.ok()) return std::nullopt;
  Related related{name, std::move(*other), {}};
  if (data.op == Op::kIndexed) {
    related.twin = identity(output_shape(data).rows);
    return related;
  }
  related.twin.assign(static_cast<std::size_t>(output_shape(related.data).rows), -1);
  const auto before = rows_by_expert(data);
  for (const auto& [expert, rows] : rows_by_expert(related.data)) {
    const auto was = before.find(expert);
    if (was == before.end() || was->second.size() != rows.size()) return std::nullopt;
    for (std::size_t n = 0; n < rows.size(); ++n)
      related.twin[static_cast<std::size_t>(rows[n])] = was->second[n];
  }
  return related;
}

void add_other_lines(const CaseData& data, const Declaration& declaration, std::vector<Related>& all) {
  if (!data.line || !data.checkpoint.empty() || data.packed_weights.bytes() > kMostWeights) return;
  const auto add = [&](std::string_view name, const Case& line) {
    std::optional<Related> related = other_line(name, data, declaration, line);
    if (related) all.push_back(std::move(*related));
    return related.has_value();
  };
  Case line = *data.line;
  if (data.op == Op::kIndexed || data.op == Op::kGroupedContiguous) {
    for (const std::int64_t rows : {8, 16, 32, 64, 128, 256}) {
      line.block_m = rows;
      line.capacity.reset();
      if (rows != data.line->block_rows() && add("block_m", line)) break;
    }
    line = *data.line;
    line.capacity = (data.op == Op::kIndexed ? data.sorted_ids.elements() : data.m_indices.elements()) +
                    2 * line.block_rows();
    add("capacity", line);
  }
  if (data.op == Op::kGroupedMasked) {
    line.expected_m = data.expected_m + 7;
    add("expected_m", line);
    line = *data.line;
    line.max_m = output_shape(data).rows / std::max<std::int64_t>(data.masked_m.elements(), 1) + 128;
    add("capacity", line);
  }
}

}  // namespace

std::vector<Related> related_cases(const CaseData& data, const Declaration& declaration) {
  std::vector<Related> all;
  for (auto* make : {permute_tokens, permute_experts, split_batch, padding}) {
    if (std::optional<Related> related = make(data)) all.push_back(std::move(*related));
  }
  add_other_lines(data, declaration, all);
  std::erase_if(all, [](const Related& related) { return validate(related.data).has_value(); });
  return all;
}

}  // namespace moe4::oracle
