#include "gpu/measure/sample_call.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace moe4::gpu {
namespace {

// splitmix64.
std::uint64_t draw(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class Maker {
 public:
  Maker(const Variant& variant, const LaunchShape& shape) : variant_(variant), f32_(variant.dtype == "f32") {
    call.shape = shape;
  }

  SampleCall call;

  void add(std::string name, std::vector<std::byte> bytes) {
    call.tensors.push_back({std::move(name), std::move(bytes)});
  }

  // Numbers in ±[0.5, 1): of the dtype of tokens, or BF16.
  std::vector<std::byte> numbers(std::int64_t count) {
    if (f32_) {
      std::vector<std::uint32_t> values(static_cast<std::size_t>(count));
      for (auto& v : values) v = 0x3F000000u | (draw(state_) & 0x807FFFFFu);
      return bytes_of(values);
    }
    return bf16(count);
  }
  std::vector<std::byte> bf16(std::int64_t count) {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
    for (auto& v : values) v = static_cast<std::uint16_t>(0x3F00u | (draw(state_) & 0x807Fu));
    return bytes_of(values);
  }
  std::vector<std::byte> f32(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count), 0.125F);
    return bytes_of(values);
  }
  std::vector<std::byte> codes(std::int64_t bytes) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>((bytes + 7) / 8));
    for (auto& w : words) w = draw(state_);
    std::vector<std::byte> all = bytes_of(words);
    all.resize(static_cast<std::size_t>(bytes));
    return all;
  }

  void weights() {
    const LaunchShape& s = call.shape;
    add("packed_weights", codes(s.experts * s.out * s.in / 2));
    const auto scales = static_cast<std::size_t>(s.experts * s.out * s.in / 32);
    if (variant_.weights == "int4") {
      std::vector<std::uint16_t> values(scales);
      for (auto& v : values) v = static_cast<std::uint16_t>(0x3C00u | (draw(state_) & 0x7Fu));
      add("scales", bytes_of(values));
    } else {
      std::vector<std::uint8_t> values(scales);
      for (auto& v : values) v = static_cast<std::uint8_t>(118 + (draw(state_) & 3));
      add("scale_bytes", bytes_of(values));
    }
  }

  // Each expert's rows in blocks; ids in an order that jumps.
  void indexed(const std::vector<std::int64_t>& rows_of_expert) {
    LaunchShape& s = call.shape;
    std::vector<std::int32_t> order(static_cast<std::size_t>(s.tokens * s.top_k)), ids, experts;
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t n = order.size(); n > 1; --n) std::swap(order[n - 1], order[draw(state_) % n]);
    const auto sentinel = static_cast<std::int32_t>(order.size());
    std::size_t next = 0;
    for (std::size_t e = 0; e < rows_of_expert.size(); ++e) {
      for (std::int64_t left = rows_of_expert[e]; left > 0; left -= s.block_m) {
        experts.push_back(static_cast<std::int32_t>(e));
        for (std::int64_t n = 0; n < s.block_m; ++n) ids.push_back(n < left ? order[next++] : sentinel);
      }
    }
    s.capacity = static_cast<std::int64_t>(ids.size());
    add("sorted_ids", bytes_of(ids));
    add("expert_ids", bytes_of(experts));
    add("num_tokens_padded", bytes_of(std::vector<std::int32_t>{static_cast<std::int32_t>(ids.size())}));
  }

 private:
  const Variant& variant_;
  bool f32_;
  std::uint64_t state_ = 1;
};

}  // namespace

SampleCall sample_call(const Variant& variant, LaunchShape shape,
                       const std::vector<std::int64_t>& rows_of_expert) {
  const std::int64_t rows = std::accumulate(rows_of_expert.begin(), rows_of_expert.end(), std::int64_t{0});
  const std::int64_t element = variant.dtype == "f32" ? 4 : 2;
  shape.experts = static_cast<std::int64_t>(rows_of_expert.size());
  if (variant.op == "grouped_contiguous") shape.tokens = rows;
  if (variant.op == "grouped_masked") {
    if (shape.max_m == 0) shape.max_m = *std::max_element(rows_of_expert.begin(), rows_of_expert.end());
    shape.tokens = shape.experts * shape.max_m;
  }
  Maker maker(variant, shape);
  std::int64_t rows_out = shape.tokens;
  if (variant.op == "combine") {
    maker.add("rows", maker.bf16(shape.tokens * shape.top_k * shape.out));
  } else {
    maker.add("latent_tokens", maker.numbers(shape.tokens * shape.in));
    maker.weights();
  }
  if (variant.op == "expert_linear" || variant.op == "combine") {
    std::vector<std::int32_t> chosen(static_cast<std::size_t>(shape.tokens * shape.top_k));
    for (std::size_t n = 0; n < chosen.size(); ++n)
      chosen[n] = static_cast<std::int32_t>(n % rows_of_expert.size());
    if (variant.op == "expert_linear") maker.add("selected_experts", bytes_of(chosen));
    maker.add("mixture_weights", maker.f32(shape.tokens * shape.top_k));
    maker.add("shared_output", maker.numbers(shape.tokens * shape.out));
  }
  if (variant.op == "indexed") {
    maker.indexed(rows_of_expert);
    rows_out = shape.tokens * shape.top_k;
  }
  if (variant.op == "grouped_contiguous") {
    std::vector<std::int32_t> indices;
    for (std::size_t e = 0; e < rows_of_expert.size(); ++e) {
      indices.insert(indices.end(), static_cast<std::size_t>(rows_of_expert[e]),
                     static_cast<std::int32_t>(e));
    }
    maker.add("m_indices", bytes_of(indices));
  }
  if (variant.op == "grouped_masked") {
    maker.add("masked_m", bytes_of(std::vector<std::int32_t>(rows_of_expert.begin(), rows_of_expert.end())));
  }
  maker.call.output_bytes = static_cast<std::size_t>(rows_out * shape.out * element);
  maker.call.active =
      std::count_if(rows_of_expert.begin(), rows_of_expert.end(), [](std::int64_t n) { return n > 0; });
  return std::move(maker.call);
}

}  // namespace moe4::gpu
