// The reference's declared arithmetic held against the slow model's, bit for bit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/support/slow_model/declared.h"

namespace differential {

// A model of an arithmetic; the slow model itself, or a wrong one.
using DeclaredModel =
    std::function<std::shared_ptr<const slow_model::Declared>(const slow_model::DeclaredArithmetic&)>;
std::shared_ptr<const slow_model::Declared> declared_model(const slow_model::DeclaredArithmetic& arithmetic);

// "" if reference and model agree (NaN by class, zeros with their sign), or both refuse.
std::string disagreement(const DeclaredModel& model, const slow_model::DeclaredArithmetic& arithmetic,
                         const slow_model::Problem& problem);
std::string disagreement(const DeclaredModel& model, const slow_model::DeclaredArithmetic& arithmetic,
                         const slow_model::RowsProblem& problem);
std::string disagreement(const DeclaredModel& model, const slow_model::DeclaredArithmetic& arithmetic,
                         const slow_model::CombineProblem& problem);

}  // namespace differential
