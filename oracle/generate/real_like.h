// What the fills with realistic magnitudes share: Gaussian tokens, QAT-like rows, mixture weights that sum to
// about one, Gaussian shared output (DATA-26, DATA-27).
#pragma once

#include "oracle/generate/fill_data.h"
#include "oracle/generate/quantised_row.h"

namespace moe4::oracle {

class RealLike : public FillData {
 public:
  explicit RealLike(const Case& c) : base_(c) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override;
  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override;
  void mixture(std::int64_t t, std::span<ExactValue> p) const override;
  ExactValue shared(std::int64_t t, std::int64_t o) const override;

 protected:
  // Which column and which group stand in for column l of group g: cancelling fills repeat weights.
  struct Source {
    std::int64_t g, l;
  };
  virtual Source source_of(std::int64_t g, std::int64_t l) const { return {g, l}; }

  std::int64_t gaussian_token(std::int64_t t, std::int64_t i) const {
    return gaussian_q32(base_.root(kTokenStream)(t)(i));
  }

  FillBase base_;
};

}  // namespace moe4::oracle
