#include "oracle/file/checkpoint/checkpoint_case.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "oracle/generate/generate.h"
#include "oracle/generate/route.h"

namespace moe4::oracle {
namespace {

// The pairs of a line by key; what is no pair is parse_case's to refuse.
std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    const std::string_view pair = line.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
    at = line.find_first_not_of(kBlanks, end);
  }
  return pairs;
}

// CKP-15.
Status check_words(const Case& line) {
  constexpr std::array kFills = {Fill::kReal, Fill::kPositive, Fill::kOnehot, Fill::kNonfinite};
  if (std::find(kFills.begin(), kFills.end(), line.fill) == kFills.end()) {
    return Error{
        "fill", std::string(name_of(line.fill)),
        "CKP-15: with weights from a checkpoint one of real positive onehot nonfinite; the others draw "
        "weights to suit"};
  }
  if (line.op == Op::kCombine) {
    return Error{"op", std::string(name_of(line.op)),
                 "CKP-15: it has no weights that could be a checkpoint's"};
  }
  const std::array<std::pair<const char*, bool>, 5> drawn = {{{"scales", line.scales.has_value()},
                                                              {"ep", line.ep.has_value()},
                                                              {"keep_outputs", !line.keep_outputs.empty()},
                                                              {"keep_groups", !line.keep_groups.empty()},
                                                              {"keep_codes", !line.keep_codes.empty()}}};
  for (const auto& [key, given] : drawn) {
    if (given)
      return Error{key, "(given)", "CKP-15: it would change the weights, which are the checkpoint's"};
  }
  return {};
}

}  // namespace

Result<Case> checkpoint_line(const Checkpoint& checkpoint, std::string_view line) {
  const WeightExtent& extent = checkpoint.extent();
  // CKP-14.
  const std::array<std::pair<std::string, std::string>, 4> due = {
      {{"weights", std::string(name_of(checkpoint.format()))},
       {"experts", std::to_string(extent.experts)},
       {"in", std::to_string(extent.in)},
       {"out", std::to_string(extent.out)}}};
  const auto given = pairs_of(line);
  const auto find = [&given](const std::string& key) {
    return std::find_if(given.begin(), given.end(), [&key](const auto& pair) { return pair.first == key; });
  };
  std::string whole(line);
  for (const auto& [key, value] : due) {
    const auto said = find(key);
    if (said == given.end()) {
      whole += " " + key + "=" + value;
    } else if (said->second != value) {
      return Error{key, said->second, "CKP-14: the checkpoint has " + key + "=" + value};
    }
  }
  if (find("fill") == given.end()) whole += " fill=real";
  Result<Case> parsed = parse_case(whole);
  if (!parsed) return parsed;
  if (Status status = check_words(*parsed)) return *status;
  return parsed;
}

Result<CaseData> checkpoint_case(Checkpoint& checkpoint, const Case& line) {
  Result<CaseData> data = generate(line);
  if (!data) return data;
  // CKP-13: what no slot selects stays as generate leaves it.
  const std::vector<std::int64_t> used = used_experts(selected_experts(line));
  if (Status status = checkpoint.read(used, data->packed_weights, data->scale_tensor())) return *status;
  if (data->layout != nullptr) {
    if (Status status = pack_weights(*data->layout, *data)) return *status;
  }
  data->checkpoint = checkpoint.choice();
  return data;
}

}  // namespace moe4::oracle
