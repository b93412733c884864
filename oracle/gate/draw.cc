#include "oracle/gate/draw.h"

#include <rapidcheck.h>

#include <algorithm>

#include "oracle/gate/fit.h"

namespace moe4::oracle {
namespace {

std::vector<Dtype> floats() { return {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}; }

// A small number mostly, `max` at the most.
rc::Gen<std::int64_t> size_up_to(std::int64_t max) {
  return rc::gen::weightedOneOf<std::int64_t>(
      {{3, rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(max, 4) + 1)},
       {2, rc::gen::inRange<std::int64_t>(1, max + 1)}});
}

rc::Gen<std::optional<Dtype>> maybe_dtype(int absent) {
  return rc::gen::weightedOneOf<std::optional<Dtype>>(
      {{static_cast<std::size_t>(absent), rc::gen::just(std::optional<Dtype>())},
       {1, rc::gen::map(rc::gen::elementOf(floats()), [](Dtype d) { return std::optional<Dtype>(d); })}});
}

rc::Gen<std::optional<ScaleWindow>> maybe_window() {
  const auto window = rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 255), rc::gen::inRange(0, 40)),
                                   [](const std::pair<int, int>& lo_and_width) -> std::optional<ScaleWindow> {
                                     const auto [lo, width] = lo_and_width;
                                     return ScaleWindow{static_cast<std::uint8_t>(lo),
                                                        static_cast<std::uint8_t>(std::min(254, lo + width))};
                                   });
  return rc::gen::weightedOneOf<std::optional<ScaleWindow>>(
      {{3, rc::gen::just(std::optional<ScaleWindow>())}, {1, window}});
}

rc::Gen<Policy> policy() {
  return rc::gen::weightedOneOf<Policy>(
      {{5, rc::gen::just(Policy{})},
       {1, rc::gen::build<Policy>(
               rc::gen::set(&Policy::scale_nan,
                            rc::gen::element(ScaleNan::kOcp, ScaleNan::kFormula, ScaleNan::kInf)),
               rc::gen::set(&Policy::scale_zero, rc::gen::element(ScaleZero::kExact, ScaleZero::kFlush)),
               rc::gen::set(&Policy::ids, rc::gen::element(Ids::kError, Ids::kAbsent)),
               rc::gen::set(&Policy::skip_zero_p, rc::gen::element(SkipZeroP::kNo, SkipZeroP::kYes)))}});
}

rc::Gen<Case> any_case() {
  const auto groups = rc::gen::map(size_up_to(20), [](std::int64_t g) { return 32 * g; });
  const auto schedule = rc::gen::weightedOneOf<std::optional<std::uint64_t>>(
      {{3, rc::gen::just(std::optional<std::uint64_t>())},
       {1, rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 1000),
                        [](std::uint64_t s) { return std::optional<std::uint64_t>(s); })}});
  return rc::gen::build<Case>(
      rc::gen::set(&Case::tokens, size_up_to(17)), rc::gen::set(&Case::experts, size_up_to(12)),
      rc::gen::set(&Case::top_k, size_up_to(5)), rc::gen::set(&Case::in, groups),
      rc::gen::set(&Case::out, size_up_to(70)), rc::gen::set(&Case::dtype, rc::gen::elementOf(floats())),
      rc::gen::set(&Case::mixture, maybe_dtype(6)), rc::gen::set(&Case::shared, maybe_dtype(6)),
      rc::gen::set(&Case::ids_dtype, rc::gen::weightedElement<Dtype>({{4, Dtype::kI32}, {1, Dtype::kI64}})),
      rc::gen::set(&Case::fill, rc::gen::elementOf(all_fills())),
      rc::gen::set(&Case::routing, rc::gen::elementOf(all_routings())),
      rc::gen::set(&Case::scales, maybe_window()), rc::gen::set(&Case::policy, policy()),
      rc::gen::set(&Case::schedule, schedule),
      rc::gen::set(&Case::seed, rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 32)));
}

}  // namespace

std::optional<Case> draw_case(const std::vector<const Declaration*>& declarations, std::uint64_t seed,
                              std::uint64_t index) {
  static const rc::Gen<Case> kCases = any_case();
  constexpr int kAttempts = 10000;
  if (declarations.empty()) return std::nullopt;
  rc::Random random(rc::Random::Key{seed, index, 0, 0});
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Key key = Key::from_seed(seed)(static_cast<std::int64_t>(index))(attempt);
    const Declaration& wanted =
        *declarations[static_cast<std::size_t>(key(-1).pick(static_cast<std::int64_t>(declarations.size())))];
    const Case c = fit_to(wanted, kCases(random.split(), rc::kNominalSize).value(), key);
    const bool accepted = std::any_of(declarations.begin(), declarations.end(),
                                      [&](const Declaration* d) { return !d->refuses(c); });
    if (accepted && !validate_case(c)) return c;
  }
  return std::nullopt;
}

}  // namespace moe4::oracle
