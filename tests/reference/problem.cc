#include "tests/reference/problem.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace moe4::test {
namespace {

// F16 by its definition: the magnitude in units of the grid of its binade.
std::uint64_t encode_f16(double value) {
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | 0x7C00;
  int field = 0;  // subnormals and the first binade of normals share the grid 2^-24
  while (field < 30 && magnitude >= std::ldexp(2048.0, -24 + (field == 0 ? 0 : field - 1))) ++field;
  const int grid = -24 + (field == 0 ? 0 : field - 1);
  const double units = std::ldexp(magnitude, -grid);
  EXPECT_EQ(units, std::floor(units)) << value << " is no F16";
  EXPECT_LT(units, 2048) << value << " is no F16";
  return sign |
         ((field == 0 ? 0 : static_cast<std::uint64_t>(field - 1) << 10) + static_cast<std::uint64_t>(units));
}

}  // namespace

std::uint64_t canonical_nan(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBF16:
      return 0x7FC0;
    case Dtype::kF16:
      return 0x7E00;
    case Dtype::kF32:
      return 0x7FC00000;
    default:
      return 0x7FF8000000000000;
  }
}

std::uint64_t encode(Dtype dtype, double value) {
  if (std::isnan(value)) return canonical_nan(dtype);
  if (dtype == Dtype::kF64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == Dtype::kF16) return encode_f16(value);
  const auto narrow = static_cast<float>(value);
  EXPECT_EQ(static_cast<double>(narrow), value) << value << " is no F32";
  const auto bits = std::bit_cast<std::uint32_t>(narrow);
  if (dtype == Dtype::kF32) return bits;
  EXPECT_EQ(bits & 0xFFFF, 0U) << value << " is no BF16";
  return bits >> 16;
}

std::uint64_t bits_at(const Tensor& tensor, std::int64_t index) {
  const std::size_t size = size_of(tensor.dtype());
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + static_cast<std::size_t>(index) * size, size);
  return bits;
}

void set_bits(Tensor& tensor, std::int64_t index, std::uint64_t bits) {
  const std::size_t size = size_of(tensor.dtype());
  std::memcpy(tensor.data() + static_cast<std::size_t>(index) * size, &bits, size);
}

void set(Tensor& tensor, std::int64_t index, double value) {
  set_bits(tensor, index,
           is_float(tensor.dtype()) ? encode(tensor.dtype(), value)
                                    : static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
}

void fill(Tensor& tensor, double value) {
  for (std::int64_t index = 0; index < tensor.elements(); ++index) set(tensor, index, value);
}

Problem::Problem(const Sizes& s, const Dtypes& dtypes)
    : sizes(s),
      latent_tokens(dtypes.x, {s.tokens, s.in}),
      packed_weights(Dtype::kU8, {s.experts, s.out, s.in / 32, 16}),
      scale_bytes(Dtype::kU8, {s.experts, s.out, s.in / 32}),
      selected_experts(dtypes.id, {s.tokens, s.top_k}),
      mixture_weights(dtypes.p, {s.tokens, s.top_k}),
      shared_output(dtypes.s, {s.tokens, s.out}) {
  x(1.0);
  code(2);
  scale(127);
  fill(mixture_weights, 1.0);
}

Problem& Problem::x(std::int64_t t, std::int64_t i, double value) {
  set(latent_tokens, t * sizes.in + i, value);
  return *this;
}
Problem& Problem::x(double value) {
  fill(latent_tokens, value);
  return *this;
}
Problem& Problem::byte(std::int64_t e, std::int64_t o, std::int64_t j, std::uint8_t packed) {
  set(packed_weights, (e * sizes.out + o) * (sizes.in / 2) + j, packed);
  return *this;
}
Problem& Problem::code(std::int64_t e, std::int64_t o, std::int64_t i, std::uint8_t code) {
  std::uint8_t& byte = packed_weights.as<std::uint8_t>()[(e * sizes.out + o) * (sizes.in / 2) + i / 2];
  byte = i % 2 == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | (code << 4);
  return *this;
}
Problem& Problem::code(std::uint8_t code) {
  fill(packed_weights, code * 0x11);
  return *this;
}
Problem& Problem::scale(std::int64_t e, std::int64_t o, std::int64_t g, std::uint8_t byte) {
  set(scale_bytes, (e * sizes.out + o) * (sizes.in / 32) + g, byte);
  return *this;
}
Problem& Problem::scale(std::uint8_t byte) {
  fill(scale_bytes, byte);
  return *this;
}
Problem& Problem::ids(std::initializer_list<std::int64_t> ids) {
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()), selected_experts.elements());
  std::int64_t index = 0;
  for (const std::int64_t id : ids) set_bits(selected_experts, index++, static_cast<std::uint64_t>(id));
  return *this;
}
Problem& Problem::p(std::initializer_list<double> weights) {
  EXPECT_EQ(static_cast<std::int64_t>(weights.size()), mixture_weights.elements());
  std::int64_t index = 0;
  for (const double weight : weights) set(mixture_weights, index++, weight);
  return *this;
}
Problem& Problem::shared(std::initializer_list<double> values) {
  EXPECT_EQ(static_cast<std::int64_t>(values.size()), shared_output.elements());
  std::int64_t index = 0;
  for (const double value : values) set(shared_output, index++, value);
  return *this;
}

ExpertLinearInputs Problem::inputs() const {
  return {latent_tokens.view(),    packed_weights.view(),  scale_bytes.view(),
          selected_experts.view(), mixture_weights.view(), shared_output.view()};
}

Result<Tensor> Problem::run() const {
  Tensor output(latent_tokens.dtype(), {sizes.tokens, sizes.out});
  std::memset(output.data(), 0xFF, output.bytes());
  if (Status error = mxfp4_expert_linear(inputs(), output.mutable_view(), policy)) return *error;
  return output;
}

void expect_outputs(const Problem& problem, const std::vector<double>& expected, const std::string& what) {
  const Result<Tensor> output = problem.run();
  ASSERT_TRUE(output.ok()) << output.error().message();
  ASSERT_EQ(output->elements(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t index = 0; index < output->elements(); ++index) {
    const double value = expected[static_cast<std::size_t>(index)];
    EXPECT_EQ(bits_at(*output, index), encode(output->dtype(), value))
        << "output " << index << ", expected the value " << value << " " << what;
  }
}

void expect_output(const Problem& problem, double expected, const std::string& what) {
  expect_outputs(problem, std::vector<double>(problem.sizes.tokens * problem.sizes.out, expected), what);
}

GuardedBytes::GuardedBytes(std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t usable = (size + page - 1) / page * page;
  mapped_ = usable + page;
  map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(map_, MAP_FAILED);
  EXPECT_EQ(mprotect(static_cast<std::uint8_t*>(map_) + usable, page, PROT_NONE), 0);
  data_ = static_cast<std::uint8_t*>(map_) + usable - size;
}

GuardedBytes::~GuardedBytes() { munmap(map_, mapped_); }

}  // namespace moe4::test
