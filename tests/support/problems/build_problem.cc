#include "tests/support/problems/build_problem.h"

#include <algorithm>
#include <bit>

namespace problems {
namespace {

std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

std::uint64_t bits_of(const FloatFormat& format, double value) {
  const slow_model::Extended exact =
      slow_model::value_of(slow_model::kF64, std::bit_cast<std::uint64_t>(value));
  const std::uint64_t sign = std::bit_cast<std::uint64_t>(value) >> 63 != 0 ? format.sign_bit() : 0;
  if (exact.is_nan()) {
    return format.canonical_nan();
  }
  if (exact.is_infinite()) {
    return sign | format.infinity();
  }
  return sign | slow_model::round_to_nearest_even(format, exact.value.magnitude());
}

FloatTensor float_tensor(const FloatFormat& format, const std::vector<double>& values) {
  FloatTensor tensor{format, {}};
  for (const double value : values) {
    tensor.bits.push_back(bits_of(format, value));
  }
  return tensor;
}

Problem plain_problem(const Dims& dims, const FloatFormat& token_format) {
  Problem problem;
  problem.tokens = dims.tokens;
  problem.experts = dims.experts;
  problem.groups = dims.in / 32;
  problem.out = dims.out;
  problem.top_k = dims.top_k;
  const std::uint64_t one = token_format.one();
  problem.latent_tokens = {token_format, std::vector<std::uint64_t>(count(dims.tokens * dims.in), one)};
  problem.packed_weights.assign(count(dims.experts * dims.out * problem.row_bytes()), 0x22);
  problem.scale_bytes.assign(count(dims.experts * dims.out * problem.groups), 127);
  for (std::int64_t t = 0; t < dims.tokens; ++t) {
    for (std::int64_t slot = 0; slot < dims.top_k; ++slot) {
      problem.selected_experts.push_back(slot % dims.experts);
    }
  }
  problem.mixture_weights = {token_format, std::vector<std::uint64_t>(count(dims.tokens * dims.top_k), one)};
  problem.shared_output = {token_format, std::vector<std::uint64_t>(count(dims.tokens * dims.out), 0)};
  return problem;
}

void set_token(Problem& problem, std::int64_t t, std::int64_t i, double value) {
  problem.latent_tokens.bits[count(t * problem.in() + i)] = bits_of(problem.latent_tokens.format, value);
}

void set_tokens(Problem& problem, double value) {
  auto& bits = problem.latent_tokens.bits;
  std::fill(bits.begin(), bits.end(), bits_of(problem.latent_tokens.format, value));
}

void set_p(Problem& problem, const FloatFormat& format, const std::vector<double>& values) {
  problem.mixture_weights = float_tensor(format, values);
}

void set_shared(Problem& problem, const FloatFormat& format, const std::vector<double>& values) {
  problem.shared_output = float_tensor(format, values);
}

void set_code(Problem& problem, std::int64_t expert, std::int64_t o, std::int64_t i, int code) {
  std::uint8_t& byte =
      problem.packed_weights[count((expert * problem.out + o) * problem.row_bytes() + i / 2)];
  byte = static_cast<std::uint8_t>(i % 2 == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | code << 4);
}

void set_codes(Problem& problem, int code) {
  std::fill(problem.packed_weights.begin(), problem.packed_weights.end(),
            static_cast<std::uint8_t>(code | code << 4));
}

void set_scale(Problem& problem, std::int64_t expert, std::int64_t o, std::int64_t group, int byte) {
  problem.scale_bytes[count((expert * problem.out + o) * problem.groups + group)] =
      static_cast<std::uint8_t>(byte);
}

void set_scales(Problem& problem, int byte) {
  std::fill(problem.scale_bytes.begin(), problem.scale_bytes.end(), static_cast<std::uint8_t>(byte));
}

void set_group(Problem& problem, std::int64_t expert, std::int64_t o, std::int64_t group, int code) {
  for (std::int64_t i = 32 * group; i < 32 * (group + 1); ++i) {
    set_code(problem, expert, o, i, code);
  }
}

}  // namespace problems
