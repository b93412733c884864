#include "oracle/gate/tally.h"

#include <fmt/core.h>

#include <algorithm>

namespace moe4::oracle {
namespace {

// Beyond any of these tile sizes a kernel has a full tile and, if the size is no multiple, a partial one.
constexpr std::int64_t kTokenTile = 4;
constexpr std::int64_t kOutputTile = 32;
constexpr std::int64_t kInputTile = 128;

bool has_tail(std::int64_t size, std::int64_t tile) { return size > tile && size % tile != 0; }

// Was there a verdict about numbers?
bool ran(VerdictStatus status) {
  return status != VerdictStatus::kSkipped && status != VerdictStatus::kUnsupported;
}

// What the subject would have to be shown, had the list every value of one key.
template <class Key>
std::vector<Key> accepted(const Declaration& declaration, const std::vector<Case>& cases,
                          const std::vector<Key>& all, Key Case::*member) {
  std::vector<Key> keys;
  for (const Key key : all) {
    const bool possible = std::any_of(cases.begin(), cases.end(), [&](Case c) {
      c.*member = key;
      return !declaration.refuses(c) && !validate_case(c);
    });
    if (possible) keys.push_back(key);
  }
  return keys;
}

template <class Key>
std::string missing(const std::vector<Key>& wanted, const std::set<Key>& seen) {
  std::string names;
  for (const Key key : wanted) {
    if (seen.count(key) == 0) names += (names.empty() ? "" : ", ") + std::string(name_of(key));
  }
  return names;
}

// Rows to be combined have no weights: one format is enough.
std::string missing_ops(const Declaration& declaration, const std::set<std::pair<Op, WeightFormat>>& seen) {
  std::string names;
  for (const Op op : declaration.ops) {
    for (const WeightFormat format : declaration.weights) {
      const bool judged = std::any_of(seen.begin(), seen.end(), [&](const auto& one) {
        return one.first == op && (op == Op::kCombine || one.second == format);
      });
      if (judged) continue;
      names +=
          (names.empty() ? "" : ", ") + std::string(name_of(op)) + " " + std::string(moe4::name_of(format));
    }
  }
  return names;
}

// Could anything that is wrong with the rows, the experts or the packing have changed a counted output? With
// weights it is so where a code could have been seen (VER-10); rows to be combined are seen where one value
// is due.
bool tells(const Case& line, const Verdict& verdict) {
  if (line.op == Op::kCombine) return verdict.outputs > 0 && verdict.singleton_share > 0;
  return verdict.coverage.count() > 0;
}

// Rows to be combined have no weights and no layout.
std::string layout_of(const Case& line) {
  return line.op == Op::kCombine ? "" : std::string(line.weight_layout().name);
}

}  // namespace

std::string_view name_of(Tail tail) {
  switch (tail) {
    case Tail::kTokens:
      return "tokens";
    case Tail::kOutputs:
      return "out";
    case Tail::kInputs:
      return "in";
  }
  return "";
}

std::vector<Tail> tails_of(const Case& line) {
  std::vector<Tail> tails;
  if (has_tail(line.tokens, kTokenTile)) tails.push_back(Tail::kTokens);
  if (has_tail(line.out, kOutputTile)) tails.push_back(Tail::kOutputs);
  if (has_tail(line.in, kInputTile)) tails.push_back(Tail::kInputs);
  return tails;
}

void Tally::add(CaseResult result) {
  const Verdict& verdict = result.verdict;
  ++listed;
  unsupported += verdict.status == VerdictStatus::kUnsupported;
  skipped += verdict.status == VerdictStatus::kSkipped;
  passed += verdict.status == VerdictStatus::kPassed;
  red += is_red(result);
  known += is_red(verdict.status) && !is_red(result);
  if (oracle::ran(verdict.status)) {
    ++ran;
    max_ulp = std::max(max_ulp, verdict.max_ulp);
    bits_compared += verdict.bits_compared;
    for (const DeviceFinding& finding : verdict.findings) ++(finding.formal ? formal_findings : findings);
    seconds += result.seconds;
    thread_instructions += result.thread_instructions;
  }
  // Only what was judged to the end is evidence.
  if (verdict.status == VerdictStatus::kPassed || verdict.status == VerdictStatus::kFailed) {
    coverage.merge(verdict.coverage);
    if (verdict.outputs > 0) {
      ops.insert({result.line.op, result.line.weights});
      fills.insert(result.line.fill);
    }
    if (tells(result.line, verdict)) {
      routings.insert(result.line.routing);
      layouts.insert(layout_of(result.line));
      for (const Tail tail : tails_of(result.line)) tails.insert(tail);
    }
    all.add(verdict);
    if (result.line.fill == Fill::kReal && result.line.dtype == Dtype::kBF16) real_bf16.add(verdict);
  }
  if (is_red(result)) worsen(verdict.status);
  results.push_back(std::move(result));
}

void Tally::worsen(VerdictStatus other) {
  const ExitCode own = exit_code_of(other);
  const bool more = own != exit_code_of(status) && more_urgent(own, exit_code_of(status)) == own;
  if (is_red(other) && (!is_red(status) || more)) status = other;
}

void Tally::add(const Tally& part) {
  listed += part.listed;
  ran += part.ran;
  passed += part.passed;
  red += part.red;
  known += part.known;
  unsupported += part.unsupported;
  skipped += part.skipped;
  for (const CaseResult& result : part.results) {
    if (is_red(result)) worsen(result.verdict.status);
  }
  coverage.merge(part.coverage);
  ops.insert(part.ops.begin(), part.ops.end());
  fills.insert(part.fills.begin(), part.fills.end());
  routings.insert(part.routings.begin(), part.routings.end());
  tails.insert(part.tails.begin(), part.tails.end());
  layouts.insert(part.layouts.begin(), part.layouts.end());
  all.add(part.all);
  real_bf16.add(part.real_bf16);
  max_ulp = std::max(max_ulp, part.max_ulp);
  bits_compared += part.bits_compared;
  findings += part.findings;
  formal_findings += part.formal_findings;
  seconds += part.seconds;
  thread_instructions += part.thread_instructions;
}

void Tally::close(const Declaration& declaration, const std::vector<Case>& cases, const Floors& floors) {
  if (ran == 0) unmet.push_back("no case ran");
  for (const CaseResult& result : results) {
    if (!result.unexpected_pass) continue;
    unmet.push_back("passes, although the ledger of known faults names it (" + result.known +
                    "): take it out: " + to_string(result.line));
  }
  if (declaration.profile.empty()) {
    unmet.push_back(
        "its declaration names no profile, so nothing that it returns is due (docs/declaration.md)");
  }
  if (declaration.bits_declared && ran > 0 && bits_compared == 0) {
    unmet.push_back("its declaration promises bits, and none was compared (VER-17)");
  }
  const std::int64_t accepts = listed - unsupported;
  if (accepts > 0 && static_cast<double>(ran) < floors.ran_share * static_cast<double>(accepts)) {
    unmet.push_back(fmt::format("{} of {} accepted cases ran; the floor is {:.0f} %", ran, accepts,
                                100 * floors.ran_share));
  }
  for (const WeightFormat format : {WeightFormat::kMxfp4, WeightFormat::kInt4}) {
    const bool judged = std::any_of(ops.begin(), ops.end(), [&](const auto& op) {
      return op.first != Op::kCombine && op.second == format;
    });
    const auto pairs = static_cast<std::int64_t>(coverage.of(format).count());
    if (!judged || pairs >= floors.pairs) continue;
    unmet.push_back(fmt::format("{} of 4096 (code, scale byte) pairs of {} covered; the floor is {}", pairs,
                                moe4::name_of(format), floors.pairs));
  }
  if (floors.every_op) {
    const std::string names = missing_ops(declaration, ops);
    if (!names.empty()) unmet.push_back("operations never judged: " + names);
  }
  if (floors.every_fill) {
    const std::string names = missing(accepted(declaration, cases, all_fills(), &Case::fill), fills);
    if (!names.empty()) unmet.push_back("fills never judged: " + names);
  }
  if (floors.every_routing) {
    const std::string names = missing(accepted(declaration, cases, all_routings(), &Case::routing), routings);
    if (!names.empty()) unmet.push_back("routings never judged: " + names);
  }
  if (floors.every_tail) {
    // Rows to be combined have no I.
    std::vector<Tail> wanted = {Tail::kTokens};
    if (declaration.out_multiple % kOutputTile != 0) wanted.push_back(Tail::kOutputs);
    if (declaration.ops != std::vector<Op>{Op::kCombine} && declaration.in_multiple % kInputTile != 0) {
      wanted.push_back(Tail::kInputs);
    }
    const std::string names = missing(wanted, tails);
    if (!names.empty()) unmet.push_back("dimensions never judged with a tail: " + names);
  }
  if (floors.every_layout) {
    std::string names;
    for (const std::string& layout : declaration.layouts) {
      if (!layouts.contains(layout)) names += (names.empty() ? "" : ", ") + layout;
    }
    if (!names.empty()) unmet.push_back("layouts never judged: " + names);
  }
  const bool takes_bf16 = std::find(declaration.dtypes.begin(), declaration.dtypes.end(), Dtype::kBF16) !=
                          declaration.dtypes.end();
  if (floors.real_singletons > 0 && takes_bf16) {
    const std::optional<double> share = real_bf16.share();
    if (!share) {
      unmet.push_back("no BF16 case with fill=real was judged");
    } else if (*share < floors.real_singletons) {
      unmet.push_back(
          fmt::format("bits were due for {:.1f} % of the outputs of real BF16 data, below {:.0f} %: the "
                      "declared order is missing or too weak",
                      100 * *share, 100 * floors.real_singletons));
    }
  }
  if (!unmet.empty() && !is_red(status)) status = VerdictStatus::kMistrusted;
}

ExitCode Tally::exit_code() const {
  const ExitCode conditions = unmet.empty() ? ExitCode::kPassed : ExitCode::kUnmet;
  return more_urgent(exit_code_of(status), conditions);
}

}  // namespace moe4::oracle
