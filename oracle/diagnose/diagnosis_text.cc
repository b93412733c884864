#include <fmt/format.h>

#include "oracle/diagnose/diagnose.h"
#include "oracle/diagnose/read_back.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kShown = 4;

std::string line_of(const FaultMatch& match, std::int64_t wrong) {
  const std::string what = match.perfect
                               ? fmt::format("gives all {} wrong outputs and no other", wrong)
                               : fmt::format("gives {} of the {} wrong outputs, and makes {} others wrong",
                                             match.explained, wrong, match.beside);
  return fmt::format("{} (class {}): {}{}\n      {}\n", match.fault->name, match.fault->cls,
                     match.fault->sentence, match.where.empty() ? "" : "; here " + match.where, what);
}

// VER-17.
std::string followed_text(const Followed& followed) {
  if (followed.arithmetics.empty()) {
    return fmt::format(
        "  arithmetic: none of {} others, one thing changed of the declared one, has these bits\n",
        followed.tried);
  }
  std::string text = "  arithmetic: all outputs compared have the bits of ";
  for (std::size_t n = 0; n < followed.arithmetics.size() && n < kShown; ++n) {
    text += (n == 0 ? "" : " or ") + to_string(followed.arithmetics[n]);
  }
  if (followed.arithmetics.size() > kShown) {
    text += fmt::format(" or one of {} others", followed.arithmetics.size() - kShown);
  }
  return text + "; if that is what the kernel does, declare it\n";
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis) {
  if (diagnosis.followed) {
    Diagnosis faults = diagnosis;
    faults.followed.reset();
    const bool only_followed = faults.matches.empty() && !diagnosis.followed->arithmetics.empty();
    return followed_text(*diagnosis.followed) + (only_followed ? "" : diagnosis_text(faults));
  }
  const std::string head = "  fault";
  if (diagnosis.matches.empty()) {
    if (diagnosis.tried == 0) {
      return diagnosis.wrong == 0 ? "" : head + ": none was planted, the case is large\n";
    }
    return fmt::format("{}: none of the {} known ones that this case could show gives these outputs{}\n",
                       head, diagnosis.tried,
                       diagnosis.complete ? "" : "; time was up before all were tried");
  }
  std::string text =
      fmt::format("{}, {} confidence\n", head, diagnosis.confidence == Confidence::kHigh ? "high" : "low");
  for (std::size_t n = 0; n < diagnosis.matches.size() && n < kShown; ++n) {
    text += (n == 0 ? "    " : "    or ") + line_of(diagnosis.matches[n], diagnosis.wrong);
  }
  if (diagnosis.matches.size() > kShown) {
    text += fmt::format("    or one of {} others\n", diagnosis.matches.size() - kShown);
  }
  return text;
}

std::string fault_lines(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
                        const Verdict& verdict) {
  const bool compared = verdict.outputs > 0;
  const bool wrong = verdict.mismatched > 0 || verdict.bits_differ > 0 || verdict.unwritten > 0 ||
                     verdict.stray > 0 || !run.inputs_unchanged;
  if (verdict.status != VerdictStatus::kFailed || !compared || !wrong) return "";
  const Result<Diagnosis> diagnosis = diagnose(data, declaration, run);
  return (diagnosis.ok() ? diagnosis_text(*diagnosis) : "") + read_back_text(read_back(data, run.output));
}

}  // namespace moe4::oracle
