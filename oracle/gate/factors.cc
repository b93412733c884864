#include "oracle/gate/factors.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

constexpr const char* kNames[] = {"subject", "block_m", "dtype",  "fill",
                                  "routing", "tail",    "layout", "schedule"};
// A dimension has a tail when it is larger than this and no multiple of it: rows of a warp, then the
// narrowest tile of outputs and of inputs that matrix instructions are fed with.
constexpr std::int64_t kTokenTile = 4, kOutputTile = 128, kInputTile = 128;
const std::vector<std::string> kTails = {"none", "tokens", "out", "in", "all"};

bool has_tail(std::int64_t size, std::int64_t tile) { return size > tile && size % tile != 0; }

bool has_blocks(Op op) { return op == Op::kIndexed || op == Op::kGroupedContiguous; }

template <class Value>
int index_of(const std::vector<Value>& values, const Value& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  return found == values.end() ? -1 : static_cast<int>(found - values.begin());
}

std::string tail_of(const Case& c) {
  const bool tokens = has_tail(c.tokens, kTokenTile), out = has_tail(c.out, kOutputTile),
             in = has_tail(c.in, kInputTile) && c.op != Op::kCombine;
  if (tokens && out && (in || c.op == Op::kCombine)) return "all";
  if (tokens + out + in > 1) return "";
  return tokens ? "tokens" : out ? "out" : in ? "in" : "none";
}

std::string layout_of(const Case& c) {
  return c.op == Op::kCombine ? "none" : std::string(c.weight_layout().name);
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The values that the declarations name, in order, each once.
std::vector<std::string> block_sizes(Op op, const std::vector<const Declaration*>& subjects) {
  std::set<std::int64_t> sizes;
  if (has_blocks(op)) {
    for (const Declaration* d : subjects) sizes.insert(d->block_m.begin(), d->block_m.end());
    if (sizes.empty()) sizes = {8, 16, 64, 128};
  }
  std::vector<std::string> texts;
  for (const std::int64_t size : sizes) texts.push_back(std::to_string(size));
  if (texts.empty()) texts.emplace_back("none");
  return texts;
}

std::vector<std::string> dtypes_of(const std::vector<const Declaration*>& subjects) {
  std::vector<std::string> words;
  for (const Declaration* d : subjects) {
    for (const Dtype dtype : d->dtypes) {
      if (index_of(words, dtype_word(dtype)) < 0) words.push_back(dtype_word(dtype));
    }
  }
  return words;
}

std::vector<std::string> layouts_of(Op op, WeightFormat weights,
                                    const std::vector<const Declaration*>& subjects) {
  if (op == Op::kCombine) return {"none"};
  const std::string logical(logical_layout(name_of(weights))->name);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    const WeightLayout* layout = find_weight_layout(name);
    if (layout == nullptr || layout->weights != name_of(weights)) return;
    if (index_of(names, name) < 0) names.push_back(name);
  };
  for (const Declaration* d : subjects) {
    if (d->layouts.empty()) add(logical);
    for (const std::string& name : d->layouts) add(name);
  }
  return names;
}

}  // namespace

Family::Family(Op op, WeightFormat weights, std::vector<const Declaration*> subjects)
    : op_(op), weights_(weights), subjects_(std::move(subjects)), values_(kFactors) {
  for (const Declaration* d : subjects_) values_[kSubject].push_back(d->name);
  values_[kBlockM] = block_sizes(op, subjects_);
  values_[kDtype] = is_row_op(op) ? std::vector<std::string>{"bf16"} : dtypes_of(subjects_);
  for (const Fill fill : all_fills()) values_[kFill].emplace_back(name_of(fill));
  for (const Routing routing : all_routings()) values_[kRouting].emplace_back(name_of(routing));
  values_[kTail] = kTails;
  values_[kLayout] = layouts_of(op, weights, subjects_);
  values_[kSchedule] = {"usual", "permuted"};
  // Layouts of the format that other operations have are none of this family.
  if (op == Op::kCombine) return;
  std::erase_if(values_[kLayout], [&](const std::string& layout) {
    Case c = case_of(Choice(kFactors, 0), 1);
    c.layout = layout;
    c.in = c.out = kInputTile;
    const Status error = validate_case(c);
    return error && error->field == "layout";
  });
}

std::string Family::name() const {
  const std::string op(name_of(op_));
  return op_ == Op::kCombine ? op : op + " " + std::string(moe4::name_of(weights_));
}

std::string Family::value_text(int factor, int value) const {
  return std::string(kNames[factor]) + "=" + values(factor)[static_cast<std::size_t>(value)];
}

bool Family::takes(const Declaration& d) const { return index_of(values(kSubject), d.name) >= 0; }

Family::Choice Family::usual(int subject) const {
  Choice choice(kFactors, 0);
  const Declaration& d = this->subject(subject);
  choice[kSubject] = subject;
  if (has_blocks(op_) && !d.block_m.empty()) {
    choice[kBlockM] = index_of(values(kBlockM), std::to_string(d.block_m.front()));
  }
  if (!is_row_op(op_)) choice[kDtype] = index_of(values(kDtype), dtype_word(d.dtypes.front()));
  for (std::size_t n = 0; n < values(kLayout).size() && op_ != Op::kCombine; ++n) {
    const std::string& name = values(kLayout)[n];
    const bool reads = d.layouts.empty() ? name == logical_layout(moe4::name_of(weights_))->name
                                         : index_of(d.layouts, name) >= 0;
    if (!reads) continue;
    choice[kLayout] = static_cast<int>(n);
    break;
  }
  return choice;
}

Case Family::case_of(const Choice& choice, std::uint64_t seed) const {
  const auto word = [&](int factor) {
    return values(factor)[static_cast<std::size_t>(choice[static_cast<std::size_t>(factor)])];
  };
  const Declaration& d = subject(choice[kSubject]);
  const std::string tail = word(kTail);
  const bool all = tail == "all";
  Case c;
  c.op = op_;
  c.weights = weights_;
  c.tokens = all || tail == "tokens" ? 13 : 12;
  c.experts = 5;
  c.top_k = 2;
  c.in = all || tail == "in" ? kInputTile + 32 : 2 * kInputTile;
  c.out = all || tail == "out" ? kOutputTile + 1 : kOutputTile;
  std::int64_t in_multiple = d.in_multiple, out_multiple = d.out_multiple;
  if (op_ != Op::kCombine) {
    const WeightLayout& layout = *find_weight_layout(word(kLayout));
    if (&layout != logical_layout(moe4::name_of(weights_))) c.layout = word(kLayout);
    in_multiple = std::lcm(in_multiple, layout.in_multiple);
    out_multiple = std::lcm(out_multiple, layout.out_multiple);
  }
  c.in = round_up(c.in, in_multiple);
  c.out = round_up(c.out, out_multiple);
  if (has_blocks(op_)) c.block_m = std::stoll(word(kBlockM));
  c.dtype = *dtype_from_word(word(kDtype));
  if (!is_row_op(op_)) {
    const auto has = [](const std::vector<Dtype>& list, Dtype dtype) {
      return std::find(list.begin(), list.end(), dtype) != list.end();
    };
    if (!has(d.mixture_dtypes, Dtype::kF32)) c.mixture = d.mixture_dtypes.front();
    if (!d.shared_dtypes.empty() && !has(d.shared_dtypes, c.dtype)) c.shared = d.shared_dtypes.front();
    if (!has(d.ids_dtypes, Dtype::kI32)) c.ids_dtype = d.ids_dtypes.front();
  }
  c.fill = all_fills()[static_cast<std::size_t>(choice[kFill])];
  c.routing = all_routings()[static_cast<std::size_t>(choice[kRouting])];
  c.policy = d.policy;
  c.seed = seed;
  if (word(kSchedule) == "permuted") c.schedule = seed;
  return c;
}

std::optional<std::string> Family::refuses(const Choice& choice) const {
  const Case c = case_of(choice, 1);
  if (std::optional<std::string> reason = subject(choice[kSubject]).refuses(c)) return reason;
  if (const Status error = validate_case(c)) return error->field + ": " + error->rule;
  const int tail = choice[kTail];
  if (tail_of(c) == values(kTail)[static_cast<std::size_t>(tail)]) return std::nullopt;
  return value_text(kTail, tail) + ": sizes are multiples of the tile, or have no part in the operation";
}

Family::Choice Family::choice_of(int subject, const Case& line) const {
  Choice choice(kFactors, -1);
  if (line.op != op_ || (op_ != Op::kCombine && line.weights != weights_)) return choice;
  choice[kSubject] = subject;
  choice[kBlockM] = has_blocks(op_) ? index_of(values(kBlockM), std::to_string(line.block_rows())) : 0;
  choice[kDtype] = index_of(values(kDtype), dtype_word(line.dtype));
  choice[kFill] = index_of(all_fills(), line.fill);
  choice[kRouting] = index_of(all_routings(), line.routing);
  choice[kTail] = index_of(values(kTail), tail_of(line));
  choice[kLayout] = index_of(values(kLayout), layout_of(line));
  choice[kSchedule] = line.schedule ? 1 : 0;
  return choice;
}

std::vector<Family> families_of(const std::vector<const Declaration*>& declarations) {
  std::vector<Family> families;
  for (const Op op : all_ops()) {
    for (const WeightFormat format : {WeightFormat::kMxfp4, WeightFormat::kInt4}) {
      if (op == Op::kCombine && format != WeightFormat::kMxfp4) continue;
      std::vector<const Declaration*> subjects;
      for (const Declaration* d : declarations) {
        if (d->takes(op) && (op == Op::kCombine || d->takes(format))) subjects.push_back(d);
      }
      if (!subjects.empty()) families.emplace_back(op, format, std::move(subjects));
    }
  }
  return families;
}

}  // namespace moe4::oracle
