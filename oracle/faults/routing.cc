// Classes F, G and K: which expert a row meets, and which rows there are.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "oracle/faults/builders.h"
#include "oracle/generate/store.h"

namespace moe4::oracle {
namespace {

// The local ids, whatever the operation, or null. -1 and what lies behind the active part are left alone.
Tensor* ids_of(CaseData& data) {
  switch (data.op) {
    case Op::kExpertLinear:
      return &data.selected_experts;
    case Op::kIndexed:
      return &data.expert_ids;
    case Op::kGroupedContiguous:
      return &data.m_indices;
    default:
      return nullptr;
  }
}

// Every id becomes map(id, experts).
Plant ids_mapped(std::function<std::int64_t(std::int64_t, std::int64_t)> map) {
  return edited([map = std::move(map)](Scene&, CaseData& seen) {
    Tensor* ids = ids_of(seen);
    if (ids == nullptr) return;
    const std::int64_t experts = seen.packed_weights.dim(0);
    for (std::int64_t n = 0; n < ids->elements(); ++n) {
      const std::int64_t id = load_id(*ids, n);
      if (id >= 0 && id < experts) store_id(*ids, n, map(id, experts));
    }
  });
}

// The weights of every expert are those of the next one.
void roll_experts(CaseData& seen) {
  CaseData right = seen;
  for (Tensor* to : {&seen.packed_weights, &seen.scale_tensor()}) {
    const Tensor& from = to == &seen.packed_weights ? right.packed_weights : right.scale_tensor();
    const std::size_t whole = from.bytes();
    const std::size_t one = whole / static_cast<std::size_t>(from.dim(0));
    std::copy_n(from.data() + one, whole - one, to->data());
    std::copy_n(from.data(), one, to->data() + whole - one);
  }
}

// What slots without an expert do: their id and p.
Plant absent_as(std::function<std::int64_t(std::int64_t experts)> id, bool one) {
  return edited([id = std::move(id), one](Scene&, CaseData& seen) {
    if (seen.op == Op::kCombine && !seen.has_selected_experts) return;
    for (std::int64_t n = 0; n < seen.selected_experts.elements(); ++n) {
      if (load_id(seen.selected_experts, n) >= 0) continue;
      store_id(seen.selected_experts, n, seen.op == Op::kCombine ? 0 : id(seen.packed_weights.dim(0)));
      if (one) store_float(seen.mixture_weights, n, ExactValue::finite(false, 1, 0));
    }
  });
}

// Pairs of slots of one token with the same expert.
void for_each_repeat(CaseData& seen, const std::function<void(std::int64_t first, std::int64_t again)>& see) {
  const std::int64_t top_k = seen.mixture_weights.dim(1);
  if (seen.op == Op::kCombine) return;
  for (std::int64_t t = 0; t < seen.mixture_weights.dim(0); ++t) {
    for (std::int64_t j = 0; j < top_k; ++j) {
      for (std::int64_t i = 0; i < j; ++i) {
        const std::int64_t id = load_id(seen.selected_experts, t * top_k + j);
        if (id < 0 || id != load_id(seen.selected_experts, t * top_k + i)) continue;
        see(t * top_k + i, t * top_k + j);
        break;
      }
    }
  }
}

// Rows of each expert, in the order of the output, from the n-th on keep zeros.
Plant rows_of_expert_lost(std::function<bool(std::int64_t nth, std::int64_t count)> lost) {
  return output([lost = std::move(lost)](Scene& scene, SubjectRun& run) {
    std::map<std::int64_t, std::vector<std::int64_t>> rows;
    for (const OutputRow& row : scene.rows()) {
      if (!row.slots.empty()) rows[row.slots[0].expert].push_back(row.row);
    }
    for (const auto& [expert, list] : rows) {
      const auto count = static_cast<std::int64_t>(list.size());
      for (std::int64_t n = 0; n < count; ++n) {
        if (!lost(n, count)) continue;
        for (std::int64_t o = 0; o < scene.shape().out; ++o) {
          set_output_bits(run.output, list[static_cast<std::size_t>(n)] * scene.shape().out + o, 0);
        }
      }
    }
  });
}

// The last block of an expert's rows gets the expert of the block before it.
void block_of_previous_expert(Scene& scene, CaseData& seen) {
  Tensor& ids = *ids_of(seen);
  const std::int64_t experts = seen.packed_weights.dim(0);
  const auto valid = [&](std::int64_t n) {
    const std::int64_t id = load_id(ids, n);
    return id >= 0 && id < experts;
  };
  std::int64_t last = ids.elements() - 1;
  while (last >= 0 && !valid(last)) --last;
  std::int64_t first = last;
  while (first > 0 && load_id(ids, first - 1) == load_id(ids, last)) --first;
  std::int64_t before = first - 1;
  while (before >= 0 && !valid(before)) --before;
  if (last < 0 || before < 0) return;
  // An id of indexed stands for a block, one of grouped_contiguous for a row.
  if (seen.op == Op::kIndexed) last = first;
  const std::int64_t other = load_id(ids, before);
  for (std::int64_t n = first; n <= last; ++n) store_id(ids, n, other);
  scene.note(fmt::format("blocks or rows {}..{}", first, last));
}

}  // namespace

std::vector<Fault> routing_faults() {
  return {
      {"expert_off_by_one", 'F', "every expert is read from the place of the next one",
       "aiter: global ids in a local array", kInWeights, kOfBoth,
       edited([](Scene&, CaseData& seen) { roll_experts(seen); })},
      {"wrong_expert_for_a_row", 'F',
       "one row (of expert_linear: one token) meets the experts beside its own", "", kInWeights, kOfBoth,
       edited_row([](Scene&, CaseData& seen) { roll_experts(seen); })},
      {"wrong_expert_for_a_pair", 'F', "one pair of token and slot meets another expert", "", kInLinear,
       kOfBoth,
       Planting(edited([](Scene& scene, CaseData& seen) {
                  const std::optional<Site> site = scene.site();
                  if (!site) return;
                  const std::int64_t j =
                      scene.rows()[site->index].slots[static_cast<std::size_t>(site->slot)].j;
                  const std::int64_t n = site->row * seen.selected_experts.dim(1) + j;
                  store_id(seen.selected_experts, n,
                           (load_id(seen.selected_experts, n) + 1) % seen.packed_weights.dim(0));
                  scene.note(fmt::format("token {}, slot {}", site->row, j));
                }),
                Place::kSlot)},
      {"ids_shifted", 'F', "one is added to every expert id", "", kInWithIds, kOfBoth,
       ids_mapped([](std::int64_t id, std::int64_t experts) { return (id + 1) % experts; })},
      {"all_of_expert_zero", 'F', "every id is taken for 0", "vllm: unused slots named expert 0", kInWithIds,
       kOfBoth, ids_mapped([](std::int64_t, std::int64_t) { return 0; })},
      {"last_expert_unreachable", 'F', "the last expert is read as the one before it",
       "imp: ids from 256 on never selected", kInWithIds, kOfBoth,
       ids_mapped([](std::int64_t id, std::int64_t n) { return id == n - 1 && n > 1 ? n - 2 : id; })},
      {"absent_is_expert_zero", 'F', "a slot of id -1 is computed as expert 0 with weight 1",
       "vllm-xpu-kernels: negative ids not guarded", kInMixing, kOfBoth,
       absent_as([](std::int64_t) { return 0; }, true)},
      {"absent_is_last_expert", 'F',
       "id -1 reaches the expert index and wraps to the last expert, with weight 1",
       "sglang: blocks of -1 not skipped", kInLinear, kOfBoth,
       absent_as([](std::int64_t experts) { return experts - 1; }, true)},
      {"absent_weight_is_read", 'F', "the weight of a slot of id -1, which is NaN, enters the sum", "",
       kInMixing, kOfBoth, absent_as([](std::int64_t) { return 0; }, false)},
      {"sentinel_row_written", 'F', "a row that no active id names is written",
       "surogate: buffers sized by assignments", kInIndexed, kOfBoth,
       output([](Scene& scene, SubjectRun& run) {
         if (run.written.empty()) return;
         const auto at = std::find(run.written.begin(), run.written.end(), 0);
         if (at == run.written.end()) return;
         *at = 1;
         scene.note(fmt::format("row {}", at - run.written.begin()));
       })},
      {"block_of_previous_expert", 'F',
       "one block of rows is computed with the expert of the block before it", "", kInIndexed | kInContiguous,
       kOfBoth, edited(block_of_previous_expert)},
      {"token_dropped", 'F', "the last row of each expert is not computed",
       "sglang: real rows taken for a prefix", kInRows, kOfBoth,
       rows_of_expert_lost([](std::int64_t n, std::int64_t count) { return n == count - 1; })},
      {"over_capacity_dropped", 'F', "of each expert only the first 8 rows are computed", "", kInRows,
       kOfBoth, rows_of_expert_lost([](std::int64_t n, std::int64_t) { return n >= 8; })},
      {"first_row_only", 'F', "of each expert only the first row is computed",
       "vllm-xpu-kernels: alignment keeps token 0", kInRows, kOfBoth,
       rows_of_expert_lost([](std::int64_t n, std::int64_t) { return n >= 1; })},
      {"neighbour_token", 'F', "one row is computed from the tokens of the row before it", "", kInWeights,
       kOfBoth, edited_row([](Scene&, CaseData& seen) {
         const std::int64_t in = seen.latent_tokens.shape().back();
         const auto one = static_cast<std::size_t>(in) * size_of(seen.latent_tokens.dtype());
         std::byte* x = seen.latent_tokens.data();
         if (seen.latent_tokens.bytes() >= one)
           std::rotate(x, x + seen.latent_tokens.bytes() - one, x + seen.latent_tokens.bytes());
       })},

      {"repeat_counted_once", 'G', "of an expert that a token selects twice only the first slot counts", "",
       kInLinear, kOfBoth, edited([](Scene&, CaseData& seen) {
         for_each_repeat(seen, [&](std::int64_t, std::int64_t again) {
           store_float(seen.mixture_weights, again, ExactValue::finite(false, 0, 0));
         });
       })},
      {"repeat_overwrites_weight", 'G', "both slots of a repeated expert get the weight of the second",
       "vllm: top-k that returns one expert k times", kInLinear, kOfBoth, edited([](Scene&, CaseData& seen) {
         for_each_repeat(seen, [&](std::int64_t first, std::int64_t again) {
           set_output_bits(seen.mixture_weights, first, output_bits(seen.mixture_weights, again));
         });
       })},

      {"empty_expert_shifts_list", 'K',
       "an expert without tokens is left out of the list: the next one is read in its place",
       "TransformerEngine: empty groups", kInWithIds, kOfBoth, edited([](Scene& scene, CaseData& seen) {
         Tensor* ids = ids_of(seen);
         if (ids == nullptr) return;
         std::set<std::int64_t> used;
         for (const OutputRow& row : scene.rows()) {
           for (const Slot& slot : row.slots) used.insert(slot.expert);
         }
         const std::int64_t experts = seen.packed_weights.dim(0);
         for (std::int64_t n = 0; n < ids->elements(); ++n) {
           const std::int64_t id = load_id(*ids, n);
           if (id < 0 || id >= experts || !used.contains(id)) continue;
           store_id(*ids, n, std::distance(used.begin(), used.find(id)));
         }
       })},
      {"no_slots_no_shared", 'K', "a token without any expert gets zeros in place of the shared output",
       "sglang: empty batches", kInMixing, kOfBoth, output([](Scene& scene, SubjectRun& run) {
         for (const OutputRow& row : scene.rows()) {
           if (!row.slots.empty()) continue;
           for (std::int64_t o = 0; o < scene.shape().out; ++o)
             set_output_bits(run.output, row.row * scene.shape().out + o, 0);
         }
       })},
      {"no_slots_uninitialised", 'K', "the row of a token without any expert holds what was in memory",
       "MSLK: experts with zero tokens", kInMixing, kOfBoth, output([](Scene& scene, SubjectRun& run) {
         for (const OutputRow& row : scene.rows()) {
           if (!row.slots.empty()) continue;
           for (std::int64_t o = 0; o < scene.shape().out; ++o) {
             set_output_bits(run.output, row.row * scene.shape().out + o, ~std::uint64_t{0});
           }
         }
       })},
  };
}

}  // namespace moe4::oracle
