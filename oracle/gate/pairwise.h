// Pairwise covers: for each operation and weight format a small list of cases in which every two values of
// what a kernel depends on meet: the kernel itself (its tile), block_m, dtype, fill, routing, tails, layout,
// schedule. A fault that needs two of them at once is met by a case, and not only by luck of a list.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "oracle/gate/evaluate.h"

namespace moe4::oracle {

// A case of a cover is one kernel's: the others have their own.
struct CoverCase {
  std::string subject;
  Case line;
};

struct PairwiseCover {
  std::string family;  // "indexed int4"
  std::int64_t subjects = 0;
  std::int64_t possible = 0;  // pairs of values that some accepted case has
  std::map<std::string, std::int64_t>
      excluded;                  // how many pairs none has, by the reason of the first subject
  std::vector<CoverCase> cases;  // together they have every possible pair
};

// A function of the declarations alone; their order is that of the subjects.
std::vector<PairwiseCover> pairwise_covers(const std::vector<const Declaration*>& declarations);

// What was judged of the pairs of a family.
struct PairsJudged {
  std::string family;
  std::int64_t subjects = 0, possible = 0, judged = 0;
  std::vector<std::string> lost;  // "fill=exact8 with routing=hot", at most ten
};

// results: of each declaration the cases that ran, from a cover or from any list.
std::vector<PairsJudged> pairs_judged(const std::vector<const Declaration*>& declarations,
                                      const std::vector<std::span<const CaseResult>>& results);

// "indexed int4: 2210 of 2210 pairs judged (18 subjects)".
std::string to_string(const PairsJudged& pairs);

}  // namespace moe4::oracle
