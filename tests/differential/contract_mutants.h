// Deliberately wrong models of the serving contracts, each wrong in one step: what the drawn properties of
// contracts_test.cc must be able to see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/slow_model/combine.h"
#include "tests/support/slow_model/rows.h"

namespace differential {

struct RowsMutant {
  std::string name;
  slow_model::RowsOp op;  // where it is wrong
  std::shared_ptr<const slow_model::Rows> model;
};
std::vector<RowsMutant> rows_mutants();

// What most of the wrong models of indexed build on, without a wrong step: it must not be told.
std::shared_ptr<const slow_model::Rows> careful_rows();

struct CombineMutant {
  std::string name;
  std::shared_ptr<const slow_model::Combine> model;
};
std::vector<CombineMutant> combine_mutants();

}  // namespace differential
