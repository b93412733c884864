// A named fault: from a case to what a kernel with that fault returns (docs/faults.md). It composes the
// stages of the reference with one of them replaced; reference/ knows nothing of faults.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "oracle/faults/scene.h"

namespace moe4::oracle {

// What a fault can be planted in, as bits.
enum FaultUse : unsigned {
  kInLinear = 1,  // op=expert_linear
  kInIndexed = 2,
  kInContiguous = 4,
  kInMasked = 8,
  kInCombine = 16,
  kInRows = kInIndexed | kInContiguous | kInMasked,
  kInWithIds = kInLinear | kInIndexed | kInContiguous,  // an id names the expert
  kInWeights = kInLinear | kInRows,
  kInMixing = kInLinear | kInCombine,
  kInAll = kInLinear | kInRows | kInCombine,
};
enum FaultFormat : unsigned { kOfMxfp4 = 1, kOfInt4 = 2, kOfBoth = 3 };

// What of a Site a fault uses: where the diagnosis has to look for it.
enum class Place {
  kNone,         // nothing is drawn
  kRow,          // of the output
  kColumn,       // of the output
  kTwoColumns,   // a column and the next
  kElement,      // of the output
  kTile,         // 16 by 16 of the output
  kRowsInTile,   // a row and the next, 16 columns
  kStrip,        // a row, 16 columns
  kSlot,         // of a row
  kGroupColumn,  // 0 … 31, of every group
  kWeightRow,    // expert and output
  kWeightGroup,  // expert, output and group
  kWeight,       // expert, output and column of i
};

// How a fault is planted.
struct Planting {
  using Plant = std::function<Status(Scene&, SubjectRun&)>;
  // Turns a healthy run into the faulty one. Where the case has no place for the fault the run stays as it
  // is. An Error is a defect of the catalogue.
  Plant plant;
  Place place = Place::kNone;
  // kWeightRow, kWeightGroup, kWeight: what `plant` does to the weights of its site, and nothing else; inside
  // of one group.
  std::function<void(Weights&, const Site&)> change;

  template <class Function>
  requires std::is_invocable_r_v<Status, Function, Scene&, SubjectRun&> Planting(Function function)
      : plant(std::move(function)) {}  // NOLINT(google-explicit-constructor)
  Planting(Plant function, Place where) : plant(std::move(function)), place(where) {}
};

struct Fault {
  std::string_view name;
  char cls;                   // 'A' … 'M' (docs/faults.md)
  std::string_view sentence;  // what the kernel does
  std::string_view example;   // a public project and what happened there; empty: none is known to us
  unsigned uses = kInAll;
  unsigned formats = kOfBoth;
  Planting planting;
  // What the kernel declares, in words of PRO-19.
  std::string_view declared = "order=seq";
  // It promises the bits of that (VER-17): what is healthy is then what the arithmetic gives, and the fault
  // only counts where it stays inside the interval. Otherwise healthy is the norm.
  bool bits_declared = false;
};

// All of them, by class; names are unique.
const std::vector<Fault>& fault_catalogue();

// What a kernel declares that has the fault; it accepts everything.
Declaration declaration_of(const Fault& fault);

// What a healthy kernel of that declaration returns: the norm, or what the promised bits are.
Result<Norm> healthy_result(const Fault& fault, const CaseData& data);

// May it be planted in cases of this operation and weight format? combine has no weights, so any format is
// right.
bool applies(const Fault& fault, Op op, WeightFormat weights);
// And in this case? One that promises bits: in small cases that are judged by interval, and where there is
// such an arithmetic.
bool applies(const Fault& fault, const CaseData& data);

struct Planted {
  SubjectRun run;
  std::string where;     // the parameters that were drawn, in words
  bool visible = false;  // something that counts differs from the healthy run
};

// norm: what is healthy, of data. The parameters are drawn from `seed`, the fault's name and the seed of the
// case.
Result<Planted> plant_fault(const Fault& fault, const CaseData& data, const Norm& norm, std::uint64_t seed);
// The same with given parameters.
Result<Planted> plant_fault(const Fault& fault, Scene& scene);

}  // namespace moe4::oracle
