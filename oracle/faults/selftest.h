// The self-test of the judge: every fault of the catalogue must be caught on the gate's own cases, and every
// healthy kernel must pass (docs/faults.md).
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/diagnose/diagnose.h"
#include "oracle/faults/fault.h"
#include "oracle/faults/peer_rules.h"
#include "oracle/gate/tiers.h"
#include "oracle/judge/verdict.h"

namespace moe4::oracle {

// One row of the kill table: a fault in one operation and weight format. combine has one row for both
// formats.
struct FaultOutcome {
  const Fault* fault = nullptr;
  Op op = Op::kExpertLinear;
  WeightFormat weights = WeightFormat::kMxfp4;
  // Cases of the lists, up to the one that caught it.
  std::int64_t applicable = 0;  // of the operation and format
  std::int64_t visible = 0;     // and the fault changes something that counts
  std::string tier;             // of the case that caught it; empty: it survived
  std::optional<Case> caught_by;
  std::string rule, reason;  // of that verdict
  std::string where;         // the parameters of the fault there
  std::string defect;        // an Error of the fault itself
  // On cases of fill=real where it is visible (at most kRealCases): how many there were, and how many of them
  // each rule would let pass.
  std::int64_t real_cases = 0;
  std::array<std::int64_t, kPeerRules> passed_by{};
  // If that was asked: the smallest case that still shows it, and what the diagnosis says of the case that
  // caught it.
  std::optional<Case> shrunk;
  std::optional<Diagnosis> diagnosis;

  bool caught() const { return caught_by.has_value() && defect.empty(); }
  bool takes(const Case& line) const {
    return line.op == op && (op == Op::kCombine || line.weights == weights);
  }
};

// How the diagnosis did on the faults that were caught.
struct NamingRate {
  std::int64_t asked = 0, right = 0, alone = 0;  // alone: the right name and no other
  std::int64_t high = 0, high_and_wrong = 0;     // of the names given with high confidence
};

// A healthy kernel that was not PASSED.
struct FalseAlarm {
  Case line;
  std::string arithmetic;
  std::string verdict;
};

struct SelftestReport {
  std::vector<FaultOutcome> faults;
  std::int64_t controls = 0;   // healthy runs that were judged
  std::int64_t unbounded = 0;  // of these, no theorem covers the arithmetic on the case (BND-15, BND-16)
  std::vector<FalseAlarm> alarms;
  double seconds = 0;

  std::int64_t survivors() const;
  NamingRate naming() const;
  // No survivor, no false alarm, no wrong name with high confidence, and at least kRightNames of the names
  // right.
  bool passed() const;
};

inline constexpr double kRightNames = 0.9;

// A healthy kernel: what it computes, and what it declares (PRO-19).
struct Control {
  std::string computes, declares;
};
// "COMPUTES", which it declares as well, or "COMPUTES as DECLARES". An Error names the word that is none of
// an arithmetic.
Result<Control> parse_control(std::string_view text);
// Each declares what it computes.
std::vector<Control> healthy_controls();

struct SelftestOptions {
  std::uint64_t seed = 1;  // of the parameters that faults draw
  std::vector<std::string_view> tiers = {"smoke", "ci"};
  std::vector<Case> cases;                        // in place of the tiers' lists, if there are any
  bool plant = true;                              // false: no faults, only `controls`, on `cases` if any
  std::vector<std::string> only;                  // names of faults; empty: all
  const std::vector<Fault>* catalogue = nullptr;  // null: fault_catalogue()
  bool shrink = true;                             // fill in FaultOutcome::shrunk
  bool name = true;                               // and diagnosis
  std::vector<Control> controls = healthy_controls();
  std::function<void(const std::string& doing)> progress;
};

// What a kernel is taken for that has one of the faults: once, seq, F32 with FMA; it accepts everything.
Declaration healthy_declaration();

// An unknown name of a fault or a tier is an Error with the nearest known one.
Result<SelftestReport> run_selftest(const SelftestOptions& options);

// The healthy controls alone: declared arithmetics on every fill, operation and weight format.
void run_controls(const SelftestOptions& options, SelftestReport& report);

// Shrinks and names each row that was caught.
void explain(const SelftestOptions& options, SelftestReport& report);

}  // namespace moe4::oracle
