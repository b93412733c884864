// Class J: offsets that are kept in too few bits.
#include <fmt/format.h>

#include <cstring>

#include "oracle/faults/builders.h"
#include "oracle/generate/store.h"

namespace moe4::oracle {
namespace {

// The weights of an expert start at a byte offset that has been altered. In an ordinary case nothing wraps;
// in one with real strides the memory is sparse, and only what the copy holds is read anew.
Plant wrapped(std::function<std::uint64_t(std::uint64_t byte)> wrap) {
  return edited([wrap = std::move(wrap)](Scene& scene, CaseData& seen) {
    const CaseData& data = scene.data();
    if (data.op != Op::kExpertLinear) return;
    const Tensor& codes = data.packed_weights;
    if (codes.dim(0) == 0 || codes.bytes() == 0) return;
    const std::uint64_t stride = codes.bytes() / static_cast<std::uint64_t>(codes.dim(0));
    // Old ids beside new ones: the copy has other ids if it was cut down.
    for (std::int64_t n = 0; n < data.selected_experts.elements(); ++n) {
      const std::int64_t old_id = load_id(data.selected_experts, n);
      const std::int64_t id = load_id(seen.selected_experts, n);
      if (old_id < 0) continue;
      const std::uint64_t right = static_cast<std::uint64_t>(old_id) * stride;
      const std::uint64_t from = wrap(right);
      if (from == right) continue;
      scene.note(fmt::format("expert {}: byte {} in place of {}", old_id, from, right));
      std::byte* to = seen.packed_weights.data() + static_cast<std::uint64_t>(id) * stride;
      std::memset(to, 0, stride);
      const std::uint64_t limit = codes.bytes();
      if (from < limit) std::memcpy(to, codes.data() + from, std::min(stride, limit - from));
    }
  });
}

Plant ids_wrapped(std::int64_t limit) {
  return edited([limit](Scene& scene, CaseData& seen) {
    const CaseData& data = scene.data();
    if (data.op != Op::kExpertLinear) return;
    const std::int64_t rows = data.packed_weights.dim(1);
    if (rows == 0 || data.packed_weights.bytes() == 0) return;
    const auto stride = data.packed_weights.bytes() / static_cast<std::size_t>(data.packed_weights.dim(0));
    const auto scale_stride =
        data.scale_tensor().bytes() / static_cast<std::size_t>(data.packed_weights.dim(0));
    for (std::int64_t n = 0; n < data.selected_experts.elements(); ++n) {
      const std::int64_t old_id = load_id(data.selected_experts, n);
      const std::int64_t id = load_id(seen.selected_experts, n);
      if (old_id < limit) continue;
      const auto from = static_cast<std::size_t>(old_id % limit);
      std::memcpy(seen.packed_weights.data() + static_cast<std::size_t>(id) * stride,
                  data.packed_weights.data() + from * stride, stride);
      std::memcpy(seen.scale_tensor().data() + static_cast<std::size_t>(id) * scale_stride,
                  data.scale_tensor().data() + from * scale_stride, scale_stride);
      scene.note(fmt::format("expert {} read as {}", old_id, from));
    }
  });
}

// Token rows whose element offset does not fit are read from where it wraps to.
Plant token_offset_wrapped(std::int64_t limit) {
  return edited([limit](Scene& scene, CaseData& seen) {
    const std::int64_t in = scene.in();
    const CaseData& data = scene.data();
    for (std::int64_t row = 0; row < token_rows(seen); ++row) {
      for (std::int64_t i = 0; i < in; ++i) {
        const std::int64_t wrapped = (row * in + i) % limit;
        if (wrapped != row * in + i)
          set_token_bits(seen, row, i, load_float_bits(data.latent_tokens, wrapped));
      }
    }
  });
}

}  // namespace

std::vector<Fault> offset_faults() {
  constexpr std::uint64_t k31 = std::uint64_t{1} << 31;
  constexpr std::uint64_t k32 = std::uint64_t{1} << 32;
  return {
      {"expert_bytes_wrap_at_2_31", 'J', "the byte offset of an expert's codes loses its bit 31", "",
       kInLinear, kOfBoth, wrapped([](std::uint64_t b) { return b % k31; })},
      {"expert_bytes_wrap_at_2_32", 'J', "the byte offset of an expert's codes is kept in 32 bits",
       "Liger-Kernel: expert index times stride", kInLinear, kOfBoth,
       wrapped([](std::uint64_t b) { return b % k32; })},
      {"expert_elements_wrap_at_2_32", 'J', "the element offset of an expert's codes is kept in 32 bits",
       "llama.cpp: tensors above 2^32 elements", kInLinear, kOfBoth,
       wrapped([](std::uint64_t b) { return 2 * b % k32 / 2; })},
      {"expert_id_in_8_bits", 'J', "an expert id is kept in 8 bits", "imp: ids from 256 on", kInLinear,
       kOfBoth, ids_wrapped(256)},
      {"token_offset_wraps", 'J',
       "the element offset of a token is kept in 10 bits, as a 32-bit one of a larger call would be",
       "sglang: token times row stride", kInWeights, kOfBoth, token_offset_wrapped(1024)},
  };
}

}  // namespace moe4::oracle
