// CKP-1. Driven by events: the index of a large model has half a million names, and only these are stored.
#include "oracle/file/checkpoint/index_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

namespace moe4::oracle {
namespace {

constexpr const char* kMap = "weight_map";

class IndexEvents {
 public:
  IndexJson index;
  bool has_map = false;
  std::optional<Error> error;

  bool null() { return other(); }
  bool boolean(bool) { return other(); }
  bool number_integer(std::int64_t) { return other(); }
  bool number_unsigned(std::uint64_t) { return other(); }
  bool number_float(double, const std::string&) { return other(); }
  bool binary(std::vector<std::uint8_t>&) { return other(); }
  bool start_array(std::size_t) {
    if (depth_ == 0 || in_map() || (depth_ == 1 && key_ == kMap)) return other();
    ++depth_;
    return true;
  }
  bool end_array() { return leave(); }

  bool start_object(std::size_t) {
    if (in_map()) return other();
    if (depth_ == 1) key_at_top_ = key_;
    ++depth_;
    return true;
  }
  bool end_object() { return leave(); }

  bool key(std::string& name) {
    key_ = name;
    if (depth_ == 1 && name == kMap) {
      if (has_map) return refuse(name, "it stands once");
      has_map = true;
    }
    if (depth_ == 1) key_at_top_.clear();
    return true;
  }

  bool string(std::string& value) {
    if (!in_map()) return other();
    const bool plain = !value.empty() && value != "." && value != ".." &&
                       value.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    if (!plain) return refuse(value, "a file of this folder, named without a path");
    const auto [known, added] = numbers_.emplace(value, index.files.size());
    if (added) index.files.push_back(value);
    if (!index.names.emplace(key_, known->second).second) return refuse(value, "a tensor stands once");
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    if (!error) error = Error{fmt::format("byte {}", position), "", "CKP-1: the index is a JSON object"};
    return false;
  }

 private:
  bool in_map() const { return depth_ == 2 && key_at_top_ == kMap; }
  bool leave() {
    --depth_;
    return true;
  }
  // What is no name of a file: not in the map, not in its place, and not the whole document.
  bool other() {
    if (in_map()) return refuse("(no string)", "the name of a file");
    if (depth_ == 0) return refuse("(no object)", "the index is a JSON object");
    if (depth_ == 1 && key_ == kMap) return refuse("(no object)", "it maps tensors to files");
    return true;
  }
  bool refuse(const std::string& value, const char* rule) {
    error = Error{key_.empty() ? kMap : key_, value, fmt::format("CKP-1: {}", rule)};
    return false;
  }

  int depth_ = 0;
  std::string key_, key_at_top_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

Result<IndexJson> parse_index_json(std::string_view text) {
  IndexEvents events;
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &events,
                                               nlohmann::json::input_format_t::json, true);
  if (!whole) return events.error.value_or(Error{"index", "", "CKP-1: the index is a JSON object"});
  if (!events.has_map) return Error{kMap, "(absent)", "CKP-1: the index maps tensors to files"};
  return std::move(events.index);
}

}  // namespace moe4::oracle
