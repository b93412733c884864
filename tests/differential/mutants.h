// Deliberately wrong slow models, each wrong in one step: what the differential property must be able to see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/slow_model/expert_linear.h"

namespace differential {

struct Mutant {
  std::string name;
  std::shared_ptr<const slow_model::ExpertLinear> model;
};

std::vector<Mutant> mutants();

}  // namespace differential
