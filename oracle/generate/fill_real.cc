// fill=real and fill=positive (DATA-26, DATA-27, DATA-39).
#include "oracle/generate/real_like.h"

namespace moe4::oracle {
namespace {

ExactValue magnitude(ExactValue value) {
  value.negative = false;
  return value;
}

class Positive final : public RealLike {
 public:
  using RealLike::RealLike;
  ExactValue token(std::int64_t t, std::int64_t i) const override { return magnitude(RealLike::token(t, i)); }
  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    RealLike::row(e, o, codes, scales);
    for (std::uint8_t& code : codes) {
      if (!base_.int4) {
        code &= 7;
      } else if (code < 8) {
        code = static_cast<std::uint8_t>(16 - code);
      }
    }
  }
  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    return magnitude(RealLike::shared(t, o));
  }
};

}  // namespace

std::unique_ptr<FillData> make_real_fill(const Case& c) { return std::make_unique<RealLike>(c); }
std::unique_ptr<FillData> make_positive_fill(const Case& c) { return std::make_unique<Positive>(c); }

}  // namespace moe4::oracle
