// Single outputs of a case as its declared arithmetic gives them, whatever the operation
// (docs/spec/profiles.md): for samples. All of them at once: declared_result of oracle/case/norm.h.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "oracle/case/case_data.h"
#include "reference/profile/declared_combine.h"
#include "reference/profile/declared_linear.h"
#include "reference/profile/declared_rows.h"

namespace moe4::oracle {

class DeclaredOutputs {
 public:
  // Borrows the tensors of data. An Error: the case is not valid, or nothing computes so (PRO-20).
  static Result<DeclaredOutputs> create(const CaseData& data, const Arithmetic& arithmetic);

  // Output [row, out] as an encoding, the output seen as [rows, O]. Precondition: the row counts (RTE-3).
  // Any number of threads may call it.
  std::uint64_t output(std::int64_t row, std::int64_t out) const;

 private:
  using Kernel = std::variant<DeclaredLinear, DeclaredRows, DeclaredCombine>;
  DeclaredOutputs(Kernel kernel, std::vector<std::int64_t> index_of_row)
      : kernel_(std::move(kernel)), index_of_row_(std::move(index_of_row)) {}

  Kernel kernel_;
  std::vector<std::int64_t> index_of_row_;  // DeclaredRows takes the index of a row in its list; else empty
};

}  // namespace moe4::oracle
