// A named fault: from a case to what a kernel with that fault returns (docs/faults.md). It composes the
// stages of the reference with one of them replaced; reference/ knows nothing of faults.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "oracle/faults/scene.h"

namespace moe4::oracle {

// What a fault can be planted in, as bits.
enum FaultUse : unsigned {
  kInLinear = 1,   // op=expert_linear
  kInRows = 2,     // indexed, grouped_contiguous, grouped_masked
  kInCombine = 4,  // combine
  kInWeights = kInLinear | kInRows,
  kInMixing = kInLinear | kInCombine,
  kInAll = kInLinear | kInRows | kInCombine,
};
enum FaultFormat : unsigned { kOfMxfp4 = 1, kOfInt4 = 2, kOfBoth = 3 };

struct Fault {
  std::string_view name;
  char cls;                   // 'A' … 'M' (docs/faults.md)
  std::string_view sentence;  // what the kernel does
  std::string_view example;   // a public project and what happened there; empty: none is known to us
  unsigned uses = kInAll;
  unsigned formats = kOfBoth;
  // Turns a healthy run into the faulty one. Where the case has no place for the fault the run stays as it
  // is. An Error is a defect of the catalogue.
  std::function<Status(Scene&, SubjectRun&)> plant;
  // The kernel promises the bits of this arithmetic (VER-17), in words of PRO-19: what is healthy is then
  // what the arithmetic gives, and the fault only counts where it stays inside the interval. Empty: it is
  // judged as a kernel that declares once, seq, F32 with FMA, and healthy is the norm.
  std::string_view declared = {};
};

// All of them, by class; names are unique.
const std::vector<Fault>& fault_catalogue();

// What a kernel declares that has the fault; it accepts everything.
Declaration declaration_of(const Fault& fault);

// May it be planted in cases of this operation and weight format? One with a declared arithmetic: in small
// cases that are judged by interval, and where there is such an arithmetic.
bool applies(const Fault& fault, const CaseData& data);

struct Planted {
  SubjectRun run;
  std::string where;     // the parameters that were drawn, in words
  bool visible = false;  // something that counts differs from the healthy run
};

// norm: what is healthy, of data. The parameters are drawn from `seed`, the fault's name and the seed of the
// case.
Result<Planted> plant_fault(const Fault& fault, const CaseData& data, const Norm& norm, std::uint64_t seed);

}  // namespace moe4::oracle
