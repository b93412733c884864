#include "oracle/report/json_reader.h"

#include <limits>

namespace moe4::oracle {

using Json = nlohmann::ordered_json;

namespace {

const Json& null_json() {
  static const Json kNull;
  return kNull;
}

}  // namespace

JsonReader::JsonReader(const Json& json, std::string path, Status& error)
    : json_(&json), path_(std::move(path)), error_(&error) {
  if (!json.is_object()) fail("", "", "an object");
}

void JsonReader::fail(const std::string& name, std::string value, std::string rule) const {
  if (*error_) return;
  const std::string point = path_.empty() || name.empty() ? "" : ".";
  *error_ = Error{path_ + point + name, std::move(value), std::move(rule)};
}

bool JsonReader::has(const char* key) const { return json_->is_object() && json_->contains(key); }

const Json& JsonReader::raw(const char* key) const { return has(key) ? (*json_)[key] : null_json(); }

const Json& JsonReader::field(const char* key, bool (Json::*is)() const noexcept, const char* rule) const {
  const Json& value = raw(key);
  if ((value.*is)()) return value;
  fail(key, has(key) ? value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60) : "(absent)",
       rule);
  return null_json();
}

std::string JsonReader::text(const char* key) const {
  const Json& value = field(key, &Json::is_string, "a string");
  return value.is_string() ? value.get<std::string>() : "";
}

std::int64_t JsonReader::whole(const char* key, std::int64_t least) const {
  const Json& value = field(key, &Json::is_number_integer, "a whole number");
  if (!value.is_number_integer()) return least;
  const bool large = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62;
  const std::int64_t number = large ? least - 1 : value.get<std::int64_t>();
  if (number >= least) return number;
  fail(key, value.dump(), "a whole number from " + std::to_string(least) + " to 2^62");
  return least;
}

std::uint64_t JsonReader::number64(const char* key) const {
  const Json& value = field(key, &Json::is_number_unsigned, "a whole number below 2^64");
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

double JsonReader::number(const char* key) const {
  if (has(key) && raw(key).is_null()) return std::numeric_limits<double>::infinity();
  const Json& value = field(key, &Json::is_number, "a number");
  return value.is_number() ? value.get<double>() : 0;
}

bool JsonReader::flag(const char* key) const {
  const Json& value = field(key, &Json::is_boolean, "true or false");
  return value.is_boolean() && value.get<bool>();
}

std::vector<std::string> JsonReader::texts(const char* key) const {
  std::vector<std::string> all;
  for (const Json& value : field(key, &Json::is_array, "a list of strings")) {
    if (!value.is_string()) {
      fail(key, "", "a list of strings");
      return {};
    }
    all.push_back(value.get<std::string>());
  }
  return all;
}

std::vector<std::int64_t> JsonReader::wholes(const char* key) const {
  std::vector<std::int64_t> all;
  for (const Json& value : field(key, &Json::is_array, "a list of whole numbers")) {
    if (!value.is_number_integer()) {
      fail(key, "", "a list of whole numbers");
      return {};
    }
    all.push_back(value.get<std::int64_t>());
  }
  return all;
}

JsonReader JsonReader::object(const char* key) const {
  return JsonReader(field(key, &Json::is_object, "an object"), path_ + (path_.empty() ? "" : ".") + key,
                    *error_);
}

std::vector<JsonReader> JsonReader::objects(const char* key) const {
  std::vector<JsonReader> all;
  const std::string path = path_ + (path_.empty() ? "" : ".") + key;
  for (const Json& value : field(key, &Json::is_array, "a list of objects")) {
    all.emplace_back(value, path + "[" + std::to_string(all.size()) + "]", *error_);
  }
  return all;
}

}  // namespace moe4::oracle
