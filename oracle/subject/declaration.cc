#include "oracle/subject/declaration.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "oracle/case/nearest.h"

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
  return Error{"declaration." + std::string(field), value.dump(), std::move(rule)};
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

Json write_dtypes(const std::vector<Dtype>& dtypes) {
  Json list = Json::array();
  for (const Dtype dtype : dtypes) list.push_back(lower(name_of(dtype)));
  return list;
}

// One field of the schema. write gives null for a field that has nothing to say.
struct Field {
  std::string_view name;
  bool required;
  Status (*read)(std::string_view field, const Json& value, Declaration& d);
  Json (*write)(const Declaration& d);
};

using Name = std::string_view;

constexpr Field kFields[] = {
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
     [](Name f, const Json& v, Declaration& d) { return read_word(f, v, {"expert_linear"}, d.op); },
     [](const Declaration& d) -> Json { return d.op; }},
    {"weights", true,
     [](Name f, const Json& v, Declaration& d) { return read_word(f, v, {"mxfp4"}, d.weights); },
     [](const Declaration& d) -> Json { return d.weights; }},
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
    {"profile", false,
     [](Name f, const Json& v, Declaration& d) { return read_word(f, v, {"once"}, d.profile); },
     [](const Declaration& d) { return d.profile.empty() ? Json() : Json(d.profile); }},
    {"order", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::string text;
       if (Status status = read_string(f, v, text)) return status;
       Result<Order> order = parse_order(text);
       if (!order.ok()) return bad(f, v, order.error().message());
       d.arithmetic.order = *order;
       return {};
     },
     [](const Declaration& d) -> Json { return to_string(d.arithmetic.order); }},
    {"products", false,
     [](Name f, const Json& v, Declaration& d) -> Status {
       std::string word;
       if (Status status = read_word(f, v, {"fma", "rounded"}, word)) return status;
       d.arithmetic.product_rounded = word == "rounded";
       return {};
     },
     [](const Declaration& d) -> Json { return d.arithmetic.product_rounded ? "rounded" : "fma"; }},
    {"ftz", false, [](Name f, const Json& v, Declaration& d) { return read_bool(f, v, d.arithmetic.ftz); },
     [](const Declaration& d) -> Json { return d.arithmetic.ftz; }},
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
};

// nlohmann keeps the last of two equal keys; a declaration that says two things is refused instead.
Result<Json> parse_object(std::string_view text) {
  std::set<std::string> seen;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const std::string key = parsed.get<std::string>();
      if (!seen.insert(key).second) repeated = key;
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    return Error{"declaration", "byte " + std::to_string(error.byte), "not JSON (RFC 8259)"};
  }
  if (!json.is_object()) return Error{"declaration", json.type_name(), "a JSON object (docs/declaration.md)"};
  if (!repeated.empty()) return Error{"declaration." + repeated, "twice", "each field once"};
  return json;
}

bool contains(const std::vector<Dtype>& list, Dtype dtype) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

std::string refusal(std::string_view key, std::string_view value, std::string_view accepts) {
  return std::string(key) + "=" + std::string(value) + " (accepts " + std::string(accepts) + ")";
}

std::string refusal(std::string_view key, Dtype dtype, const std::vector<Dtype>& accepted) {
  std::string names;
  for (const Dtype d : accepted) names += (names.empty() ? "" : ", ") + lower(name_of(d));
  return refusal(key, lower(name_of(dtype)), names);
}

}  // namespace

std::vector<std::string> declaration_fields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) names.emplace_back(field.name);
  return names;
}

Result<Declaration> parse_declaration(std::string_view text) {
  Result<Json> json = parse_object(text);
  if (!json.ok()) return json.error();

  for (const auto& [key, value] : json->items()) {
    const bool known = std::any_of(std::begin(kFields), std::end(kFields),
                                   [&key = key](const Field& field) { return field.name == key; });
    if (!known) {
      return bad(key, value,
                 "unknown field; the nearest known one is " + nearest_name(key, declaration_fields()));
    }
  }
  Declaration d;
  d.mixture_dtypes = {Dtype::kF32};
  d.ids_dtypes = {Dtype::kI32};
  for (const Field& field : kFields) {
    const auto found = json->find(std::string(field.name));
    if (found == json->end()) {
      if (field.required) return Error{"declaration." + std::string(field.name), "", "required, but missing"};
      continue;
    }
    if (Status status = field.read(field.name, *found, d)) return *status;
  }
  return d;
}

std::string to_json(const Declaration& declaration) {
  Json json = Json::object();
  for (const Field& field : kFields) {
    Json value = field.write(declaration);
    if (!value.is_null()) json[std::string(field.name)] = std::move(value);
  }
  return json.dump(2) + "\n";
}

std::optional<std::string> Declaration::refuses(const Case& c) const {
  if (c.op != op) return refusal("op", c.op, op);
  if (c.weights != weights) return refusal("weights", c.weights, weights);
  if (!contains(dtypes, c.dtype)) return refusal("dtype", c.dtype, dtypes);
  if (!contains(mixture_dtypes, c.mixture_dtype()))
    return refusal("mixture", c.mixture_dtype(), mixture_dtypes);
  const std::vector<Dtype> shared = shared_dtypes.empty() ? std::vector<Dtype>{c.dtype} : shared_dtypes;
  if (!contains(shared, c.shared_dtype())) return refusal("shared", c.shared_dtype(), shared);
  if (!contains(ids_dtypes, c.ids_dtype)) return refusal("ids_dtype", c.ids_dtype, ids_dtypes);

  const auto multiple = [](std::string_view key, std::int64_t value,
                           std::int64_t of) -> std::optional<std::string> {
    if (value % of == 0) return {};
    return refusal(key, std::to_string(value), "multiples of " + std::to_string(of));
  };
  const auto at_most = [](std::string_view key, std::int64_t value,
                          std::int64_t max) -> std::optional<std::string> {
    if (value <= max) return {};
    return refusal(key, std::to_string(value), "at most " + std::to_string(max));
  };
  for (const std::optional<std::string>& reason :
       {multiple("in", c.in, in_multiple), multiple("out", c.out, out_multiple), at_most("in", c.in, in_max),
        at_most("out", c.out, out_max), at_most("tokens", c.tokens, tokens_max),
        at_most("experts", c.experts, experts_max), at_most("top_k", c.top_k, top_k_max)}) {
    if (reason) return reason;
  }

  if (!any_policy) {
    Policy followed = policy;
    followed.zero = c.policy.zero;
    if (!(followed == c.policy)) {
      const std::string own = to_string(policy);
      return refusal("policy", to_string(c.policy), own.empty() ? "the norm's" : own);
    }
  }
  return {};
}

}  // namespace moe4::oracle
