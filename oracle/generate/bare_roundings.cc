#include "oracle/generate/bare_roundings.h"

#include <bit>
#include <cmath>
#include <vector>

#include "oracle/generate/store.h"
#include "reference/arithmetic/round.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {
namespace {

double load(const Tensor& tensor, std::int64_t index) {
  const ExactValue value = decode_float(format_of(tensor.dtype()), load_float_bits(tensor, index));
  return std::bit_cast<double>(round_to(kF64, value));
}

void store(Tensor& tensor, std::int64_t index, double value) {
  store_float(tensor, index, decode_float(kF64, std::bit_cast<std::uint64_t>(value)));
}

// Half way between the BF16 number below |value|, its last bit set, and the next one; with the sign of value.
double odd_midpoint(double value) {
  constexpr int kBelowBf16 = 52 - 7;
  constexpr std::uint64_t kLast = std::uint64_t{1} << kBelowBf16;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<double>((bits & ~(kLast - 1)) | kLast | kLast >> 1);
}

struct Slot {
  std::int64_t index;  // of its mixture weight
  double weight, row;  // row: its column 0
};

std::vector<Slot> present_slots(const CaseData& data, std::int64_t t) {
  const std::int64_t top_k = data.mixture_weights.shape()[1];
  const std::int64_t out = data.rows.shape()[1];
  std::vector<Slot> slots;
  for (std::int64_t index = t * top_k; index < (t + 1) * top_k; ++index) {
    if (load_id(data.selected_experts, index) < 0) continue;
    slots.push_back({index, load(data.mixture_weights, index), load(data.rows, index * out)});
  }
  return slots;
}

void cancel(CaseData& data, double shared, const std::vector<Slot>& slots) {
  const Slot* last = nullptr;
  for (const Slot& slot : slots) {
    if (slot.row != 0 && (last == nullptr || std::fabs(slot.row) >= std::fabs(last->row))) last = &slot;
  }
  if (last == nullptr) return;
  double sum = shared;
  for (const Slot& slot : slots) {
    if (&slot == last) continue;
    const double product = slot.weight * slot.row;
    sum = sum + product;
  }
  store(data.mixture_weights, last->index, -sum / last->row);
}

void round_to_midpoints(CaseData& data, const std::vector<Slot>& slots) {
  for (const Slot& slot : slots) {
    const double product = slot.weight * slot.row;
    if (product != 0) store(data.mixture_weights, slot.index, odd_midpoint(product) / slot.row);
  }
}

}  // namespace

void lay_roundings_bare(CaseData& data) {
  if (data.rows.shape()[1] == 0) return;
  for (std::int64_t t = 0; t < data.mixture_weights.shape()[0]; ++t) {
    const std::vector<Slot> slots = present_slots(data, t);
    bool finite = true;
    for (const Slot& slot : slots) finite = finite && std::isfinite(slot.row);
    if (!finite) continue;
    if (t % 2 == 0) {
      cancel(data, load(data.shared_output, t * data.rows.shape()[1]), slots);
    } else {
      round_to_midpoints(data, slots);
    }
  }
}

}  // namespace moe4::oracle
