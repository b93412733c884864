// The weights that a kernel really used, where each token reads a single one of them (fill=onehot): nibble by
// nibble and scale by scale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

// One weight, as it came out of the output.
struct ReadWeight {
  std::int64_t expert = 0, out = 0, in = 0;
  unsigned code = 0;  // of the case
  double due = 0, read = 0;
  std::optional<unsigned> as;    // the code of the same group that has the value `read`
  std::optional<int> scaled_by;  // the k for which read is 2^k times due
};

struct ReadBack {
  std::int64_t read = 0;              // weights that an output shows by itself
  std::vector<ReadWeight> different;  // in the order of expert, row, column
};

// Precondition: data is valid; output has the shape and dtype of the operation. Nothing is read from rows of
// more than one token element, slot or shared term that is not zero.
ReadBack read_back(const CaseData& data, const Tensor& output);

// Lines of a failure report; empty if every weight that was read is right.
std::string read_back_text(const ReadBack& weights);

}  // namespace moe4::oracle
