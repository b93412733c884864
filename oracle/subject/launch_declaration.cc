#include "oracle/subject/launch_declaration.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>

#include "oracle/case/nearest.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
struct Word {
  std::string_view name;
  Value value;
};

constexpr std::array kScalarTypes = {Word{"u8", ScalarType::kU8},   Word{"u16", ScalarType::kU16},
                                     Word{"u32", ScalarType::kU32}, Word{"s32", ScalarType::kS32},
                                     Word{"u64", ScalarType::kU64}, Word{"s64", ScalarType::kS64},
                                     Word{"f32", ScalarType::kF32}, Word{"f64", ScalarType::kF64}};
constexpr std::array kSwizzles = {Word{"none", MapSwizzle::kUnswizzled}, Word{"32", MapSwizzle::k32B},
                                  Word{"64", MapSwizzle::k64B}, Word{"128", MapSwizzle::k128B}};
constexpr std::array kMapFills = {Word{"zero", MapFill::kZero}, Word{"nan", MapFill::kNan}};
constexpr std::array kMemoryFills = {Word{"none", false}, Word{"zero", true}};

constexpr std::size_t kMostArguments = 1024, kMostWorkspaces = 64;
constexpr std::size_t kMostDimensions = 5;  // of a tensor map

Error bad(const std::string& field, const Json& value, std::string rule) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return {field, std::move(text), std::move(rule)};
}

// The fields of an object, each read at most once; what is left over is unknown.
class Object {
 public:
  Object(const Json& json, std::string field) : json_(json), field_(std::move(field)) {}

  Status open(std::initializer_list<std::string_view> required,
              std::initializer_list<std::string_view> optional) {
    if (!json_.is_object()) return bad(field_, json_, "an object");
    std::vector<std::string> known(required.begin(), required.end());
    known.insert(known.end(), optional.begin(), optional.end());
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      return bad(at(key), value, "unknown field; the nearest known one is " + nearest_name(key, known));
    }
    for (const std::string_view name : required) {
      if (!json_.contains(std::string(name))) return Error{at(name), "", "required, but missing"};
    }
    return {};
  }
  std::string at(std::string_view name) const { return field_ + "." + std::string(name); }
  const Json* find(std::string_view name) const {
    const auto found = json_.find(std::string(name));
    return found == json_.end() ? nullptr : &*found;
  }

 private:
  const Json& json_;
  std::string field_;
};

Status read_text(const std::string& field, const Json& value, std::string& to) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return bad(field, value, "a string that is not empty");
  }
  to = value.get<std::string>();
  return {};
}

Status read_name(const std::string& field, const Json& value, const std::vector<std::string>& known,
                 std::string_view what, std::string& to) {
  if (Status status = read_text(field, value, to)) return status;
  if (std::find(known.begin(), known.end(), to) != known.end()) return {};
  return bad(field, value,
             "the name of " + std::string(what) + "; the nearest known one is " + nearest_name(to, known));
}

template <class Value, std::size_t N>
Status read_word(const std::string& field, const Json& value, const std::array<Word<Value>, N>& words,
                 Value& to) {
  std::string list;
  for (const Word<Value>& word : words) {
    if (value.is_string() && value.get_ref<const std::string&>() == word.name) {
      to = word.value;
      return {};
    }
    list += (list.empty() ? "" : ", ") + std::string(word.name);
  }
  return bad(field, value, "one of " + list);
}

template <class Value, std::size_t N>
std::string word_of(const std::array<Word<Value>, N>& words, Value value) {
  for (const Word<Value>& word : words) {
    if (word.value == value) return std::string(word.name);
  }
  return "";
}

Status read_expression(const std::string& field, const Json& value, Expression& to) {
  if (value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)) {
    to = Expression::constant(value.get<std::int64_t>());
    return {};
  }
  if (!value.is_string()) return bad(field, value, "an integer or an expression as a string");
  Result<Expression> parsed = Expression::parse(value.get_ref<const std::string&>(), launch_letters());
  if (!parsed.ok()) return bad(field, value, parsed.error().rule);
  to = std::move(*parsed);
  return {};
}

Status read_expressions(const std::string& field, const Json& value, std::size_t least, std::size_t most,
                        std::vector<Expression>& to) {
  if (!value.is_array() || value.size() < least || value.size() > most) {
    return bad(field, value,
               "a list of " + std::to_string(least) + " to " + std::to_string(most) + " expressions");
  }
  to.resize(value.size());
  for (std::size_t n = 0; n < value.size(); ++n) {
    if (Status status = read_expression(field + "[" + std::to_string(n) + "]", value[n], to[n]))
      return status;
  }
  return {};
}

// One expression, or a list of one to three: x, y, z.
Status read_dimensions(const std::string& field, const Json& value, std::array<Expression, 3>& to) {
  to.fill(Expression::constant(1));
  if (!value.is_array()) return read_expression(field, value, to[0]);
  std::vector<Expression> list;
  if (Status status = read_expressions(field, value, 1, 3, list)) return status;
  std::copy(list.begin(), list.end(), to.begin());
  return {};
}

Status read_count(const std::string& field, const Json& value, std::int64_t most, std::int64_t& to) {
  const bool above = value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0;
  const bool fits = value.is_number_integer() && !above && value.get<std::int64_t>() >= 1 &&
                    value.get<std::int64_t>() <= most;
  if (!fits) return bad(field, value, "an integer in 1.." + std::to_string(most));
  to = value.get<std::int64_t>();
  return {};
}

Status read_workspaces(const std::string& field, const Json& json, LaunchDeclaration& launch) {
  if (!json.is_object() || json.size() > kMostWorkspaces) {
    return bad(field, json, "an object of at most 64 workspaces, by name");
  }
  for (const auto& [name, value] : json.items()) {
    Object object(value, field + "." + name);
    if (Status status = object.open({"bytes"}, {"fill"})) return status;
    Workspace workspace;
    workspace.name = name;
    if (Status status = read_expression(object.at("bytes"), *object.find("bytes"), workspace.bytes))
      return status;
    if (const Json* fill = object.find("fill")) {
      if (Status status = read_word(object.at("fill"), *fill, kMemoryFills, workspace.zeroed)) return status;
    }
    launch.workspaces.push_back(std::move(workspace));
  }
  return {};
}

Status read_tensor_map(const std::string& field, const Json& json, TensorMapArgument& map) {
  Object object(json, field);
  if (Status status =
          object.open({"tensor", "element_bytes", "dims", "strides", "box"}, {"swizzle", "fill"})) {
    return status;
  }
  if (Status status =
          read_name(object.at("tensor"), *object.find("tensor"), launch_tensors(), "a tensor", map.tensor)) {
    return status;
  }
  std::int64_t bytes = 0;
  const Json& element = *object.find("element_bytes");
  if (Status status = read_count(object.at("element_bytes"), element, 8, bytes)) return status;
  if ((bytes & (bytes - 1)) != 0) return bad(object.at("element_bytes"), element, "1, 2, 4 or 8");
  map.element_bytes = static_cast<std::uint32_t>(bytes);
  if (Status status =
          read_expressions(object.at("dims"), *object.find("dims"), 1, kMostDimensions, map.dims)) {
    return status;
  }
  const std::size_t rank = map.dims.size();
  if (Status status =
          read_expressions(object.at("strides"), *object.find("strides"), rank - 1, rank - 1, map.strides)) {
    return status;
  }
  if (Status status = read_expressions(object.at("box"), *object.find("box"), rank, rank, map.box))
    return status;
  if (const Json* swizzle = object.find("swizzle")) {
    if (Status status = read_word(object.at("swizzle"), *swizzle, kSwizzles, map.swizzle)) return status;
  }
  if (const Json* fill = object.find("fill")) {
    if (Status status = read_word(object.at("fill"), *fill, kMapFills, map.fill)) return status;
  }
  return {};
}

Status read_argument(const std::string& field, const Json& json, const LaunchDeclaration& launch,
                     LaunchArgument& to) {
  constexpr std::string_view kRule = "an object with one of: tensor; workspace; scalar and type; tensor_map";
  if (!json.is_object()) return bad(field, json, std::string(kRule));
  Object object(json, field);
  if (json.contains("tensor")) {
    if (Status status = object.open({"tensor"}, {})) return status;
    TensorArgument argument;
    if (Status status =
            read_name(object.at("tensor"), json["tensor"], launch_tensors(), "a tensor", argument.tensor)) {
      return status;
    }
    to = std::move(argument);
  } else if (json.contains("workspace")) {
    if (Status status = object.open({"workspace"}, {})) return status;
    std::vector<std::string> known;
    for (const Workspace& workspace : launch.workspaces) known.push_back(workspace.name);
    WorkspaceArgument argument;
    if (Status status = read_name(object.at("workspace"), json["workspace"], known,
                                  "one of launch.workspaces", argument.workspace)) {
      return status;
    }
    to = std::move(argument);
  } else if (json.contains("scalar")) {
    if (Status status = object.open({"scalar", "type"}, {})) return status;
    ScalarArgument argument;
    if (Status status = read_expression(object.at("scalar"), json["scalar"], argument.value)) return status;
    if (Status status = read_word(object.at("type"), json["type"], kScalarTypes, argument.type))
      return status;
    to = std::move(argument);
  } else if (json.contains("tensor_map")) {
    if (Status status = object.open({"tensor_map"}, {})) return status;
    TensorMapArgument argument;
    if (Status status = read_tensor_map(object.at("tensor_map"), json["tensor_map"], argument)) return status;
    to = std::move(argument);
  } else {
    return bad(field, json, std::string(kRule));
  }
  return {};
}

Json write_expression(const Expression& expression) {
  std::int64_t value = 0;
  const std::string& text = expression.text();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain =
      read.ec == std::errc() && read.ptr == text.data() + text.size() && std::to_string(value) == text;
  return plain ? Json(value) : Json(text);
}

Json write_expressions(std::span<const Expression> expressions) {
  Json list = Json::array();
  for (const Expression& expression : expressions) list.push_back(write_expression(expression));
  return list;
}

struct WriteArgument {
  Json operator()(const TensorArgument& a) const { return Json::object({{"tensor", a.tensor}}); }
  Json operator()(const WorkspaceArgument& a) const { return Json::object({{"workspace", a.workspace}}); }
  Json operator()(const ScalarArgument& a) const {
    return Json::object({{"scalar", write_expression(a.value)}, {"type", std::string(name_of(a.type))}});
  }
  Json operator()(const TensorMapArgument& a) const {
    const Json map = Json::object({{"tensor", a.tensor},
                                   {"element_bytes", a.element_bytes},
                                   {"dims", write_expressions(a.dims)},
                                   {"strides", write_expressions(a.strides)},
                                   {"box", write_expressions(a.box)},
                                   {"swizzle", word_of(kSwizzles, a.swizzle)},
                                   {"fill", word_of(kMapFills, a.fill)}});
    return Json::object({{"tensor_map", map}});
  }
};

}  // namespace

const std::vector<std::string>& launch_letters() {
  static const std::vector<std::string> kLetters = {"T", "E",       "I",        "G",     "O",         "K",
                                                    "M", "block_m", "capacity", "max_m", "expected_m"};
  return kLetters;
}

const std::vector<std::string>& launch_tensors() {
  static const std::vector<std::string> kTensors = {
      "latent_tokens",   "packed_weights", "scale_bytes", "scales",     "selected_experts",
      "mixture_weights", "shared_output",  "sorted_ids",  "expert_ids", "num_tokens_padded",
      "m_indices",       "masked_m",       "rows",        "output"};
  return kTensors;
}

std::string_view name_of(ScalarType type) {
  for (const auto& word : kScalarTypes) {
    if (word.value == type) return word.name;
  }
  return "";
}

std::uint32_t size_of(ScalarType type) {
  switch (type) {
    case ScalarType::kU8:
      return 1;
    case ScalarType::kU16:
      return 2;
    case ScalarType::kU32:
    case ScalarType::kS32:
    case ScalarType::kF32:
      return 4;
    case ScalarType::kU64:
    case ScalarType::kS64:
    case ScalarType::kF64:
      return 8;
  }
  return 0;
}

Result<LaunchDeclaration> parse_launch(const Json& json) {
  LaunchDeclaration launch;
  for (auto* dims : {&launch.grid, &launch.block, &launch.cluster}) dims->fill(Expression::constant(1));
  Object object(json, "declaration.launch");
  if (Status status =
          object.open({"entry", "grid", "block", "arguments"},
                      {"cluster", "dynamic_shared", "coresident_blocks", "output_fill", "workspaces"})) {
    return *status;
  }
  if (Status status = read_text(object.at("entry"), *object.find("entry"), launch.entry)) return *status;
  if (Status status = read_dimensions(object.at("grid"), *object.find("grid"), launch.grid)) return *status;
  if (Status status = read_dimensions(object.at("block"), *object.find("block"), launch.block))
    return *status;
  if (const Json* cluster = object.find("cluster")) {
    if (Status status = read_dimensions(object.at("cluster"), *cluster, launch.cluster)) return *status;
  }
  if (const Json* shared = object.find("dynamic_shared")) {
    if (Status status = read_expression(object.at("dynamic_shared"), *shared, launch.dynamic_shared))
      return *status;
  }
  if (const Json* blocks = object.find("coresident_blocks")) {
    std::int64_t count = 0;
    if (Status status = read_count(object.at("coresident_blocks"), *blocks, 1 << 20, count)) return *status;
    launch.coresident_blocks = count;
  }
  if (const Json* fill = object.find("output_fill")) {
    if (Status status = read_word(object.at("output_fill"), *fill, kMemoryFills, launch.output_zeroed))
      return *status;
  }
  if (const Json* workspaces = object.find("workspaces")) {
    if (Status status = read_workspaces(object.at("workspaces"), *workspaces, launch)) return *status;
  }
  const Json& arguments = *object.find("arguments");
  if (!arguments.is_array() || arguments.size() > kMostArguments) {
    return bad(object.at("arguments"), arguments,
               "a list of at most 1024 arguments, in the order of the entry's parameters");
  }
  launch.arguments.resize(arguments.size());
  bool output = false;
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::string field = object.at("arguments") + "[" + std::to_string(n) + "]";
    if (Status status = read_argument(field, arguments[n], launch, launch.arguments[n])) return *status;
    const auto* tensor = std::get_if<TensorArgument>(&launch.arguments[n]);
    const auto* map = std::get_if<TensorMapArgument>(&launch.arguments[n]);
    output = output || (tensor != nullptr && tensor->tensor == "output") ||
             (map != nullptr && map->tensor == "output");
  }
  if (!output) return Error{object.at("arguments"), "no output", "one argument names the tensor output"};
  return launch;
}

Json launch_to_json(const LaunchDeclaration& launch) {
  Json json;
  json["entry"] = launch.entry;
  json["grid"] = write_expressions(launch.grid);
  json["block"] = write_expressions(launch.block);
  json["cluster"] = write_expressions(launch.cluster);
  json["dynamic_shared"] = write_expression(launch.dynamic_shared);
  if (launch.coresident_blocks) json["coresident_blocks"] = *launch.coresident_blocks;
  json["output_fill"] = word_of(kMemoryFills, launch.output_zeroed);
  Json workspaces = Json::object();
  for (const Workspace& workspace : launch.workspaces) {
    workspaces[workspace.name] = Json::object(
        {{"bytes", write_expression(workspace.bytes)}, {"fill", word_of(kMemoryFills, workspace.zeroed)}});
  }
  json["workspaces"] = workspaces;
  Json arguments = Json::array();
  for (const LaunchArgument& argument : launch.arguments)
    arguments.push_back(std::visit(WriteArgument{}, argument));
  json["arguments"] = arguments;
  return json;
}

}  // namespace moe4::oracle
