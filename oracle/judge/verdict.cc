#include "oracle/judge/verdict.h"

namespace moe4::oracle {

const std::vector<VerdictStatus>& all_statuses() {
  using enum VerdictStatus;
  static const std::vector<VerdictStatus> kAll = {kPassed,  kFailed,      kMistrusted, kNotExact, kModel,
                                                  kSkipped, kUnsupported, kCrashed,    kTimeout};
  return kAll;
}

// VER-1.
std::string_view name_of(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kPassed:
      return "PASSED";
    case VerdictStatus::kFailed:
      return "FAILED";
    case VerdictStatus::kMistrusted:
      return "MISTRUSTED";
    case VerdictStatus::kNotExact:
      return "NOT_EXACT";
    case VerdictStatus::kModel:
      return "MODEL";
    case VerdictStatus::kSkipped:
      return "SKIPPED";
    case VerdictStatus::kUnsupported:
      return "UNSUPPORTED";
    case VerdictStatus::kCrashed:
      return "CRASHED";
    case VerdictStatus::kTimeout:
      return "TIMEOUT";
  }
  return "FAILED";
}

}  // namespace moe4::oracle
