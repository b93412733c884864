// Fields of a JSON object of unknown origin, each by name and type. The first that is missing or of another
// type is the error; from then on every value is a default one, so that only the end has to ask.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle {

class JsonReader {
 public:
  // `error` is shared by all readers of one document.
  JsonReader(const nlohmann::ordered_json& json, std::string path, Status& error);

  bool has(const char* key) const;
  std::string text(const char* key) const;
  std::int64_t whole(const char* key, std::int64_t least = 0) const;
  std::uint64_t number64(const char* key) const;
  double number(const char* key) const;  // null is infinite: JSON has no word for it
  bool flag(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::vector<std::int64_t> wholes(const char* key) const;
  JsonReader object(const char* key) const;
  std::vector<JsonReader> objects(const char* key) const;
  const nlohmann::ordered_json& raw(const char* key) const;  // null if there is none

  // The first failure stays.
  void fail(const std::string& field, std::string value, std::string rule) const;

 private:
  const nlohmann::ordered_json& field(const char* key, bool (nlohmann::ordered_json::*is)() const noexcept,
                                      const char* rule) const;

  const nlohmann::ordered_json* json_;
  std::string path_;
  Status* error_;
};

}  // namespace moe4::oracle
