#include "reference/routing/contract.h"

#include <string>
#include <utility>
#include <vector>

#include "reference/linear/checks.h"

namespace moe4 {
namespace {

using Tensors = std::vector<std::pair<std::string_view, TensorView>>;

Status check_contiguous(const Tensors& tensors, std::string_view rule) {
  for (const auto& [name, view] : tensors) {
    if (!view.is_contiguous()) {
      return refuse(name, "strides " + to_string(view.strides),
                    std::string(rule) + ": tensors are contiguous");
    }
  }
  return {};
}

Status check_not_empty(std::string_view letter, std::int64_t size, std::string_view rule) {
  if (size >= 1) return {};
  return refuse(letter, std::to_string(size),
                std::string(rule) + ": " + std::string(letter) + " is at least 1");
}

// RTE-17 of the three operations with weights.
Status check_all(const TensorView& latent_tokens, const ExpertWeights& weights, const RowDims& dims,
                 std::string_view rows_letter, std::int64_t rows, Tensors routing) {
  if (Status error = check_not_empty(rows_letter, rows, "RTE-17")) return error;
  if (Status error = check_not_empty("E", dims.experts, "RTE-17")) return error;
  if (Status error = check_not_empty("O", dims.out, "RTE-17")) return error;
  Tensors tensors = {{"latent_tokens", latent_tokens},
                     {"packed_weights", weights.packed_weights},
                     {weights.scales_name(), weights.scales}};
  tensors.insert(tensors.end(), routing.begin(), routing.end());
  return check_contiguous(tensors, "RTE-17");
}

Status check_multiple(std::string_view what, std::int64_t size, std::int64_t multiple,
                      std::string_view rule) {
  if (size % multiple == 0) return {};
  return refuse(
      what, std::to_string(size),
      std::string(rule) + ": " + std::string(what) + " is a multiple of " + std::to_string(multiple));
}

// RTE-20 and RTE-21, block by block.
Status check_blocks(const IndexedInputs& inputs, const RowDims& dims) {
  const ActiveIds active(inputs);
  for (std::int64_t block = 0; block < active.blocks; ++block) {
    bool sentinel_seen = false;
    for (std::int64_t r = block * inputs.block_m; r < (block + 1) * inputs.block_m; ++r) {
      const std::int64_t id = active.sorted_ids.integer({r});
      const bool sentinel = id >= dims.rows;
      if (sentinel_seen && !sentinel) {
        return refuse("sorted_ids", "position " + std::to_string(r) + ", id " + std::to_string(id),
                      "RTE-20: in a block no id that names a row stands after a sentinel");
      }
      sentinel_seen = sentinel;
    }
  }
  for (std::int64_t block = 0; block < active.blocks; ++block) {
    const std::int64_t expert = active.expert_ids.integer({block});
    if (expert >= 0 && expert < dims.experts) continue;
    return refuse("expert_ids", "block " + std::to_string(block) + ", expert " + std::to_string(expert),
                  "RTE-21: the expert of every active block is in 0.." + std::to_string(dims.experts - 1));
  }
  return {};
}

std::string row_text(std::int64_t row, std::int64_t index) {
  return "row " + std::to_string(row) + ", expert " + std::to_string(index);
}

// RTE-24 and RTE-25 for the tile of rows [first, first + 128).
Status check_agreement(const Elements<1>& m_indices, std::int64_t first) {
  std::int64_t of_tile = -1;
  for (std::int64_t r = first; r < first + kContiguousAlignment; ++r) {
    const std::int64_t index = m_indices.integer({r});
    if (index < 0) continue;
    if (of_tile < 0) of_tile = index;
    if (index != of_tile) {
      return refuse("m_indices", row_text(r, index),
                    "RTE-24: rows of the tile that begins at row " + std::to_string(first) +
                        " disagree: others are of expert " + std::to_string(of_tile));
    }
  }
  return {};
}

Status check_alignment(const Elements<1>& m_indices, std::int64_t first) {
  bool padding_seen = false;
  for (std::int64_t r = first; r < first + kContiguousAlignment; ++r) {
    const std::int64_t index = m_indices.integer({r});
    if (index < 0) {
      padding_seen = true;
    } else if (padding_seen) {
      return refuse("m_indices", row_text(r, index),
                    "RTE-25: a run is misaligned: it begins after padding, not on a multiple of 128");
    }
  }
  return {};
}

Status check_padding(const GroupedContiguousInputs& inputs, const RowDims& dims) {
  const Elements<1> m_indices(inputs.m_indices);
  const Elements<2> tokens(inputs.latent_tokens);
  for (std::int64_t r = 0; r < dims.rows; ++r) {
    if (m_indices.integer({r}) >= 0) continue;
    for (std::int64_t i = 0; i < dims.in; ++i) {
      if (tokens.value({r, i}).is_zero()) continue;
      return refuse("latent_tokens", "row " + std::to_string(r) + ", column " + std::to_string(i),
                    "RTE-26: the activations of padding rows are zero");
    }
  }
  return {};
}

}  // namespace

Status validate_contract(const IndexedInputs& inputs) {
  const Result<RowDims> dims = validate_indexed(inputs);
  if (!dims.ok()) return dims.error();
  if (Status error = check_all(inputs.latent_tokens, inputs.weights, *dims, "M", inputs.latent_tokens.dim(0),
                               {{"sorted_ids", inputs.sorted_ids}, {"expert_ids", inputs.expert_ids}})) {
    return error;
  }
  if (Status error = check_multiple("O", dims->out, 128, "RTE-18")) return error;
  if (Status error = check_multiple("I", dims->in, 64, "RTE-18")) return error;
  if (Status error = check_multiple("block_m", inputs.block_m, 8, "RTE-18")) return error;
  const std::int64_t active = ActiveIds(inputs).count;
  if (active % inputs.block_m != 0) {
    return refuse("num_tokens_padded", std::to_string(active),
                  "RTE-19: the count is a multiple of block_m = " + std::to_string(inputs.block_m));
  }
  return check_blocks(inputs, *dims);
}

Status validate_contract(const GroupedContiguousInputs& inputs, PaddingRows padding) {
  const Result<RowDims> dims = validate_grouped_contiguous(inputs);
  if (!dims.ok()) return dims.error();
  if (Status error = check_all(inputs.latent_tokens, inputs.weights, *dims, "m", dims->rows,
                               {{"m_indices", inputs.m_indices}})) {
    return error;
  }
  if (Status error = check_multiple("O", dims->out, 64, "RTE-22")) return error;
  if (Status error = check_multiple("I", dims->in, 64, "RTE-22")) return error;
  if (Status error = check_multiple("m", dims->rows, kContiguousAlignment, "RTE-23")) return error;
  const Elements<1> m_indices(inputs.m_indices);
  for (std::int64_t first = 0; first < dims->rows; first += kContiguousAlignment) {
    if (Status error = check_agreement(m_indices, first)) return error;
  }
  for (std::int64_t first = 0; first < dims->rows; first += kContiguousAlignment) {
    if (Status error = check_alignment(m_indices, first)) return error;
  }
  if (padding == PaddingRows::kZero) return check_padding(inputs, *dims);
  return {};
}

Status validate_contract(const GroupedMaskedInputs& inputs, std::int64_t tile_m) {
  const Result<GroupedMaskedDims> dims = validate_grouped_masked(inputs);
  if (!dims.ok()) return dims.error();
  if (Status error = check_all(inputs.latent_tokens, inputs.weights, *dims, "max_m", dims->max_m,
                               {{"masked_m", inputs.masked_m}})) {
    return error;
  }
  if (Status error = check_multiple("O", dims->out, 64, "RTE-22")) return error;
  if (Status error = check_multiple("I", dims->in, 128, "RTE-22")) return error;
  if (tile_m < 16 || tile_m > 128 || tile_m % 8 != 0) {
    return refuse("tile_m", std::to_string(tile_m), "RTE-27: a tile has a multiple of 8 rows in 16..128");
  }
  const Elements<1> masked_m(inputs.masked_m);
  for (std::int64_t e = 0; e < dims->experts; ++e) {
    const std::int64_t stored = (masked_m.integer({e}) + tile_m - 1) / tile_m * tile_m;
    if (stored <= dims->max_m) continue;
    return refuse("masked_m",
                  "expert " + std::to_string(e) + ", count " + std::to_string(masked_m.integer({e})),
                  "RTE-27: max_m = " + std::to_string(dims->max_m) + " holds whole tiles of " +
                      std::to_string(tile_m) + " rows, here " + std::to_string(stored) + " rows");
  }
  return {};
}

Status validate_contract(const CombineInputs& inputs) {
  const Result<CombineDims> dims = validate_combine(inputs);
  if (!dims.ok()) return dims.error();
  if (Status error = check_not_empty("T", dims->tokens, "RTE-28")) return error;
  if (Status error = check_not_empty("K", dims->top_k, "RTE-28")) return error;
  if (Status error = check_not_empty("O", dims->out, "RTE-28")) return error;
  Tensors tensors = {{"rows", inputs.rows}, {"mixture_weights", inputs.mixture_weights}};
  if (inputs.selected_experts) tensors.push_back({"selected_experts", *inputs.selected_experts});
  tensors.push_back({"shared_output", inputs.shared_output});
  return check_contiguous(tensors, "RTE-28");
}

}  // namespace moe4
