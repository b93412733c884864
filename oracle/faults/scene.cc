#include "oracle/faults/scene.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "oracle/generate/store.h"
#include "reference/linear/row_dot.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kLargestCopy = std::size_t{64} << 20;
constexpr std::int64_t kSmall = std::int64_t{1} << 22;

// Rows of a tensor [E, …], those of `experts` in that order.
Tensor experts_of(const Tensor& from, const std::vector<std::int64_t>& experts) {
  Shape shape = from.shape();
  const std::size_t bytes = from.bytes() / static_cast<std::size_t>(shape[0]);
  shape[0] = static_cast<std::int64_t>(experts.size());
  Tensor to(from.dtype(), shape);
  for (std::size_t n = 0; n < experts.size(); ++n) {
    std::memcpy(to.data() + n * bytes, from.data() + static_cast<std::size_t>(experts[n]) * bytes, bytes);
  }
  return to;
}

std::vector<std::int64_t> experts_in(const std::vector<OutputRow>& rows) {
  std::vector<std::int64_t> used;
  for (const OutputRow& row : rows) {
    for (const Slot& slot : row.slots) used.push_back(slot.expert);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

// The tokens of a case as [rows, I].
TensorView flat_tokens(const CaseData& data) {
  const std::int64_t in = data.latent_tokens.shape().back();
  return {data.latent_tokens.dtype(), {token_rows(data), in}, data.latent_tokens.data(), {}};
}

}  // namespace

Scene::Scene(const CaseData& data, const Norm& norm, Key key)
    : data_(data),
      norm_(norm),
      shape_(output_shape(data)),
      rows_(output_rows(data)),
      in_(in_of(data)),
      key_(key) {}

std::optional<Site> Scene::site() {
  if (forced_) return forced_->site;
  std::vector<std::size_t> with_slots;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    if (!rows_[n].slots.empty()) with_slots.push_back(n);
  }
  if (with_slots.empty() || shape_.out == 0) return std::nullopt;
  Site site;
  site.index = with_slots[static_cast<std::size_t>(pick(static_cast<std::int64_t>(with_slots.size())))];
  const OutputRow& row = rows_[site.index];
  site.row = row.row;
  site.source = row.source;
  site.slot = pick(static_cast<std::int64_t>(row.slots.size()));
  site.expert = row.slots[static_cast<std::size_t>(site.slot)].expert;
  site.out = pick(shape_.out);
  if (in_ == 0) return site;
  site.in = pick(in_);
  for (std::int64_t n = 0; n < in_; ++n) {
    const std::int64_t i = (site.in + n) % in_;
    const FloatFormat format = format_of(data_.latent_tokens.dtype());
    if ((token_bits(data_, site.source, i) & (format.sign_bit() - 1)) == 0) continue;
    site.in = i;
    break;
  }
  site.group = site.in / kGroupSize;
  return site;
}

bool is_small(const CaseData& data, const std::vector<OutputRow>& rows) {
  std::int64_t slots = 0;
  for (const OutputRow& row : rows) slots += static_cast<std::int64_t>(row.slots.size());
  return slots * output_shape(data).out * std::max<std::int64_t>(in_of(data), 1) <= kSmall;
}

CaseData Scene::copy() const {
  if (data_.packed_weights.bytes() <= kLargestCopy || data_.op != Op::kExpertLinear) return data_;
  const std::vector<std::int64_t> used = experts_in(rows_);
  CaseData c;
  c.line = data_.line;
  c.op = data_.op;
  c.weights = data_.weights;
  c.policy = data_.policy;
  c.latent_tokens = data_.latent_tokens;
  c.selected_experts = data_.selected_experts;
  c.mixture_weights = data_.mixture_weights;
  c.shared_output = data_.shared_output;
  c.packed_weights = experts_of(data_.packed_weights, used);
  c.scale_tensor() = experts_of(data_.scale_tensor(), used);
  for (std::int64_t n = 0; n < c.selected_experts.elements(); ++n) {
    const auto at = std::lower_bound(used.begin(), used.end(), load_id(c.selected_experts, n));
    if (at != used.end()) store_id(c.selected_experts, n, at - used.begin());
  }
  return c;
}

SubjectRun healthy_run(const Norm& norm) {
  SubjectRun run;
  run.output = norm.output;
  run.written = norm.written;
  return run;
}

Status recompute(const Scene& scene, const CaseData& seen, SubjectRun& run) {
  Result<Norm> norm =
      scene.declared() != nullptr ? declared_result(seen, *scene.declared()) : fast_norm_result(seen);
  if (!norm.ok()) return norm.error();
  run.output = std::move(norm->output);
  return {};
}

std::uint64_t output_bits(const Tensor& output, std::int64_t index) { return load_float_bits(output, index); }

void set_output_bits(Tensor& output, std::int64_t index, std::uint64_t bits) {
  const std::size_t size = size_of(output.dtype());
  std::memcpy(output.data() + static_cast<std::size_t>(index) * size, &bits, size);
}

void take_output(const Tensor& from, std::int64_t index, Tensor& to) {
  set_output_bits(to, index, output_bits(from, index));
}

void for_each_exact(const Scene& scene, const std::function<void(std::int64_t, const ExactOutput&)>& see) {
  const CaseData& data = scene.data();
  const std::int64_t out = scene.shape().out;
  if (data.op == Op::kCombine) {
    const CombineInputs inputs = data.combine();
    const CombineTerms terms(inputs);
    for (const OutputRow& row : scene.rows()) {
      for (std::int64_t o = 0; o < out; ++o) see(row.row * out + o, terms.output(row.slots, row.row, o));
    }
    return;
  }
  const WeightReader weights(data.expert_weights(), data.policy);
  const Elements<2> tokens(flat_tokens(data));
  const bool mixing = data.op == Op::kExpertLinear;
  for (const OutputRow& row : scene.rows()) {
    std::vector<ExactValue> x;
    for (std::int64_t i = 0; i < scene.in(); ++i) x.push_back(tokens.value({row.source, i}));
    for (std::int64_t o = 0; o < out; ++o) {
      OutputSum sum;
      if (mixing) sum.add(Elements<2>(data.shared_output.view()).value({row.row, o}));
      for (const Slot& slot : row.slots) sum.add_product(slot.p, row_dot(weights, slot.expert, o, x));
      see(row.row * out + o, ExactOutput(sum, false));
    }
  }
}

Weights::Weights(CaseData& data)
    : data_(data),
      experts_(data.packed_weights.dim(0)),
      out_(data.packed_weights.dim(1)),
      groups_(data.scale_tensor().dim(2)),
      int4_(data.weights == WeightFormat::kInt4) {}

unsigned Weights::code(std::int64_t e, std::int64_t o, std::int64_t i) const {
  const auto byte = static_cast<std::size_t>((at(e, o, 0) * kGroupSize + i) / 2);
  const auto both = static_cast<unsigned>(data_.packed_weights.data()[byte]);
  return i % 2 == 0 ? both & 15U : both >> 4;
}

void Weights::set_code(std::int64_t e, std::int64_t o, std::int64_t i, unsigned code) {
  const auto byte = static_cast<std::size_t>((at(e, o, 0) * kGroupSize + i) / 2);
  const auto both = static_cast<unsigned>(data_.packed_weights.data()[byte]);
  const unsigned altered = i % 2 == 0 ? (both & 0xF0U) | code : (both & 0x0FU) | code << 4;
  data_.packed_weights.data()[byte] = static_cast<std::byte>(altered);
}

void Weights::clear_group(std::int64_t e, std::int64_t o, std::int64_t g) {
  for (std::int64_t l = 0; l < kGroupSize; ++l) set_code(e, o, g * kGroupSize + l, int4_ ? 8 : 0);
}

unsigned Weights::scale(std::int64_t e, std::int64_t o, std::int64_t g) const {
  const auto n = static_cast<std::size_t>(at(e, o, g));
  return int4_ ? data_.scales.as<std::uint16_t>()[n] : data_.scale_bytes.as<std::uint8_t>()[n];
}

void Weights::set_scale(std::int64_t e, std::int64_t o, std::int64_t g, unsigned scale) {
  const auto n = static_cast<std::size_t>(at(e, o, g));
  if (int4_) {
    data_.scales.as<std::uint16_t>()[n] = static_cast<std::uint16_t>(scale);
  } else {
    data_.scale_bytes.as<std::uint8_t>()[n] = static_cast<std::uint8_t>(scale);
  }
}

void Weights::for_each_code(const std::function<unsigned(unsigned)>& map) {
  std::array<unsigned, 256> of_byte;
  for (unsigned b = 0; b < 256; ++b) of_byte[b] = map(b & 15U) | map(b >> 4) << 4;
  for (std::size_t n = 0; n < data_.packed_weights.bytes(); ++n) {
    std::byte& both = data_.packed_weights.data()[n];
    both = static_cast<std::byte>(of_byte[static_cast<std::size_t>(both)]);
  }
}

void Weights::for_each_scale(const std::function<unsigned(unsigned)>& map) {
  if (int4_) {
    for (std::uint16_t& s : data_.scales.as<std::uint16_t>()) s = static_cast<std::uint16_t>(map(s));
  } else {
    for (std::uint8_t& s : data_.scale_bytes.as<std::uint8_t>()) s = static_cast<std::uint8_t>(map(s));
  }
}

std::int64_t token_rows(const CaseData& data) {
  const Shape& shape = data.latent_tokens.shape();
  return shape.size() == 3 ? shape[0] * shape[1] : shape[0];
}

std::uint64_t token_bits(const CaseData& data, std::int64_t row, std::int64_t i) {
  return load_float_bits(data.latent_tokens, row * data.latent_tokens.shape().back() + i);
}

void set_token_bits(CaseData& data, std::int64_t row, std::int64_t i, std::uint64_t bits) {
  set_output_bits(data.latent_tokens, row * data.latent_tokens.shape().back() + i, bits);
}

}  // namespace moe4::oracle
