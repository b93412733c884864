// The magnitudes of weights in double, with their lowest bits: what the proof of DATA-33 adds up.
#pragma once

#include <array>
#include <cstdint>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

inline constexpr int kNoBits = 4096;  // the lowest bit of zero: above every other

// |value| and the exponent of its lowest set bit.
struct Magnitude {
  double value = 0;
  int lowest = kNoBits;
};

// What the 16 codes of one group weigh.
struct GroupMagnitudes {
  std::array<Magnitude, 16> of_code;
};

class CodeMagnitudes {
 public:
  explicit CodeMagnitudes(const CaseData& data);

  // Group g of row (e·O + o); false if a weight of it is not finite.
  bool group(std::int64_t row, std::int64_t g, GroupMagnitudes& to) const;
  // The codes of that group.
  void codes(std::int64_t row, std::int64_t g, std::array<std::uint8_t, 32>& to) const;

 private:
  const CaseData& data_;
  std::int64_t groups_;
};

// False for NaN, Inf and what double's own range could not multiply exactly.
bool magnitude_of(const ExactValue& value, Magnitude& to);

}  // namespace moe4::oracle
