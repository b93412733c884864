// Which quantisation schemes of checkpoints can be read (RTE-31). Everything else is refused by name, before
// any tensor is looked at.
#pragma once

#include <string>

#include "reference/formats/weight_format.h"
#include "reference/status.h"

namespace moe4 {

// What a checkpoint says of itself, by the names of its quantization_config.
struct QuantScheme {
  std::string method;        // quant_method: "compressed-tensors", "mxfp4", "awq", …
  std::string format;        // of compressed-tensors: "pack-quantized", "mxfp4-pack-quantized", …
  std::string type = "int";  // "float" for mxfp4-pack-quantized
  int num_bits = 4;
  int group_size = 32;
  bool symmetric = true;
  std::string strategy = "group";
  std::string actorder;  // empty: none
  bool zero_point = false;
  bool bias = false;
  bool hadamard = false;
  bool online = false;  // quantised while loading
};

// The weight format, or what stands against it: the field of the scheme, its value, RTE-31.
Result<WeightFormat> weight_format_of(const QuantScheme& scheme);

}  // namespace moe4
