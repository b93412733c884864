// Files of packed weights: LAY-14, LAY-15.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "oracle/file/safetensors.h"
#include "reference/layout/repack.h"

namespace moe4::oracle {

struct LayoutFile {
  const WeightLayout* layout = nullptr;
  WeightExtent extent;
  WeightTensors weights;
};

struct LayoutRequest {
  // What the reader says of the file; null: nothing. It must not contradict what the file records (LAY-13).
  const WeightLayout* layout = nullptr;
  // For a file that records nothing, where the reader says nothing; null: such a file is refused.
  const WeightLayout* fallback = nullptr;
  // Names of the tensors, if they are not those of LAY-14.
  std::string codes, scales;
};

// Names the nearest layout if there is none of this name.
Result<const WeightLayout*> layout_named(std::string_view name);

Result<LayoutFile> read_layout_file(const std::filesystem::path& path, const LayoutRequest& request);
Result<LayoutFile> layout_from(SafeTensors file, const LayoutRequest& request);

Status write_layout_file(const std::filesystem::path& path, const WeightLayout& layout,
                         const WeightTensors& weights);

}  // namespace moe4::oracle
