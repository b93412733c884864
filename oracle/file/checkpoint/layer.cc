#include "oracle/file/checkpoint/layer.h"

#include <algorithm>
#include <array>
#include <set>

#include "oracle/case/index_list.h"

namespace moe4::oracle {
namespace {

// A name from left to right.
class Rest {
 public:
  explicit Rest(std::string_view name) : name_(name) {}

  bool take(std::string_view text) {
    if (name_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  bool take_any(std::initializer_list<std::string_view> texts) {
    return std::any_of(texts.begin(), texts.end(), [this](std::string_view text) { return take(text); });
  }
  // Digits and the dot after them; without leading zeros, so that a number is written in one way only.
  std::optional<std::int64_t> take_number() {
    const std::size_t dot = name_.find('.', at_);
    if (dot == std::string_view::npos || dot == at_) return std::nullopt;
    const std::string_view digits = name_.substr(at_, dot - at_);
    if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
    const auto number = parse_whole_number(digits);
    if (number) at_ = dot + 1;
    return number;
  }
  std::string_view taken() const { return name_.substr(0, at_); }
  bool has_more() const { return at_ < name_.size(); }

 private:
  std::string_view name_;
  std::size_t at_ = 0;
};

std::optional<ExpertTensorName> parse_original(Rest rest) {
  if (!rest.take("block.")) return std::nullopt;
  ExpertTensorName result{Naming::kStackedMlp, 0, {}, {}};
  const auto layer = rest.take_number();
  if (!layer || !rest.take("mlp.")) return std::nullopt;
  result.layer = *layer;
  result.stem = rest.taken();
  return rest.take_any({"mlp1_weight.", "mlp2_weight."}) ? std::optional(result) : std::nullopt;
}

// Per expert, after the stem.
bool take_expert(Rest& rest, ExpertTensorName& result) {
  result.expert = rest.take_number();
  if (!result.expert) return false;
  const bool module = result.naming == Naming::kProjections
                          ? rest.take_any({"gate_proj.", "up_proj.", "down_proj."})
                          : rest.take_any({"w1.", "w2.", "w3."});
  return module && rest.has_more();
}

std::string known_layers(const std::set<std::int64_t>& layers) {
  return to_string_index_list({layers.begin(), layers.end()});
}

}  // namespace

std::optional<ExpertTensorName> parse_expert_tensor_name(std::string_view name) {
  Rest rest(name);
  if (auto original = parse_original(rest)) return original;
  rest.take("language_model.");
  if (!rest.take("model.layers.")) return std::nullopt;
  ExpertTensorName result;
  const auto layer = rest.take_number();
  if (!layer) return std::nullopt;
  result.layer = *layer;
  if (rest.take("block_sparse_moe.experts.")) {
    result.naming = Naming::kNumbered;
  } else if (!rest.take("mlp.experts.")) {
    return std::nullopt;
  }
  result.stem = rest.taken();
  if (take_expert(rest, result)) return result;
  if (result.naming == Naming::kNumbered || result.expert) return std::nullopt;
  result.naming = Naming::kStacked;
  return rest.take_any({"gate_up_proj_", "down_proj_"}) ? std::optional(result) : std::nullopt;
}

Result<ExpertLayer> find_layer(const CheckpointIndex& index, std::int64_t layer) {
  std::set<std::int64_t> layers, experts;
  ExpertLayer found;
  for (const auto& [text, file] : index.names()) {
    const auto name = parse_expert_tensor_name(text);
    if (!name) continue;
    layers.insert(name->layer);
    if (name->layer != layer) continue;
    if (!found.stem.empty() && (found.stem != name->stem || found.naming != name->naming)) {
      return Error{index.label(text), "beside " + found.stem,
                   "CKP-5: the experts of a layer stand under one kind of name"};
    }
    found.naming = name->naming;
    found.stem = name->stem;
    if (name->expert) experts.insert(*name->expert);
  }
  if (layers.empty()) {
    return Error{index.folder().string(), "",
                 "CKP-5: the checkpoint has tensors of routed experts under the names of "
                 "Kimi K2, Kimi K3 or gpt-oss"};
  }
  if (found.stem.empty()) {
    return Error{"layer", std::to_string(layer),
                 "CKP-6: a layer with routed experts; there are " + known_layers(layers)};
  }
  found.experts.assign(experts.begin(), experts.end());
  return found;
}

}  // namespace moe4::oracle
