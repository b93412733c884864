#include "oracle/file/checkpoint/quant_config.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oracle/file/mapped_file.h"
#include "reference/formats/quant_scheme.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::json;
using Format = std::optional<WeightFormat>;

constexpr const char* kConfig = "config.json";
constexpr const char* kKey = "quantization_config";

Error refuse(const std::string& where, const char* key, const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return {where + "." + key, text, "CKP-4: the value has another type in a quantization_config"};
}

// The members of a quantization_config that are there and not null, by type; the first of another type is an
// error.
class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  void text(const char* key, std::string& to) {
    if (const Json* value = find(key)) value->is_string() ? void(to = value->get<std::string>()) : bad(key);
  }
  void number(const char* key, int& to) {
    const Json* value = find(key);
    if (value == nullptr) return;
    // A whole number above 2^63 is unsigned and would wrap; one below 0 is no size or width of anything.
    const bool fits = value->is_number_unsigned() && value->get<std::uint64_t>() <= INT_MAX;
    fits ? void(to = value->get<int>()) : bad(key);
  }
  void flag(const char* key, bool& to) {
    if (const Json* value = find(key)) value->is_boolean() ? void(to = value->get<bool>()) : bad(key);
  }
  // "static", "group", or false for none.
  void activation_order(const char* key, std::string& to) {
    const Json* value = find(key);
    if (value == nullptr || *value == false) return;
    to = *value == true ? "true" : "";
    if (to.empty()) text(key, to);
  }
  const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  const Status& error() const { return error_; }

 private:
  void bad(const char* key) {
    if (!error_) error_ = refuse(where_, key, object_.at(key));
  }

  const Json& object_;
  std::string where_;
  Status error_;
};

Error located(const std::string& where, Error error) {
  error.field = where + "." + error.field;
  return error;
}

Result<Format> format_of(const QuantScheme& scheme, const std::string& where) {
  Result<WeightFormat> format = weight_format_of(scheme);
  if (!format) return located(where, format.error());
  return Format(*format);
}

// What a config that names no type means.
const char* type_of(const std::string& format) { return format == "mxfp4-pack-quantized" ? "float" : "int"; }

// One of config_groups of compressed-tensors, over what stands for all of them.
Result<Format> group_format(const Json& group, QuantScheme scheme, const std::string& where) {
  if (!group.is_object()) return Error{where, "", "CKP-4: a group is an object"};
  Members of_group(group, where);
  of_group.text("format", scheme.format);
  if (of_group.error()) return *of_group.error();
  scheme.type = type_of(scheme.format);
  const Json* weights = of_group.find("weights");
  if (weights == nullptr || !weights->is_object()) {
    return Error{where, "(no weights)", "CKP-4: a group says how its weights are quantised"};
  }
  Members members(*weights, where + ".weights");
  members.text("type", scheme.type);
  members.number("num_bits", scheme.num_bits);
  members.number("group_size", scheme.group_size);
  members.flag("symmetric", scheme.symmetric);
  members.text("strategy", scheme.strategy);
  members.activation_order("actorder", scheme.actorder);
  if (members.error()) return *members.error();
  return format_of(scheme, where);
}

// All sources that say something say the same.
Status agree(Format& so_far, const Result<Format>& next, const std::string& where) {
  if (!next) return next.error();
  if (so_far && *next && *so_far != **next) {
    return Error{where, "", "CKP-4: all that is said of the weights names one format"};
  }
  if (*next) so_far = *next;
  return {};
}

Result<Format> format_of_config(const Json& config, const std::string& where) {
  if (!config.is_object()) return Error{where, "", "CKP-4: a quantization_config is an object"};
  QuantScheme scheme;
  Members members(config, where);
  members.text("quant_method", scheme.method);
  members.text("format", scheme.format);
  if (members.error()) return *members.error();
  scheme.type = type_of(scheme.format);
  // An empty transform_config is written for no transform.
  const Json* transform = members.find("transform_config");
  scheme.hadamard = transform != nullptr && !transform->empty();
  const Json* groups = members.find("config_groups");
  if (groups == nullptr || scheme.hadamard) return format_of(scheme, where);
  if (!groups->is_object() || groups->empty())
    return Error{where + ".config_groups", "", "CKP-4: an object of groups"};
  Format format;
  for (const auto& [name, group] : groups->items()) {
    const std::string at = where + ".config_groups." + name;
    if (Status status = agree(format, group_format(group, scheme, at), at)) return *status;
  }
  return format;
}

}  // namespace

Result<Format> parse_quant_config(std::string_view config_json) {
  const Json config = Json::parse(config_json.begin(), config_json.end(), nullptr, false);
  if (!config.is_object()) return Error{kConfig, "", "CKP-4: config.json is a JSON object"};
  Format format;
  const auto look = [&](const Json& at, const std::string& where) -> Status {
    const auto found = at.find(kKey);
    if (found == at.end() || found->is_null()) return {};
    return agree(format, format_of_config(*found, where), where);
  };
  if (Status status = look(config, std::string(kConfig) + ": " + kKey)) return *status;
  const auto text = config.find("text_config");
  if (text != config.end() && text->is_object()) {
    if (Status status = look(*text, std::string(kConfig) + ": text_config." + kKey)) return *status;
  }
  return format;
}

Result<Format> read_quant_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kConfig;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Format();
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() > std::size_t{1} << 24)
    return Error{path.string(), std::to_string(bytes.size()), "CKP-4: config.json has at most 2^24 bytes"};
  return parse_quant_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace moe4::oracle
