// What config.json says of how the experts are quantised (CKP-4).
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "reference/formats/weight_format.h"
#include "reference/status.h"

namespace moe4::oracle {

// nullopt: it says nothing. An Error if it says something that is not supported (RTE-31).
Result<std::optional<WeightFormat>> parse_quant_config(std::string_view config_json);
// The same of a checkpoint's folder, which may have no config.json.
Result<std::optional<WeightFormat>> read_quant_config(const std::filesystem::path& folder);

}  // namespace moe4::oracle
