// The one table of the fields of a declaration: what reads and what writes each (docs/declaration.md).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "oracle/subject/declaration.h"

namespace moe4::oracle {

// write gives null for a field that has nothing to say.
struct DeclarationField {
  std::string_view name;
  bool required;
  Status (*read)(std::string_view field, const nlohmann::ordered_json& value, Declaration& d);
  nlohmann::ordered_json (*write)(const Declaration& d);
};

std::span<const DeclarationField> declaration_field_table();

// An Error of a field of the declaration.
Error bad_field(std::string_view field, const nlohmann::ordered_json& value, std::string rule);

}  // namespace moe4::oracle
