// Outputs against what is due (VER-3 … VER-6, VER-12).
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/judge/encodings.h"
#include "oracle/judge/verdict.h"
#include "reference/bound/bounds.h"

namespace moe4::oracle {

struct CompareRules {
  bool strict_zero = false;     // VER-5
  bool skip_nonfinite = false;  // VER-6
};

// Is this output counted?
bool is_counted(const OutputInterval& due, const CompareRules& rules);

// Is it right?
bool is_right(const Encodings& encodings, const OutputInterval& due, std::uint64_t got,
              const CompareRules& rules);

// got, which is not right, at flat index `index` of [rows, out].
Mismatch mismatch(const Encodings& encodings, const OutputInterval& due, std::uint64_t got,
                  std::int64_t index, std::int64_t out);

// Keeps the 20 worst: by distance, then by place.
class WorstMismatches {
 public:
  void add(const Mismatch& mismatch);
  std::vector<Mismatch> take();

 private:
  void cut();
  std::vector<Mismatch> kept_;
};

struct Comparison {
  std::int64_t outputs = 0, nan = 0, inf = 0;
  std::int64_t singletons = 0;  // counted outputs with one right result
  std::int64_t telling = 0;     // counted outputs that are finite, not zero, below the largest number (VER-9)
  double max_ulp = 0;
  std::vector<std::int64_t> wrong;  // flat indices, ascending
  std::vector<Mismatch> worst;      // at most 20
};

// What is due of a case: intervals [rows,O], and which rows count.
struct Due {
  std::int64_t out = 0;
  std::vector<OutputInterval> outputs;
  std::vector<std::uint8_t> written;  // 1 where the row counts (VER-15); empty: all do

  bool counts(std::int64_t row) const {
    return written.empty() || written[static_cast<std::size_t>(row)] != 0;
  }
};

// Precondition: output has the elements and the dtype that due was computed for.
Comparison compare(const Tensor& output, const Due& due, const CompareRules& rules);

}  // namespace moe4::oracle
