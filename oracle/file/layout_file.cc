#include "oracle/file/layout_file.h"

#include <utility>
#include <vector>

#include "oracle/case/nearest.h"

namespace moe4::oracle {
namespace {

constexpr const char* kVersion = "1";
constexpr const char* kVersionKey = "moe4.version";
constexpr const char* kWeightsKey = "moe4.weights";
constexpr const char* kLayoutKey = "moe4.layout";
constexpr const char* kCodes = "packed_weights";

using Metadata = std::map<std::string, std::string>;

// LAY-15: the layout that the file says it holds; null if it says nothing.
Result<const WeightLayout*> recorded_layout(const Metadata& metadata) {
  const auto weights = metadata.find(kWeightsKey);
  const auto name = metadata.find(kLayoutKey);
  const WeightLayout* none = nullptr;
  if (weights == metadata.end() && name == metadata.end()) return none;
  if (const auto version = metadata.find(kVersionKey);
      version == metadata.end() || version->second != kVersion) {
    return Error{kVersionKey, version == metadata.end() ? "(absent)" : version->second,
                 "LAY-15: moe4.version is \"1\""};
  }
  if (weights == metadata.end())
    return Error{kWeightsKey, "(absent)", "LAY-15: moe4.layout has moe4.weights beside it"};
  const WeightLayout* logical = logical_layout(weights->second);
  if (logical == nullptr) return Error{kWeightsKey, weights->second, "LAY-15: moe4.weights is mxfp4 or int4"};
  if (name == metadata.end()) return logical;
  Result<const WeightLayout*> layout = layout_named(name->second);
  if (!layout) return Error{kLayoutKey, layout.error().value, layout.error().rule};
  if ((*layout)->weights == weights->second) return *layout;
  return Error{kLayoutKey, name->second, "LAY-15: a layout of the file's own weights, " + weights->second};
}

Result<const WeightLayout*> choose_layout(const Metadata& metadata, const LayoutRequest& request) {
  Result<const WeightLayout*> recorded = recorded_layout(metadata);
  if (!recorded) return recorded.error();
  if (*recorded == nullptr) {
    const WeightLayout* layout = request.layout != nullptr ? request.layout : request.fallback;
    if (layout != nullptr) return layout;
    return Error{kLayoutKey, "(absent)", "LAY-15: the file records no layout: name the one that it holds"};
  }
  if (request.layout == nullptr || request.layout == *recorded) return *recorded;
  return Error{kLayoutKey, std::string((*recorded)->name),
               "LAY-13: not packed as " + std::string(request.layout->name) + "; repack the weights"};
}

Result<Tensor> take(SafeTensors& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return Error{name, "(absent)", "LAY-14: the file has this tensor"};
  return std::move(found->second);
}

}  // namespace

Result<const WeightLayout*> layout_named(std::string_view name) {
  if (const WeightLayout* layout = find_weight_layout(name)) return layout;
  std::vector<std::string> known;
  for (const WeightLayout* layout : weight_layouts()) known.emplace_back(layout->name);
  const std::string word(name);
  return Error{"layout", word, "LAY-15: no such layout; the nearest is '" + nearest_name(word, known) + "'"};
}

Result<LayoutFile> read_layout_file(const std::filesystem::path& path, const LayoutRequest& request) {
  Result<SafeTensors> file = read_safetensors(path);
  if (!file) return file.error();
  return layout_from(std::move(*file), request);
}

Result<LayoutFile> layout_from(SafeTensors file, const LayoutRequest& request) {
  Result<const WeightLayout*> layout = choose_layout(file.metadata, request);
  if (!layout) return layout.error();
  LayoutFile result;
  result.layout = *layout;
  Result<Tensor> codes = take(file, request.codes.empty() ? kCodes : request.codes);
  if (!codes) return codes.error();
  result.weights.codes = std::move(*codes);
  if (!result.layout->scales_among_codes()) {
    const std::string name(scale_tensor_name(*result.layout));
    Result<Tensor> scales = take(file, request.scales.empty() ? name : request.scales);
    if (!scales) return scales.error();
    result.weights.scales = std::move(*scales);
  }
  Result<WeightExtent> extent = check_weights(*result.layout, result.weights.views());
  if (!extent) return extent.error();
  result.extent = *extent;
  return result;
}

Status write_layout_file(const std::filesystem::path& path, const WeightLayout& layout,
                         const WeightTensors& weights) {
  std::map<std::string, const Tensor*> tensors = {{kCodes, &weights.codes}};
  if (!layout.scales_among_codes()) tensors[std::string(scale_tensor_name(layout))] = &weights.scales;
  return write_safetensors(path, tensors,
                           {{kVersionKey, kVersion},
                            {kWeightsKey, std::string(layout.weights)},
                            {kLayoutKey, std::string(layout.name)}});
}

}  // namespace moe4::oracle
