#include <algorithm>

#include "tests/differential/contract_mutants.h"

namespace differential {
namespace {

using namespace slow_model;

Extended narrowed(const FloatFormat& format, const Extended& number) {
  return number.is_finite() ? value_of(format, round_to_nearest_even(format, number.value)) : number;
}

struct SlotMajorRows : Combine {  // row j * T + t
  std::int64_t row_of(const CombineProblem& p, std::int64_t t, std::int64_t slot) const override {
    return slot * p.tokens + t;
  }
};

struct RowsInReverse : Combine {
  std::int64_t row_of(const CombineProblem& p, std::int64_t t, std::int64_t slot) const override {
    return t * p.top_k + p.top_k - 1 - slot;
  }
};

struct PresentSlotsMoveUp : Combine {  // the rows of present slots as if they lay one after the other
  std::int64_t row_of(const CombineProblem& p, std::int64_t t, std::int64_t slot) const override {
    std::int64_t present = 0;
    for (std::int64_t before = 0; before < slot; ++before) present += absent(p, t, before) ? 0 : 1;
    return t * p.top_k + present;
  }
};

struct RowsOfTheFirstToken : Combine {
  std::int64_t row_of(const CombineProblem&, std::int64_t, std::int64_t slot) const override { return slot; }
};

struct AbsentCounts : Combine {
  bool absent(const CombineProblem&, std::int64_t, std::int64_t) const override { return false; }
};

struct AbsentOnlyByPolicy : Combine {
  bool absent(const CombineProblem& p, std::int64_t t, std::int64_t slot) const override {
    return p.policy.ids == Ids::kAbsent && Combine::absent(p, t, slot);
  }
};

struct ExpertZeroIsAbsent : Combine {
  bool absent(const CombineProblem& p, std::int64_t t, std::int64_t slot) const override {
    return p.selected_experts && (*p.selected_experts)[static_cast<std::size_t>(t * p.top_k + slot)] <= 0;
  }
};

struct ZeroPAlwaysSkipped : Combine {
  bool skipped(const CombineProblem& p, std::uint64_t bits) const override {
    return is_zero(p.mixture_weights.format, bits);
  }
};

struct ZeroPNeverSkipped : Combine {
  bool skipped(const CombineProblem&, std::uint64_t) const override { return false; }
};

struct MinusZeroPCounts : Combine {
  bool skipped(const CombineProblem& p, std::uint64_t bits) const override {
    return p.policy.skip_zero_p == SkipZeroP::kYes && bits == 0;
  }
};

struct PLeftOut : Combine {
  Extended term(const CombineProblem&, const Extended&, const Extended& row) const override { return row; }
};

struct PRoundedToBf16 : Combine {
  Extended term(const CombineProblem&, const Extended& p, const Extended& row) const override {
    return narrowed(kBf16, p) * row;
  }
};

struct TermsRoundedToTheOutput : Combine {
  Extended term(const CombineProblem& problem, const Extended& p, const Extended& row) const override {
    return narrowed(problem.output_format, p * row);
  }
};

struct RoundedAfterEverySlot : Combine {
  Extended before_rounding(const CombineProblem& p, std::int64_t t, std::int64_t o) const override {
    Extended sum = shared(p, t, o);
    for (const std::int64_t slot : slots(p, t)) {
      const auto at = static_cast<std::size_t>(t * p.top_k + slot);
      const Extended weight = value_of(p.mixture_weights.format, p.mixture_weights.bits[at]);
      const Extended row = value_of(kBf16, p.rows[static_cast<std::size_t>(row_of(p, t, slot) * p.out + o)]);
      sum = narrowed(p.output_format, sum + weight * row);
    }
    return sum;
  }
};

struct SharedLeftOut : Combine {
  Extended shared(const CombineProblem& p, std::int64_t t, std::int64_t o) const override {
    return slots(p, t).empty() ? Combine::shared(p, t, o) : Extended();
  }
};

struct SharedRoundedToBf16 : Combine {
  Extended shared(const CombineProblem& p, std::int64_t t, std::int64_t o) const override {
    return narrowed(kBf16, Combine::shared(p, t, o));
  }
};

struct LastSlotDropped : Combine {
  std::vector<std::int64_t> slots(const CombineProblem& p, std::int64_t t) const override {
    std::vector<std::int64_t> result = Combine::slots(p, t);
    if (result.size() > 1) result.pop_back();
    return result;
  }
};

struct RoundedThroughBf16 : Combine {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const Extended once = narrowed(kBf16, Extended::finite(number));
    if (!once.is_finite() || once.value.is_zero()) return round_to_nearest_even(format, number);
    return round_to_nearest_even(format, once.value);
  }
};

struct SumTruncated : Combine {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t below = last_grid_point_not_above(format, number);
    return number.sign() < 0 ? below | format.sign_bit() : below;
  }
};

struct ZeroKeepsTheSignOfShared : Combine {
  std::uint64_t zero_result(const CombineProblem& p, std::int64_t t, std::int64_t o) const override {
    const std::uint64_t s = p.shared_output.bits[static_cast<std::size_t>(t * p.out + o)];
    return s == p.shared_output.format.sign_bit() ? p.output_format.sign_bit() : 0;
  }
};

struct ZeroIsAlwaysPlus : Combine {
  std::uint64_t zero_result(const CombineProblem&, std::int64_t, std::int64_t) const override { return 0; }
};

template <class Model>
CombineMutant of(const char* name) {
  return {name, std::make_shared<Model>()};
}

}  // namespace

std::vector<CombineMutant> combine_mutants() {
  return {
      of<SlotMajorRows>("SlotMajorRows"),
      of<RowsInReverse>("RowsInReverse"),
      of<PresentSlotsMoveUp>("PresentSlotsMoveUp"),
      of<RowsOfTheFirstToken>("RowsOfTheFirstToken"),
      of<AbsentCounts>("AbsentCounts"),
      of<AbsentOnlyByPolicy>("AbsentOnlyByPolicy"),
      of<ExpertZeroIsAbsent>("ExpertZeroIsAbsent"),
      of<ZeroPAlwaysSkipped>("ZeroPAlwaysSkipped"),
      of<ZeroPNeverSkipped>("ZeroPNeverSkipped"),
      of<MinusZeroPCounts>("MinusZeroPCounts"),
      of<PLeftOut>("PLeftOut"),
      of<PRoundedToBf16>("PRoundedToBf16"),
      of<TermsRoundedToTheOutput>("TermsRoundedToTheOutput"),
      of<RoundedAfterEverySlot>("RoundedAfterEverySlot"),
      of<SharedLeftOut>("SharedLeftOut"),
      of<SharedRoundedToBf16>("SharedRoundedToBf16"),
      of<LastSlotDropped>("LastSlotDropped"),
      of<RoundedThroughBf16>("RoundedThroughBf16"),
      of<SumTruncated>("SumTruncated"),
      of<ZeroKeepsTheSignOfShared>("ZeroKeepsTheSignOfShared"),
      of<ZeroIsAlwaysPlus>("ZeroIsAlwaysPlus"),
  };
}

}  // namespace differential
