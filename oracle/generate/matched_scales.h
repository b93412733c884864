// Scale bytes and token exponents that cancel (DATA-12, DATA-34): group g has a base byte b(g), its scale
// bytes lie just above b(g) in every row, and its tokens carry 2^(target - b(g)). So one row meets scale
// bytes from all of 0..254, and still every product is of the same size and every group is seen in the
// output.
#pragma once

#include <cstdint>

#include "oracle/generate/fill_data.h"

namespace moe4::oracle {

class MatchedScales {
 public:
  struct Limits {
    int target;    // b(g) + exponent of the tokens of group g
    int min_byte;  // without scales=, bytes are min_byte..max_byte
    int max_byte;
    int last_byte;     // the highest that scales= can ask for
    int spread;        // bytes of group g are b(g) … b(g) + spread, less in a narrow window
    int min_exponent;  // least and greatest exponent of a token
    int max_exponent;
    bool keep_target;  // raise the target rather than break b(g) + exponent = target
  };

  MatchedScales(const FillBase& base, const Limits& limits);

  bool has_room() const { return first_base_ <= last_base_; }
  int target() const { return target_; }
  int spread() const { return spread_; }
  int lowest_byte() const { return window_lo_; }
  int highest_byte() const { return window_hi_; }

  int base(std::int64_t g) const;
  int token_exponent(std::int64_t g) const;

 private:
  Key groups_;
  int target_, spread_, window_lo_, window_hi_, first_base_, last_base_, min_exponent_;
};

// The limits of the exact fills and ties (tokens up to 127 · 2^exponent), and of bits (up to 2^(exponent +
// 2)).
MatchedScales exact_scales(const FillBase& base);
MatchedScales bits_scales(const FillBase& base);
// The limits of tall_pairs: tokens from 2^(exponent - 2) to 2^(exponent + 24), F64 to 2^(exponent + 53).
MatchedScales tall_scales(const FillBase& base);

}  // namespace moe4::oracle
