// op=combine as a declared kernel computes it (PRO-11).
#pragma once

#include <cstdint>
#include <memory>

#include "reference/linear/combine.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

// Single outputs, for samples. Borrows the inputs' memory. Shapes, dtypes and refusals as combine.h, and
// PRO-20.
class DeclaredCombine {
 public:
  static Result<DeclaredCombine> create(const CombineInputs& inputs, Dtype output_dtype,
                                        const Arithmetic& arithmetic, const Policy& policy = {});
  DeclaredCombine(DeclaredCombine&&) noexcept;
  DeclaredCombine& operator=(DeclaredCombine&&) noexcept;
  ~DeclaredCombine();

  const CombineDims& dims() const;

  // y[t,o] in output_dtype. Precondition: 0 <= t < T, 0 <= o < O. Any number of threads may call it.
  std::uint64_t output(std::int64_t t, std::int64_t o) const;
  // All of them into [T,O].
  void outputs(const MutableTensorView& output) const;

 private:
  struct State;
  explicit DeclaredCombine(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

// All outputs, into a new tensor.
Result<Tensor> declared_combine(const CombineInputs& inputs, Dtype output_dtype, const Arithmetic& arithmetic,
                                const Policy& policy = {});

}  // namespace moe4
