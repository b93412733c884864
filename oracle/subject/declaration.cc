#include "oracle/subject/declaration.h"

#include <algorithm>

#include "oracle/case/nearest.h"
#include "oracle/file/strict_json.h"
#include "oracle/subject/declaration_fields.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> parse_object(std::string_view text) {
  Result<Json> json = parse_strict_json(text, "declaration");
  if (json.ok() && !json->is_object()) {
    return Error{"declaration", json->type_name(), "a JSON object (docs/declaration.md)"};
  }
  return json;
}

}  // namespace

std::vector<std::string> declaration_fields() {
  std::vector<std::string> names;
  for (const DeclarationField& field : declaration_field_table()) names.emplace_back(field.name);
  return names;
}

Result<Declaration> parse_declaration(std::string_view text) {
  Result<Json> json = parse_object(text);
  if (!json.ok()) return json.error();

  for (const auto& [key, value] : json->items()) {
    const bool known = std::any_of(declaration_field_table().begin(), declaration_field_table().end(),
                                   [&key = key](const DeclarationField& field) { return field.name == key; });
    if (!known) {
      return bad_field(key, value,
                       "unknown field; the nearest known one is " + nearest_name(key, declaration_fields()));
    }
  }
  Declaration d;
  d.mixture_dtypes = {Dtype::kF32};
  d.ids_dtypes = {Dtype::kI32};
  for (const DeclarationField& field : declaration_field_table()) {
    const auto found = json->find(std::string(field.name));
    if (found == json->end()) {
      if (field.required) return Error{"declaration." + std::string(field.name), "", "required, but missing"};
      continue;
    }
    if (Status status = field.read(field.name, *found, d)) return *status;
  }
  if (d.bits_declared) {
    if (const std::optional<std::string> reason = bits_undetermined(d)) {
      return bad_field("bits", "declared", "VER-17: " + *reason);
    }
  }
  return d;
}

std::optional<std::string> bits_undetermined(const Declaration& d) {
  if (d.profile.empty()) return "no profile is declared";
  // PRO-11: no product over i, no order.
  const bool sums = d.ops != std::vector<Op>{Op::kCombine};
  if (sums && d.arithmetic.order.kind == Order::Kind::kAny) return "the order \"any\" leaves the bits open";
  if (d.any_accumulation) return "the accumulation \"any\" leaves the bits open";
  if (!d.deterministic) return "a kernel that is not deterministic has no bits to promise";
  return std::nullopt;
}

std::string to_json(const Declaration& declaration) {
  Json json = Json::object();
  for (const DeclarationField& field : declaration_field_table()) {
    Json value = field.write(declaration);
    if (!value.is_null()) json[std::string(field.name)] = std::move(value);
  }
  return json.dump(2) + "\n";
}

}  // namespace moe4::oracle
