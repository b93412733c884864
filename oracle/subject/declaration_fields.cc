#include "oracle/subject/declaration_fields.h"

#include <algorithm>
#include <cctype>

#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

Error bad(std::string_view field, const Json& value, std::string rule) {
  return bad_field(field, value, std::move(rule));
}

Status read_string(std::string_view field, const Json& value, std::string& to) {
  if (!value.is_string()) return bad(field, value, "a string");
  to = value.get<std::string>();
  return {};
}

Status read_word(std::string_view field, const Json& value, std::initializer_list<std::string_view> words,
                 std::string& to) {
  if (Status status = read_string(field, value, to)) return status;
  if (std::find(words.begin(), words.end(), to) != words.end()) return {};
  std::string known;
  for (const std::string_view word : words) known += (known.empty() ? "" : ", ") + std::string(word);
  return bad(field, value, "one of " + known);
}

Status read_bool(std::string_view field, const Json& value, bool& to) {
  if (!value.is_boolean()) return bad(field, value, "true or false");
  to = value.get<bool>();
  return {};
}

Status read_limit(std::string_view field, const Json& value, std::int64_t& to) {
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kNoLimit);
  if (!fits) return bad(field, value, "an integer in 1..2^40");
  to = value.get<std::int64_t>();
  return {};
}

Status read_dtypes(std::string_view field, const Json& value, bool floats, std::vector<Dtype>& to) {
  const std::string rule =
      floats ? "a non-empty list of bf16, f16, f32, f64" : "a non-empty list of i32, i64";
  if (!value.is_array() || value.empty()) return bad(field, value, rule);
  to.clear();
  for (const Json& item : value) {
    const std::optional<Dtype> dtype =
        item.is_string() ? dtype_from_name(item.get<std::string>()) : std::nullopt;
    const bool fits = dtype && (floats ? is_float(*dtype) : *dtype == Dtype::kI32 || *dtype == Dtype::kI64);
    if (!fits) return bad(field, item, rule);
    if (std::find(to.begin(), to.end(), *dtype) != to.end()) return bad(field, item, "each dtype once");
    to.push_back(*dtype);
  }
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// One word, or a list of them, each once.
Status read_words(std::string_view field, const Json& value, const std::vector<std::string>& known,
                  std::vector<std::string>& to) {
  const std::string rule = "one of " + joined(known) + ", or a list of them";
  to.clear();
  const Json list = value.is_array() ? value : Json::array({value});
  if (list.empty()) return bad(field, value, rule);
  for (const Json& item : list) {
    const bool fits =
        item.is_string() && std::find(known.begin(), known.end(), item.get<std::string>()) != known.end();
    if (!fits) return bad(field, item, rule);
    to.push_back(item.get<std::string>());
    if (std::count(to.begin(), to.end(), to.back()) > 1) return bad(field, item, "each word once");
  }
  return {};
}

// The word alone where there is one only.
template <class Value>
Json write_words(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value value : values) list.push_back(name_of(value));
  return list.size() == 1 ? list[0] : list;
}

// A setting of the declared arithmetic, whose key is the field's name (PRO-19).
Status read_setting(std::string_view field, const Json& value, Declaration& d) {
  std::string text;
  if (Status status = read_string(field, value, text)) return status;
  const Status error = set_arithmetic(d.arithmetic, field, text);
  return error ? bad(field, value, error->rule) : Status();
}

Json write_dtypes(const std::vector<Dtype>& dtypes) {
  Json list = Json::array();
  for (const Dtype dtype : dtypes) list.push_back(lower(name_of(dtype)));
  return list;
}

using Name = std::string_view;

constexpr DeclarationField kFields[] = {
    {"schema", true,
     [](Name f, const Json& v, Declaration&) -> Status {
       if (v == kDeclarationSchema) return {};
       return bad(f, v, "this version reads schema 1");
     },
     [](const Declaration&) -> Json { return kDeclarationSchema; }},
    {"name", true,
     [](Name f, const Json& v, Declaration& d) -> Status {
       if (Status status = read_string(f, v, d.name)) return status;
       const auto allowed = [](char c) {
         return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' || c == '/';
       };
       if (!d.name.empty() && std::all_of(d.name.begin(), d.name.end(), allowed)) return {};
       return bad(f, v, "one or more letters, digits, '_', '-', '.', '/'");
     },
     [](const Declaration& d) -> Json { return d.name; }},
    {"op", true,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::vector<std::string> words;
       if (Status status = read_words(f, v, op_words(), words)) return status;
       d.ops.clear();
       for (const std::string& word : words) d.ops.push_back(*op_from_name(word));
       return {};
     },
     [](const Declaration& d) { return write_words(d.ops); }},
    {"weights", true,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::vector<std::string> words;
       if (Status status = read_words(f, v, weight_words(), words)) return status;
       d.weights.clear();
       for (const std::string& word : words) d.weights.push_back(*weight_format_from_name(word));
       return {};
     },
     [](const Declaration& d) { return write_words(d.weights); }},
    {"dtypes", true, [](Name f, const Json& v, Declaration& d) { return read_dtypes(f, v, true, d.dtypes); },
     [](const Declaration& d) { return write_dtypes(d.dtypes); }},
    {"mixture_dtypes", false,
     [](Name f, const Json& v, Declaration& d) { return read_dtypes(f, v, true, d.mixture_dtypes); },
     [](const Declaration& d) { return write_dtypes(d.mixture_dtypes); }},
    {"shared_dtypes", false,
     [](Name f, const Json& v, Declaration& d) { return read_dtypes(f, v, true, d.shared_dtypes); },
     [](const Declaration& d) { return d.shared_dtypes.empty() ? Json() : write_dtypes(d.shared_dtypes); }},
    {"ids_dtypes", false,
     [](Name f, const Json& v, Declaration& d) { return read_dtypes(f, v, false, d.ids_dtypes); },
     [](const Declaration& d) { return write_dtypes(d.ids_dtypes); }},
    {"in_multiple", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       if (Status status = read_limit(f, v, d.in_multiple)) return status;
       if (d.in_multiple % 32 == 0) return {};
       return bad(f, v, "a multiple of 32, the group size (FMT-4)");
     },
     [](const Declaration& d) -> Json { return d.in_multiple; }},
    {"in_max", false, [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.in_max); },
     [](const Declaration& d) -> Json { return d.in_max; }},
    {"out_multiple", false,
     [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.out_multiple); },
     [](const Declaration& d) -> Json { return d.out_multiple; }},
    {"out_max", false, [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.out_max); },
     [](const Declaration& d) -> Json { return d.out_max; }},
    {"tokens_max", false,
     [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.tokens_max); },
     [](const Declaration& d) -> Json { return d.tokens_max; }},
    {"experts_max", false,
     [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.experts_max); },
     [](const Declaration& d) -> Json { return d.experts_max; }},
    {"top_k_max", false, [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.top_k_max); },
     [](const Declaration& d) -> Json { return d.top_k_max; }},
    {"policy", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::string text;
       if (Status status = read_string(f, v, text)) return status;
       d.any_policy = text == "any";
       if (d.any_policy) return {};
       Result<Policy> policy = parse_policy(text);
       if (!policy.ok()) return bad(f, v, policy.error().message());
       d.policy = *policy;
       return {};
     },
     [](const Declaration& d) -> Json { return d.any_policy ? "any" : to_string(d.policy); }},
    {"layouts", false,
     [](Name f, const Json& v, Declaration& d) { return read_words(f, v, layout_words(), d.layouts); },
     [](const Declaration& d) { return d.layouts.empty() ? Json() : Json(d.layouts); }},
    {"block_m", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       if (!v.is_array() || v.empty()) return bad(f, v, "a non-empty list of integers");
       d.block_m.clear();
       for (const Json& item : v) {
         if (Status status = read_limit(f, item, d.block_m.emplace_back())) return status;
       }
       return {};
     },
     [](const Declaration& d) { return d.block_m.empty() ? Json() : Json(d.block_m); }},
    {"max_m_multiple", false,
     [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.max_m_multiple); },
     [](const Declaration& d) -> Json { return d.max_m_multiple; }},
    {"capacity_max", false,
     [](Name f, const Json& v, Declaration& d) { return read_limit(f, v, d.capacity_max); },
     [](const Declaration& d) -> Json { return d.capacity_max; }},
    {"profile", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       if (Status status = read_setting(f, v, d)) return status;
       d.profile = v.get<std::string>();
       return {};
     },
     [](const Declaration& d) { return d.profile.empty() ? Json() : Json(d.profile); }},
    {"order", false, read_setting,
     [](const Declaration& d) -> Json { return arithmetic_value(d.arithmetic, "order"); }},
    {"accumulation", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       d.any_accumulation = v == "any";
       return d.any_accumulation ? Status() : read_setting(f, v, d);
     },
     [](const Declaration& d) -> Json {
       return d.any_accumulation ? "any" : arithmetic_value(d.arithmetic, "accumulation");
     }},
    {"products", false, read_setting,
     [](const Declaration& d) -> Json { return arithmetic_value(d.arithmetic, "products"); }},
    {"ftz", false, [](Name f, const Json& v, Declaration& d) { return read_bool(f, v, d.arithmetic.ftz); },
     [](const Declaration& d) -> Json { return d.arithmetic.ftz; }},
    {"weight", false, read_setting,
     [](const Declaration& d) -> Json { return arithmetic_value(d.arithmetic, "weight"); }},
    {"dequant", false, read_setting,
     [](const Declaration& d) -> Json { return arithmetic_value(d.arithmetic, "dequant"); }},
    {"bits", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::string word;
       if (Status status = read_word(f, v, {"any", "declared"}, word)) return status;
       d.bits_declared = word == "declared";
       return {};
     },
     [](const Declaration& d) -> Json { return d.bits_declared ? "declared" : "any"; }},
    {"zero", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::string word;
       if (Status status = read_word(f, v, {"any", "strict"}, word)) return status;
       d.zero = word == "strict" ? ZeroCompare::kStrict : ZeroCompare::kAny;
       return {};
     },
     [](const Declaration& d) -> Json { return d.zero == ZeroCompare::kStrict ? "strict" : "any"; }},
    {"nonfinite", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::string word;
       if (Status status = read_word(f, v, {"ieee", "unspecified"}, word)) return status;
       d.nonfinite_ieee = word == "ieee";
       return {};
     },
     [](const Declaration& d) -> Json { return d.nonfinite_ieee ? "ieee" : "unspecified"; }},
    {"deterministic", false,
     [](Name f, const Json& v, Declaration& d) { return read_bool(f, v, d.deterministic); },
     [](const Declaration& d) -> Json { return d.deterministic; }},
    {"invariant", false, [](Name f, const Json& v, Declaration& d) { return read_bool(f, v, d.invariant); },
     [](const Declaration& d) -> Json { return d.invariant; }},
    {"launch", false,
     [](Name, const Json& v, Declaration& d) -> Status {
       Result<LaunchDeclaration> launch = parse_launch(v);
       if (!launch.ok()) return launch.error();
       d.launch = std::move(*launch);
       return {};
     },
     [](const Declaration& d) { return d.launch ? launch_to_json(*d.launch) : Json(); }},
};

}  // namespace

Error bad_field(std::string_view field, const Json& value, std::string rule) {
  return Error{"declaration." + std::string(field), value.dump(), std::move(rule)};
}

std::span<const DeclarationField> declaration_field_table() { return kFields; }

}  // namespace moe4::oracle
