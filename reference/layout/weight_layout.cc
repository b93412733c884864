#include "reference/layout/weight_layout.h"

#include <array>
#include <utility>

#include "reference/layout/layouts.h"

namespace moe4 {

std::span<const WeightLayout* const> weight_layouts() {
  static constexpr std::array<const WeightLayout*, 8> kAll = {
      &kRowMajor,          &kGguf,         &kGptOss, &kCompressedTensors, &kIndexedMma, &kIndexedWgmma,
      &kGroupedContiguous, &kGroupedMasked};
  return kAll;
}

const WeightLayout* find_weight_layout(std::string_view name) {
  for (const WeightLayout* layout : weight_layouts()) {
    if (layout->name == name) return layout;
  }
  return nullptr;
}

const WeightLayout* logical_layout(std::string_view weights) {
  if (weights == kRowMajor.weights) return &kRowMajor;
  if (weights == kCompressedTensors.weights) return &kCompressedTensors;
  return nullptr;
}

std::string_view scale_tensor_name(const WeightLayout& layout) {
  return layout.weights == kRowMajor.weights ? "scale_bytes" : "scales";
}

Status check_extent(const WeightLayout& layout, const WeightExtent& extent) {
  const std::array<std::pair<const char*, std::int64_t>, 3> dims = {
      {{"experts", extent.experts}, {"out", extent.out}, {"in", extent.in}}};
  for (const auto& [name, value] : dims) {
    if (value < 1) return Error{name, std::to_string(value), "LAY-4: experts, out and in are 1 or more"};
  }
  const auto multiple = [&](const char* name, std::int64_t value, std::int64_t of) -> Status {
    if (value % of == 0) return {};
    return Error{name, std::to_string(value),
                 "LAY-4: a multiple of " + std::to_string(of) + " in layout " + std::string(layout.name)};
  };
  if (Status status = multiple("out", extent.out, layout.out_multiple)) return status;
  if (Status status = multiple("in", extent.in, layout.in_multiple)) return status;
  const Shape all = {extent.experts, extent.out, extent.in};
  if (!element_count(all)) return Error{"weights", to_string(all), "LAY-4: at most 2^62 weights"};
  return {};
}

}  // namespace moe4
