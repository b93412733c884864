// The judgement of one run of one case (docs/spec/verdict.md). No tolerance is ever set by a user.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/judge/picture.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

enum class VerdictStatus {
  kPassed,
  kFailed,
  kMistrusted,
  kNotExact,
  kModel,
  kSkipped,
  kUnsupported,
  kCrashed,
  kTimeout
};
std::string_view name_of(VerdictStatus status);  // "PASSED", ...
const std::vector<VerdictStatus>& all_statuses();

struct Mismatch {
  std::int64_t row = 0, out = 0;                   // of the output, seen as [rows, O]
  std::uint64_t expected_lo = 0, expected_hi = 0;  // encodings; equal where bits are due
  std::uint64_t got = 0;
  double ulps = 0;  // representable numbers from the nearer end; infinite for NaN (VER-12)
};

// Which (code, scale byte) pairs could have changed a counted output (VER-10). INT4: the scale's exponent
// field in place of the byte.
struct Coverage {
  using Pairs = std::bitset<16 * 256>;  // code * 256 + scale byte
  Pairs pairs, int4_pairs;
  std::int64_t outputs = 0;  // counted outputs judged
  Pairs& of(WeightFormat format) { return format == WeightFormat::kMxfp4 ? pairs : int4_pairs; }
  const Pairs& of(WeightFormat format) const { return format == WeightFormat::kMxfp4 ? pairs : int4_pairs; }
  std::size_t count() const { return pairs.count() + int4_pairs.count(); }
  void merge(const Coverage& other) {
    pairs |= other.pairs;
    int4_pairs |= other.int4_pairs;
    outputs += other.outputs;
  }
};

struct Verdict {
  VerdictStatus status = VerdictStatus::kPassed;
  std::string rule;    // "VER-3: bits equal the norm's (exact8)"
  std::string reason;  // one line; empty when passed
  std::int64_t outputs = 0, mismatched = 0, nan = 0, inf = 0;
  std::int64_t unwritten = 0;      // counted outputs that were not written
  std::int64_t stray = 0;          // outputs that were written in rows that may not be (VER-15)
  std::int64_t telling = 0;        // counted outputs that are finite, not zero, below the largest (VER-9)
  std::int64_t bits_compared = 0;  // outputs held to the bits of the declared arithmetic (VER-17)
  std::int64_t bits_differ = 0;    // of these, inside their intervals with other bits
  std::int64_t twin_compared = 0;  // counted outputs compared with those of the executor (VER-21)
  std::int64_t twin_differ = 0;    // of these, with other bits
  std::vector<Mismatch> worst;     // at most 20, worst first; where bits differ, those
  std::vector<std::string> where;  // where the wrong outputs lie, a line each (oracle/judge/clusters.h)
  Picture picture;                 // of the wrong outputs; empty unless some are
  std::string fault;               // lines on the fault that it matches, if that was asked (oracle/diagnose)
  double singleton_share = 0;      // share of outputs whose bits were due
  double max_ulp = 0;              // largest distance from the norm's bits, in ulp of the output dtype
  std::optional<ExactProof> proof;
  std::vector<DeviceFinding> findings;
  std::string hardware;                  // SubjectRun::hardware
  std::vector<std::string> approximate;  // SubjectRun::approximate
  Coverage coverage;
};

// Judges a run. The norm and the bounds are computed here from data and declaration; for several runs of one
// case: oracle/judge/judge.h.
Verdict judge(const CaseData& data, const Declaration& declaration, const SubjectRun& run);

}  // namespace moe4::oracle
