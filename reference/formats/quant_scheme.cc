#include "reference/formats/quant_scheme.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace moe4 {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kKnownMethods = {{
    {"awq", "AWQ"},
    {"gptq", "GPTQ"},
    {"auto-round", "AutoRound"},
    {"autoround", "AutoRound"},
    {"bitnet", "BitNet"},
    {"fp8", "FP8"},
    {"modelopt", "ModelOpt"},
    {"modelopt_fp4", "ModelOpt"},
    {"nvfp4", "NVFP4"},
}};

Error refuse(std::string field, std::string value, const std::string& why) {
  return {std::move(field), std::move(value), "RTE-31: " + why};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Error refuse_method(const std::string& method) {
  const std::string name = lower(method);
  for (const auto& [key, title] : kKnownMethods) {
    if (name == key) {
      return refuse("quant_method", method,
                    std::string(title) + " is not supported; compressed-tensors and mxfp4 are");
    }
  }
  return refuse("quant_method", method, "the method is not known; compressed-tensors and mxfp4 are");
}

Status check_extras(const QuantScheme& scheme) {
  if (scheme.online) return refuse("online", "true", "weights are quantised before they are loaded");
  if (scheme.zero_point) return refuse("zero_point", "true", "there is no stored zero point");
  if (scheme.bias) return refuse("bias", "true", "there is no bias");
  if (scheme.hadamard) return refuse("hadamard", "true", "there is no Hadamard transform");
  return {};
}

Status check_numbers(const QuantScheme& scheme, std::string_view type) {
  if (scheme.type != type) return refuse("type", scheme.type, "the type is " + std::string(type));
  if (scheme.num_bits != 4) return refuse("num_bits", std::to_string(scheme.num_bits), "codes have 4 bits");
  if (!scheme.symmetric) return refuse("symmetric", "false", "quantisation is symmetric");
  if (!scheme.actorder.empty()) {
    return refuse("actorder", scheme.actorder, "there is no activation order");
  }
  if (scheme.strategy.find("group") == std::string::npos) {
    return refuse("strategy", scheme.strategy, "the strategy is by groups");
  }
  if (scheme.group_size != 32) {
    return refuse("group_size", std::to_string(scheme.group_size), "a group has 32 elements");
  }
  return {};
}

}  // namespace

Result<WeightFormat> weight_format_of(const QuantScheme& scheme) {
  const bool compressed_tensors = scheme.method == "compressed-tensors";
  if (!compressed_tensors && scheme.method != "mxfp4") return refuse_method(scheme.method);
  if (Status error = check_extras(scheme)) return *error;
  if (!compressed_tensors) return WeightFormat::kMxfp4;
  const bool int4 = scheme.format == "pack-quantized";
  if (!int4 && scheme.format != "mxfp4-pack-quantized") {
    return refuse("format", scheme.format, "the format is pack-quantized or mxfp4-pack-quantized");
  }
  if (Status error = check_numbers(scheme, int4 ? "int" : "float")) return *error;
  return int4 ? WeightFormat::kInt4 : WeightFormat::kMxfp4;
}

}  // namespace moe4
