#include "oracle/hardware/probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "oracle/hardware/probe_table.h"

namespace moe4::oracle {
namespace {

std::optional<double> bound_size(const std::string& word) {
  const bool power = word.starts_with("2^");
  const std::string digits = power ? word.substr(2) : word;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (power) value = std::exp2(value);
  return value > 0 && value <= 1024 ? std::optional(value) : std::nullopt;
}

std::optional<ProbeBound> parse_bound(const std::vector<std::string>& words) {
  using Kind = ProbeBound::Kind;
  if (words.size() == 1 && words[0] == "exact") return ProbeBound{Kind::kExact, 0, "exact"};
  if (words.size() != 2) return std::nullopt;
  constexpr std::pair<std::string_view, Kind> kKinds[] = {{"ulp", Kind::kUlp},
                                                          {"relative", Kind::kRelative},
                                                          {"absolute", Kind::kAbsolute},
                                                          {"magnitude", Kind::kMagnitude}};
  const std::optional<double> size = bound_size(words[1]);
  for (const auto& [name, kind] : kKinds) {
    if (words[0] == name && size) return ProbeBound{kind, *size, words[0] + " " + words[1]};
  }
  return std::nullopt;
}

std::optional<ProbeOperand> parse_operand(const std::string& word) {
  if (word.starts_with("#")) {
    ProbeOperand operand{*probe_type("b32"), "", 0};
    const bool hex = word.starts_with("#0x");
    const char* begin = word.data() + (hex ? 3 : 1);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(begin, word.data() + word.size(), value, hex ? 16 : 10);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    operand.immediate = value;
    return operand;
  }
  static const std::set<std::string, std::less<>> kNear = {"",      "bf16",  "f16",      "f32",   "int",
                                                           "float", "shift", "exponent", "angle", "middle"};
  const auto colon = word.find(':');
  const std::optional<ProbeType> type = probe_type(word.substr(0, colon));
  const std::string near = colon == std::string::npos ? "" : word.substr(colon + 1);
  if (!type || !kNear.contains(near)) return std::nullopt;
  return ProbeOperand{*type, near, {}};
}

// "m16n8k8" among the parts of the instruction's name.
bool parse_shape(Probe& probe) {
  std::istringstream parts(probe.instruction);
  for (std::string part; std::getline(parts, part, '.');) {
    unsigned m = 0, n = 0, k = 0;
    char rest = 0;
    if (std::sscanf(part.c_str(), "m%un%uk%u%c", &m, &n, &k, &rest) != 3) continue;
    probe.m = m;
    probe.n = n;
    probe.k = k;
    return true;
  }
  return false;
}

// The tile kernels of probe_ptx.cc know these shapes and types only.
bool tile_is_known(const Probe& probe) {
  const auto& operands = probe.operands;
  if (operands.size() != 3 || operands[0].type.name != operands[1].type.name) return false;
  if (operands[0].type.name != "bf16" && operands[0].type.name != "f16") return false;
  if (operands[2].type.name != "f32" || probe.result.name != "f32" || probe.n != 8) return false;
  if (probe.form == Probe::Form::kWgmma) return probe.m == 64 && probe.k == 16;
  return probe.m == 16 && (probe.k == 8 || probe.k == 16);
}

// What is wrong with a line, or nothing.
std::string parse_line(const std::string& line, Probe& probe) {
  std::istringstream words(line);
  std::string result, operands;
  if (!(words >> probe.instruction >> probe.target >> result >> operands)) {
    return "wants INSTRUCTION TARGET RESULT OPERANDS BOUND";
  }
  std::vector<std::string> bound;
  for (std::string word; words >> word;) bound.push_back(word);
  probe.name = probe.instruction;
  const std::optional<ProbeType> type = probe_type(result);
  if (!type) return "no such type: " + result;
  probe.result = *type;
  std::istringstream list(operands);
  for (std::string word; std::getline(list, word, ',');) {
    const std::optional<ProbeOperand> operand = parse_operand(word);
    if (!operand) return "no such operand: " + word;
    if (operand->immediate) probe.name += "," + word.substr(1);
    probe.operands.push_back(*operand);
  }
  if (probe.operands.empty() || probe.operands[0].immediate) return "the first operand is in memory";
  const std::optional<ProbeBound> parsed = parse_bound(bound);
  if (!parsed) return "no such bound";
  probe.bound = *parsed;
  if (probe.instruction.starts_with("mma.")) probe.form = Probe::Form::kMma;
  if (probe.instruction.starts_with("wgmma.")) probe.form = Probe::Form::kWgmma;
  if (probe.form != Probe::Form::kScalar && (!parse_shape(probe) || !tile_is_known(probe))) {
    return "no kernel for this shape or these types";
  }
  if (probe.bound.kind != ProbeBound::Kind::kExact && probe.result.name != "f32") {
    return "a bound needs a result of f32";
  }
  return "";
}

}  // namespace

std::optional<ProbeType> probe_type(std::string_view name) {
  static const ProbeType kTypes[] = {{"f16", 2, ".b16"}, {"bf16", 2, ".b16"},  {"u16", 2, ".b16"},
                                     {"s16", 2, ".b16"}, {"f16x2", 4, ".b32"}, {"bf16x2", 4, ".b32"},
                                     {"b32", 4, ".b32"}, {"u32", 4, ".b32"},   {"s32", 4, ".b32"},
                                     {"f32", 4, ".f32"}, {"u64", 8, ".b64"},   {"s64", 8, ".b64"},
                                     {"f64", 8, ".f64"}};
  for (const ProbeType& type : kTypes) {
    if (type.name == name) return type;
  }
  return std::nullopt;
}

std::size_t Probe::operand_bytes(std::size_t operand) const {
  const ProbeOperand& o = operands[operand];
  if (o.immediate) return 0;
  if (form == Form::kScalar) return o.type.bytes;
  const std::size_t elements = operand == 0   ? std::size_t{m} * k
                               : operand == 1 ? std::size_t{n} * k
                                              : std::size_t{m} * n;
  return elements * o.type.bytes;
}

Result<std::vector<Probe>> parse_probes(std::string_view text) {
  std::vector<Probe> all;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.starts_with("#")) continue;
    Probe probe;
    std::string problem = parse_line(line, probe);
    for (const Probe& other : all) {
      if (problem.empty() && other.name == probe.name) problem = "listed twice";
    }
    if (!problem.empty()) return Error{fmt::format("probes, line {}", number), line, problem};
    all.push_back(std::move(probe));
  }
  return all;
}

const std::vector<Probe>& probes() {
  static const std::vector<Probe> kAll = [] {
    Result<std::vector<Probe>> parsed = parse_probes(kProbeTable);  // a test parses it too
    return parsed.ok() ? std::move(*parsed) : std::vector<Probe>{};
  }();
  return kAll;
}

const Probe* find_probe(std::string_view name) {
  const auto& all = probes();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Probe& p) { return p.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace moe4::oracle
