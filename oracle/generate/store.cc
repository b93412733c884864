#include "oracle/generate/store.h"

#include "reference/arithmetic/round.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {
namespace {

std::uint64_t encode(const FloatFormat& format, const ExactValue& value) {
  if (value.cls != ValueClass::kNan) return round_to(format, value);
  const std::uint64_t payload = value.significand & format.mantissa_mask();
  const std::uint64_t magnitude = payload == 0 ? format.canonical_nan() : format.infinity() | payload;
  return magnitude | (value.negative ? format.sign_bit() : 0);
}

}  // namespace

void store_float(Tensor& tensor, std::int64_t index, const ExactValue& value) {
  const std::uint64_t bits = encode(format_of(tensor.dtype()), value);
  const auto at = static_cast<std::size_t>(index);
  switch (size_of(tensor.dtype())) {
    case 2:
      tensor.as<std::uint16_t>()[at] = static_cast<std::uint16_t>(bits);
      break;
    case 4:
      tensor.as<std::uint32_t>()[at] = static_cast<std::uint32_t>(bits);
      break;
    default:
      tensor.as<std::uint64_t>()[at] = bits;
  }
}

void store_id(Tensor& tensor, std::int64_t index, std::int64_t id) {
  const auto at = static_cast<std::size_t>(index);
  if (tensor.dtype() == Dtype::kI32) {
    tensor.as<std::int32_t>()[at] = static_cast<std::int32_t>(id);
  } else {
    tensor.as<std::int64_t>()[at] = id;
  }
}

std::uint64_t load_float_bits(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  switch (size_of(tensor.dtype())) {
    case 2:
      return tensor.as<std::uint16_t>()[at];
    case 4:
      return tensor.as<std::uint32_t>()[at];
    default:
      return tensor.as<std::uint64_t>()[at];
  }
}

std::int64_t load_id(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return tensor.dtype() == Dtype::kI32 ? tensor.as<std::int32_t>()[at] : tensor.as<std::int64_t>()[at];
}

}  // namespace moe4::oracle
