#include "oracle/gate/fit.h"

#include <algorithm>
#include <numeric>

#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

enum Draw : std::int64_t { kOp, kWeights, kLayout, kBlock, kDtype, kCapacity, kRank, kHardware };

template <class Value>
Value one_of(const std::vector<Value>& values, Key key) {
  return values[static_cast<std::size_t>(key.pick(static_cast<std::int64_t>(values.size())))];
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void drop_keys(Case& c) {
  if (is_row_op(c.op)) {
    c.dtype = Dtype::kBF16;
    c.mixture.reset();
    c.shared.reset();
    c.ids_dtype = Dtype::kI32;
    c.policy.skip_zero_p = SkipZeroP::kNo;
  }
  if (c.op != Op::kExpertLinear) c.policy.ids = Ids::kError;
  if (c.op != Op::kIndexed && c.op != Op::kGroupedContiguous) {
    c.block_m.reset();
    c.capacity.reset();
  }
  if (c.op != Op::kGroupedMasked) {
    c.max_m.reset();
    c.expected_m.reset();
  }
}

// A layout that the declaration reads and that fits the operation, or none for that of case files.
void choose_layout(const Declaration& declaration, Case& c, Key key) {
  c.layout.reset();
  if (c.op == Op::kCombine || declaration.layouts.empty()) return;
  std::vector<std::string> fitting;
  for (const std::string& name : declaration.layouts) {
    const WeightLayout* layout = find_weight_layout(name);
    if (layout == nullptr || layout->weights != name_of(c.weights)) continue;
    Case tried = c;
    tried.layout = name;
    tried.in = std::lcm(std::int64_t{128}, layout->in_multiple);
    tried.out = layout->out_multiple;
    const Status refused = validate_case(tried);
    if (!refused || refused->field != "layout") fitting.push_back(name);
  }
  if (fitting.empty()) return;
  // Mostly that of case files, where the subject reads it: others cost the work of packing.
  const std::string logical(logical_layout(name_of(c.weights))->name);
  const bool reads_logical = std::find(fitting.begin(), fitting.end(), logical) != fitting.end();
  if (reads_logical && key.bits(0, 1) == 0) return;
  c.layout = one_of(fitting, key(0));
  const WeightLayout& layout = c.weight_layout();
  c.in = round_up(c.in, layout.in_multiple);
  c.out = round_up(c.out, layout.out_multiple);
}

// A chip other than the declared one now and then, of those that the declared arithmetic can be computed on.
void choose_hardware(const Declaration& declaration, Case& c, Key key) {
  c.hardware.reset();
  if (key.bits(0, 2) != 0) return;
  std::vector<std::string> fitting;
  for (const std::string& name : hardware_words()) {
    Case tried = c;
    tried.hardware = name;
    if (!declaration.refuses(tried)) fitting.push_back(name);
  }
  if (!fitting.empty()) c.hardware = one_of(fitting, key(0));
}

}  // namespace

Case fit_to(const Declaration& declaration, Case c, Key key) {
  c.op = one_of(declaration.ops, key(kOp));
  c.weights = one_of(declaration.weights, key(kWeights));
  if (!is_row_op(c.op)) c.dtype = one_of(declaration.dtypes, key(kDtype));
  if (key(kRank).bits(0, 3) == 0) {
    const std::int64_t ranks = 2 + key(kRank)(0).pick(3);
    c.ep = ExpertRank{key(kRank)(1).pick(ranks), ranks};
    c.experts = round_up(c.experts, ranks);
  }
  if (key(kBlock).bits(0, 1) == 0) c.block_m = std::int64_t{1} << key(kBlock).bits(1, 3);
  if (!declaration.block_m.empty()) c.block_m = one_of(declaration.block_m, key(kBlock));
  if (key(kCapacity).bits(0, 2) == 0) {
    c.capacity = 16 * (1 + key(kCapacity)(0).pick(64));
    c.max_m = c.capacity;
    c.expected_m = 1 + key(kCapacity)(1).pick(64);
  }
  if (c.max_m) c.max_m = round_up(*c.max_m, declaration.max_m_multiple);
  drop_keys(c);
  choose_layout(declaration, c, key(kLayout));
  c.in = round_up(c.in, declaration.in_multiple);
  c.out = round_up(c.out, declaration.out_multiple);
  choose_hardware(declaration, c, key(kHardware));
  return c;
}

}  // namespace moe4::oracle
