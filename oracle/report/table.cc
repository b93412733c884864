#include "oracle/report/table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "oracle/case/counted.h"
#include "oracle/report/failure.h"

namespace moe4::oracle {
namespace {

using Row = std::array<std::string, 9>;

std::string percent(const std::optional<double>& share) {
  // Rounded down: 100 % is printed only if it is.
  return share ? fmt::format("{:.1f}%", static_cast<double>(static_cast<std::int64_t>(*share * 1000)) / 10)
               : "-";
}

// "3, 2 formal": the latter make nothing red (VER-7).
std::string findings_of(const Tally& tally) {
  std::string text = tally.findings == 0 ? "none" : std::to_string(tally.findings);
  if (tally.formal_findings > 0) text += fmt::format(", {} formal", tally.formal_findings);
  return text;
}

std::string bits_of(const Tally& tally) {
  return tally.bits_compared == 0 ? "-" : std::to_string(tally.bits_compared);
}

std::string cases_of(const Tally& tally) {
  std::string text = fmt::format("{}/{}", tally.ran, tally.listed);
  if (tally.unsupported > 0) text += fmt::format(" ({} unsupported)", tally.unsupported);
  return text;
}

// How many weight formats were judged.
std::size_t formats_of(const Tally& tally) {
  std::set<WeightFormat> formats;
  for (const auto& [op, format] : tally.ops) {
    if (op != Op::kCombine) formats.insert(format);
  }
  return std::max<std::size_t>(formats.size(), 1);
}

// "SKIPPED(no device)": nothing ran, and the first case says why.
std::string skipped_of(const Tally& tally) {
  for (const CaseResult& result : tally.results) {
    const Verdict& verdict = result.verdict;
    if (verdict.status != VerdictStatus::kSkipped) continue;
    return fmt::format("SKIPPED({})", verdict.reason.substr(0, verdict.reason.find(':')));
  }
  return std::string(name_of(VerdictStatus::kSkipped));
}

Row row_of(const Tally& tally) {
  std::string verdict(name_of(tally.status));
  if (tally.ran == 0 && tally.skipped > 0) verdict = skipped_of(tally);
  if (tally.red > 0) verdict += fmt::format(" {}", tally.red);
  if (tally.known > 0) verdict += fmt::format(" ({} known)", tally.known);
  return {tally.subject,
          cases_of(tally),
          verdict,
          fmt::format("{}/{} {}f {}r {}t", tally.coverage.count(), 4096 * formats_of(tally),
                      tally.fills.size(), tally.routings.size(), tally.tails.size()),
          fmt::format("{} / {}", percent(tally.all.share()), percent(tally.real_bf16.share())),
          fmt::format("{:.3g}", tally.max_ulp),
          bits_of(tally),
          findings_of(tally),
          fmt::format("{:.1f} s", tally.seconds)};
}

// Which kernels' bits come from a model of a tensor core, were compared with those on the executor (VER-21),
// or depend on instructions without defined bits.
std::string arithmetic_notes(const GateReport& report) {
  std::string text;
  for (const Tally& tally : report.tallies) {
    std::set<std::string> hardware, approximate;
    std::int64_t compared = 0, differ = 0;
    for (const CaseResult& result : tally.results) {
      if (!result.verdict.hardware.empty()) hardware.insert(result.verdict.hardware);
      approximate.insert(result.verdict.approximate.begin(), result.verdict.approximate.end());
      compared += result.verdict.twin_compared;
      differ += result.verdict.twin_differ;
    }
    if (compared > 0) {
      text += fmt::format("{}: {} outputs compared with the executor's, {} have other bits\n", tally.subject,
                          compared, differ);
    }
    if (!hardware.empty()) {
      text += fmt::format("{}: tensor cores of {}\n", tally.subject, fmt::join(hardware, ", "));
    }
    if (!approximate.empty()) {
      text += fmt::format("{}: depends on approximate instructions: {}\n", tally.subject,
                          fmt::join(approximate, ", "));
    }
  }
  return text;
}

}  // namespace

std::string gate_table(const GateReport& report) {
  std::vector<Row> rows = {{"kernel", "cases", "verdict", "coverage", "tightness all / real", "max ulp",
                            "bits", "findings", "time"}};
  for (const Tally& tally : report.tallies) rows.push_back(row_of(tally));
  std::array<std::size_t, 9> widths{};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c + 1 == row.size() ? row[c] : fmt::format("{:<{}}  ", row[c], widths[c]);
    }
    text += line + "\n";
  }
  text +=
      "coverage: (code, scale byte) pairs, fills, routings, tails; tightness: share of outputs with one "
      "acceptable "
      "value,\nover all cases / over real BF16 data; max ulp: distance from the norm; bits: outputs held to "
      "the "
      "bits of the declared arithmetic\n";
  text += arithmetic_notes(report);
  return text;
}

std::string gate_failures(const GateReport& report) {
  constexpr int kBlocks = 3;
  constexpr int kCommands = 10;
  std::string text;
  for (const Tally& tally : report.tallies) {
    int shown = 0;
    for (const CaseResult& result : tally.results) {
      if (!is_red(result)) continue;
      if (shown < kBlocks) {
        text += result.failure + "\n";
      } else if (shown < kBlocks + kCommands) {
        text += fmt::format("also {}: {}\n", name_of(result.verdict.status),
                            replay_command(result.line, result.selector));
      }
      ++shown;
    }
    if (shown > kBlocks + kCommands) {
      text += fmt::format("{}: {} more failures are in the reports only\n", tally.subject,
                          shown - kBlocks - kCommands);
    }
    for (const std::string& condition : tally.unmet)
      text += fmt::format("{}: {}\n", tally.subject, condition);
  }
  for (const std::string& sentence : report.unmet()) text += sentence + "\n";
  return text;
}

std::string gate_known(const GateReport& report) {
  std::string text;
  for (const Tally& tally : report.tallies) {
    for (const CaseResult& result : tally.results) {
      if (!is_red(result.verdict.status) || is_red(result)) continue;
      text += fmt::format("known {}: {}\n  {}\n", name_of(result.verdict.status), result.known,
                          replay_command(result.line, result.selector));
    }
  }
  return text;
}

std::string gate_baseline(const GateReport& report) {
  if (!report.baseline) return "";
  const BaselineComparison& b = *report.baseline;
  std::string text = fmt::format("against the baseline: {} new, {} still failing, {} fixed, {} not run now\n",
                                 b.fresh.size(), b.still.size(), b.fixed.size(), b.gone.size());
  const std::pair<const char*, const std::vector<std::string>&> groups[] = {
      {"new", b.fresh}, {"still failing", b.still}, {"fixed", b.fixed}, {"not run now", b.gone}};
  constexpr std::size_t kMost = 20;
  for (const auto& [word, names] : groups) {
    for (std::size_t n = 0; n < names.size() && n < kMost; ++n)
      text += fmt::format("  {}: {}\n", word, names[n]);
    if (names.size() > kMost) text += fmt::format("  {}: {} more\n", word, names.size() - kMost);
  }
  return text;
}

std::string gate_summary(const GateReport& report) {
  std::int64_t runs = 0;
  for (const Tally& tally : report.tallies) runs += tally.ran;
  const ExitCode code = report.exit_code();
  std::string word = "PASSED";
  if (code == ExitCode::kUnmet) word = runs == 0 ? "NOTHING RAN" : "CONDITION UNMET";
  if (code == ExitCode::kUnmet && !report.interrupted.empty()) word = "INTERRUPTED";
  if (code == ExitCode::kMismatch) word = "FAILED";
  if (code == ExitCode::kCrashed) word = "CRASHED OR TIMED OUT";
  std::string text = fmt::format("{}: {}, {} of {}, {:.1f} s", word,
                                 counted(static_cast<std::int64_t>(report.tallies.size()), "subject"),
                                 counted(runs, "run"), counted(report.cases, "case"), report.seconds);
  if (report.rounds_seed) {
    text += fmt::format("; {} with new data, seed {:#x}", counted(report.rounds, "more round"),
                        *report.rounds_seed);
  }
  if (report.shard.count > 1) {
    text += fmt::format("; shard {}/{}: pairs, fills, routings, tails and tightness are judged by moe4 merge",
                        report.shard.index, report.shard.count);
  }
  text += "\n";
  for (const PairsJudged& family : report.pairs) text += to_string(family) + "\n";
  return text;
}

}  // namespace moe4::oracle
