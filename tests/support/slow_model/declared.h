// Declared arithmetic (ACC, PRO): what a kernel with a given profile, weight operand, dequantisation,
// accumulation and order computes, to the bit, by the rules alone.
//
// Each choice of the rules is a virtual function, so that a test can plant another one and see it found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/slow_model/combine.h"
#include "tests/support/slow_model/ieee.h"
#include "tests/support/slow_model/order.h"
#include "tests/support/slow_model/problem.h"
#include "tests/support/slow_model/rows.h"
#include "tests/support/slow_model/tensor_step.h"

namespace slow_model {

enum class Profile { kOnce, kLate, kLateBf16Sum, kHf, kEarly };

struct DeclaredArithmetic {
  enum class Accumulation { kExact, kF32Sequential, kTensorCore };

  Profile profile = Profile::kOnce;
  SumOrder order;
  Accumulation accumulation = Accumulation::kF32Sequential;
  std::size_t generation = 0;  // kTensorCore: of generations()
  bool products_rounded = false;
  bool ftz = false;
  bool weight_bf16 = false;
  Int4Order dequant = Int4Order::kNorm;
};

// PRO-19: with every key, and without those at their defaults.
std::string text_of(const DeclaredArithmetic& arithmetic);
std::string short_text_of(const DeclaredArithmetic& arithmetic);

// PRO-18, PRO-20: whether nothing can compute it.
bool refused(const DeclaredArithmetic& arithmetic, const Problem& problem);
bool refused(const DeclaredArithmetic& arithmetic, const RowsProblem& problem);
bool refused_for_combine(const DeclaredArithmetic& arithmetic);

class Declared {
 public:
  explicit Declared(const DeclaredArithmetic& arithmetic) : arithmetic_(arithmetic) {}
  virtual ~Declared() = default;

  // As the norm's models. Precondition: valid and not refused.
  std::vector<std::uint64_t> expert_linear(const Problem& problem) const;
  RowsOutcome rows(const RowsProblem& problem, std::uint64_t before) const;
  std::vector<std::uint64_t> combine(const CombineProblem& problem) const;

 protected:
  using Numbers = std::vector<Ieee>;

  // One dot product: weights, the factor of each one's group (accumulator_scale, else 1), tokens.
  struct Dot {
    FloatFormat format;  // of the tokens
    Numbers w;
    Numbers factor;
    Numbers x;
  };

  const DeclaredArithmetic& arithmetic() const { return arithmetic_; }
  bool exact() const { return arithmetic_.accumulation == DeclaredArithmetic::Accumulation::kExact; }

  // A and R of PRO-1, and an operand of what stands in A.
  virtual Ieee accumulated(const FloatFormat& accumulator, const Ieee& v) const;
  virtual Ieee operand(const FloatFormat& accumulator, const Ieee& v) const;
  Ieee sum(const FloatFormat& accumulator, const Ieee& a, const Ieee& b) const;
  Ieee product(const FloatFormat& accumulator, const Ieee& a, const Ieee& b) const;
  // c + a·b with one rounding or two.
  virtual Ieee multiply_add(const FloatFormat& accumulator, const Ieee& c, const Ieee& a,
                            const Ieee& b) const;

  virtual Ieee weight(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i,
                      Ieee& factor) const;
  virtual Ieee chain(const Dot& dot, const std::vector<std::int64_t>& indices) const;
  virtual Ieee run(const Dot& dot, const std::vector<std::int64_t>& indices) const;
  virtual Ieee slice(const Dot& dot, const Accumulators& accumulators) const;
  virtual Ieee joined(const Dot& dot, const std::vector<Ieee>& slices) const;
  virtual Ieee streamed(const std::vector<Ieee>& slices) const;
  Ieee dot_product(const Dot& dot) const;
  // PRO-5 to PRO-9 for one output from the d_j; those of early are the dot products with token_times_p, those
  // of combine rows, which hf takes as they are (PRO-11).
  virtual Ieee token_times_p(const FloatFormat& format, const Ieee& p, const Ieee& x) const;
  virtual std::uint64_t output(const FloatFormat& format, const Ieee& shared, const Numbers& p,
                               const Numbers& d, bool rows) const;
  virtual const TensorStep& tensor_step() const;

 private:
  Ieee exact_sum(const Dot& dot, const Accumulators& accumulators) const;
  Dot dot_of_row(const Layer& layer, std::int64_t expert, std::int64_t o) const;  // without x

  DeclaredArithmetic arithmetic_;
};

}  // namespace slow_model
