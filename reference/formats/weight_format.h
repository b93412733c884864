// The two weight formats, by the names that case lines and files use (weights=mxfp4, weights=int4).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moe4 {

enum class WeightFormat : std::uint8_t { kMxfp4, kInt4 };

constexpr std::string_view name_of(WeightFormat format) {
  return format == WeightFormat::kMxfp4 ? "mxfp4" : "int4";
}
constexpr std::optional<WeightFormat> weight_format_from_name(std::string_view name) {
  if (name == "mxfp4") return WeightFormat::kMxfp4;
  if (name == "int4") return WeightFormat::kInt4;
  return std::nullopt;
}

}  // namespace moe4
