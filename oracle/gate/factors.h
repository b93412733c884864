// The values of which a pairwise cover takes two at a time, and the case that a choice of them stands for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oracle/case/case.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {

enum Factor : int { kSubject, kBlockM, kDtype, kFill, kRouting, kTail, kLayout, kSchedule, kFactors };

// One operation and weight format, and the subjects that take them. A choice has an index of values[f] for
// each factor f.
class Family {
 public:
  using Choice = std::vector<int>;

  Family(Op op, WeightFormat weights, std::vector<const Declaration*> subjects);

  std::string name() const;
  const std::vector<std::string>& values(int factor) const {
    return values_[static_cast<std::size_t>(factor)];
  }
  std::string value_text(int factor, int value) const;  // "fill=exact8"
  const Declaration& subject(int value) const { return *subjects_[static_cast<std::size_t>(value)]; }
  bool takes(const Declaration& declaration) const;

  // The usual value of every factor for a subject.
  Choice usual(int subject) const;
  // The case of a choice, small; seed and schedule are its own.
  Case case_of(const Choice& choice, std::uint64_t seed) const;
  // Why there is no such case; nothing if there is.
  std::optional<std::string> refuses(const Choice& choice) const;
  // The choice that a case is; -1 where its value is none of the family's.
  Choice choice_of(int subject, const Case& line) const;

 private:
  Op op_;
  WeightFormat weights_;
  std::vector<const Declaration*> subjects_;
  std::vector<std::vector<std::string>> values_;
};

// Every operation and format that a subject takes (combine: one format), in the order of all_ops().
std::vector<Family> families_of(const std::vector<const Declaration*>& declarations);

}  // namespace moe4::oracle
