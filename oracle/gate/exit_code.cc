#include "oracle/gate/exit_code.h"

#include <algorithm>
#include <array>

namespace moe4::oracle {

ExitCode more_urgent(ExitCode a, ExitCode b) {
  constexpr std::array kOrder = {ExitCode::kUsage,    ExitCode::kSelfTest, ExitCode::kCrashed,
                                 ExitCode::kMismatch, ExitCode::kUnmet,    ExitCode::kPassed};
  const auto rank = [&](ExitCode code) { return std::find(kOrder.begin(), kOrder.end(), code); };
  return rank(a) <= rank(b) ? a : b;
}

ExitCode exit_code_of(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kPassed:
    case VerdictStatus::kSkipped:
    case VerdictStatus::kUnsupported:
      return ExitCode::kPassed;
    case VerdictStatus::kFailed:
    case VerdictStatus::kModel:
      return ExitCode::kMismatch;
    case VerdictStatus::kMistrusted:
    case VerdictStatus::kNotExact:
      return ExitCode::kUnmet;
    case VerdictStatus::kCrashed:
    case VerdictStatus::kTimeout:
      return ExitCode::kCrashed;
  }
  return ExitCode::kUnmet;
}

}  // namespace moe4::oracle
