// FILE-3 … FILE-10: the JSON header. The parser is driven by events, so that depth, repeated keys and types
// are refused as they are met and nothing but the header's own content is ever stored.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "oracle/file/safetensors.h"

namespace moe4::oracle {
namespace {

constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kMaxRank = 8;

std::size_t max_keys(HeaderOf of) {
  return of == HeaderOf::kOurs ? 4096 : std::size_t{1} << 20;  // FILE-10, CKP-3
}

struct RawTensor {
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

// What the header says, and the first thing it says wrongly.
class HeaderEvents {
 public:
  explicit HeaderEvents(HeaderOf of) : max_keys_(max_keys(of)) {}

  std::map<std::string, RawTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::optional<Error> error;

  bool null() { return refuse("null", "FILE-5: no such value in a header"); }
  bool boolean(bool value) { return refuse(value ? "true" : "false", "FILE-5: no such value in a header"); }
  bool number_integer(std::int64_t value) {
    return refuse(std::to_string(value), "FILE-5: a number is a whole number, 0 or more");
  }
  bool number_float(double, const std::string& text) {
    return refuse(text, "FILE-5: a number is a whole number, 0 or more");
  }
  bool binary(std::vector<std::uint8_t>&) { return refuse("binary", "FILE-5: no such value in a header"); }

  bool number_unsigned(std::uint64_t value) {
    if (numbers_ == nullptr)
      return refuse(std::to_string(value), "FILE-5: a number stands in shape or data_offsets only");
    if (numbers_->size() == kMaxRank) return refuse(std::to_string(value), "FILE-6: at most 8 dimensions");
    numbers_->push_back(value);
    return true;
  }

  bool string(std::string& value) {
    if (depth_ != 2 || numbers_ != nullptr)
      return refuse(value, "FILE-5: a string stands in dtype or metadata only");
    if (tensor_ == kMetadata) {
      metadata[key_] = value;
      return true;
    }
    if (key_ != "dtype") return refuse(value, "FILE-5: " + key_ + " is a list of numbers");
    tensors[tensor_].dtype = value;
    return true;
  }

  bool start_object(std::size_t) {
    if (depth_ == 2 || numbers_ != nullptr) return refuse("{", "FILE-5: a header is an object of objects");
    ++depth_;
    return true;
  }
  bool end_object() {
    --depth_;
    return true;
  }

  bool start_array(std::size_t) {
    const bool list = depth_ == 2 && numbers_ == nullptr && tensor_ != kMetadata;
    if (list && key_ == "shape") numbers_ = &tensors[tensor_].shape.emplace();
    if (list && key_ == "data_offsets") numbers_ = &tensors[tensor_].offsets.emplace();
    return numbers_ != nullptr && list ? true
                                       : refuse("[", "FILE-5: a list stands in shape or data_offsets only");
  }
  bool end_array() {
    numbers_ = nullptr;
    return true;
  }

  bool key(std::string& name) {
    if (++keys_ > max_keys_) {
      return refuse(name, fmt::format("FILE-10: a header has at most {} keys", max_keys_));
    }
    if (depth_ == 1) {
      tensor_ = name;
      tensor_keys_.clear();
      if (!names_.insert(name).second) return refuse(name, "FILE-4: a name stands once");
      if (name != kMetadata) tensors[name];
      return true;
    }
    key_ = name;
    if (!tensor_keys_.insert(name).second) return refuse(name, "FILE-4: a key stands once");
    if (tensor_ == kMetadata || name == "dtype" || name == "shape" || name == "data_offsets") return true;
    return refuse(name, "FILE-5: a tensor has dtype, shape and data_offsets");
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    if (!error) error = Error{"header", fmt::format("byte {}", position), "FILE-3: the header is JSON"};
    return false;
  }

 private:
  bool refuse(std::string value, std::string rule) {
    constexpr std::size_t kLongest = 80;
    if (value.size() > kLongest) value = value.substr(0, kLongest) + "...";
    error = Error{tensor_.empty() ? "header" : tensor_, std::move(value), std::move(rule)};
    return false;
  }

  std::size_t max_keys_;
  int depth_ = 0;
  std::size_t keys_ = 0;
  std::string tensor_, key_;
  std::set<std::string> names_, tensor_keys_;
  std::vector<std::uint64_t>* numbers_ = nullptr;
};

std::optional<Dtype> known_dtype(const std::string& name) {
  if (name == "F8_E8M0") return Dtype::kU8;  // FILE-7
  const std::optional<Dtype> dtype = dtype_from_name(name);
  return dtype && name_of(*dtype) == name ? dtype : std::nullopt;
}

// FILE-6 … FILE-8 of one tensor.
Result<TensorEntry> check_tensor(const std::string& name, const RawTensor& raw, std::uint64_t data_bytes,
                                 HeaderOf of) {
  if (!raw.dtype || !raw.shape || !raw.offsets) {
    const char* missing = !raw.dtype ? "dtype" : !raw.shape ? "shape" : "data_offsets";
    return Error{name, missing, "FILE-5: a tensor has dtype, shape and data_offsets; this one is missing"};
  }
  TensorEntry entry;
  entry.stored_dtype = *raw.dtype;
  entry.dtype = known_dtype(*raw.dtype);
  if (!entry.dtype && of == HeaderOf::kOurs) {
    return Error{name, *raw.dtype, "FILE-7: dtype is one of U8 F8_E8M0 I32 I64 BF16 F16 F32 F64"};
  }
  for (const std::uint64_t d : *raw.shape) {
    if (d > (std::uint64_t{1} << 62))
      return Error{name, std::to_string(d), "FILE-6: a dimension is at most 2^62"};
    entry.shape.push_back(static_cast<std::int64_t>(d));
  }
  const std::optional<std::int64_t> count = element_count(entry.shape);
  if (!count) return Error{name, to_string(entry.shape), "FILE-6: a tensor has at most 2^62 elements"};
  if (raw.offsets->size() != 2) {
    return Error{name, std::to_string(raw.offsets->size()), "FILE-8: data_offsets are two numbers"};
  }
  entry.begin = (*raw.offsets)[0];
  entry.end = (*raw.offsets)[1];
  const std::string span = fmt::format("[{},{}]", entry.begin, entry.end);
  if (entry.begin > entry.end) return Error{name, span, "FILE-8: data_offsets ascend"};
  if (entry.end > data_bytes) {
    return Error{
        name, span,
        fmt::format("FILE-8: data_offsets end inside the file, {} bytes after the header", data_bytes)};
  }
  if (!entry.dtype) return entry;
  const auto bytes = static_cast<unsigned __int128>(*count) * size_of(*entry.dtype);
  if (bytes != entry.end - entry.begin) {
    return Error{name, span,
                 fmt::format("FILE-8: data_offsets span shape {} of {}", to_string(entry.shape), *raw.dtype)};
  }
  return entry;
}

// FILE-9: in order of their offsets the tensors touch one another and fill the file.
Status check_layout(const std::map<std::string, TensorEntry>& tensors, std::uint64_t data_bytes) {
  std::vector<std::pair<std::string, const TensorEntry*>> order;
  for (const auto& [name, entry] : tensors) order.emplace_back(name, &entry);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::uint64_t at = 0;
  for (const auto& [name, entry] : order) {
    const std::string span = fmt::format("[{},{}]", entry->begin, entry->end);
    if (entry->begin < at) return Error{name, span, "FILE-9: the bytes of two tensors overlap"};
    if (entry->begin > at)
      return Error{name, span, fmt::format("FILE-9: the bytes from {} belong to no tensor", at)};
    at = entry->end;
  }
  if (at == data_bytes) return {};
  return Error{"header", std::to_string(data_bytes),
               fmt::format("FILE-9: the bytes from {} belong to no tensor", at)};
}

}  // namespace

Result<Header> parse_header(std::string_view text, std::uint64_t data_bytes, HeaderOf of) {
  if (text.empty() || text.front() != '{')
    return Error{"header", std::string(text.substr(0, 1)), "FILE-3: the header begins with {"};
  const std::size_t last = text.find_last_not_of(' ');
  HeaderEvents events(of);
  const std::string_view json = text.substr(0, last + 1);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events, nlohmann::json::input_format_t::json,
                                 true)) {
    return events.error.value_or(Error{"header", "", "FILE-3: the header is JSON"});
  }
  Header header;
  header.metadata = std::move(events.metadata);
  for (const auto& [name, raw] : events.tensors) {
    Result<TensorEntry> entry = check_tensor(name, raw, data_bytes, of);
    if (!entry) return entry.error();
    header.tensors.emplace(name, std::move(*entry));
  }
  if (Status status = check_layout(header.tensors, data_bytes)) return *status;
  return header;
}

}  // namespace moe4::oracle
