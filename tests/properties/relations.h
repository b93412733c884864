// Relations between two calls that hold for the norm whatever the numbers are. No model is needed: a kernel
// is held against itself.
#pragma once

#include <string>

#include "tests/properties/kernel.h"

namespace properties {

using slow_model::Problem;

// Each returns "" if the kernel keeps the relation on this problem.
std::string permuted_tokens(const Kernel& kernel, const Problem& problem);
std::string permuted_slots(const Kernel& kernel, const Problem& problem);
std::string permuted_experts(const Kernel& kernel, const Problem& problem);  // ids follow
std::string permuted_groups(const Kernel& kernel, const Problem& problem);   // tokens, codes and scales alike
std::string split_batch(const Kernel& kernel, const Problem& problem);
std::string outputs_one_by_one(const Kernel& kernel, const Problem& problem);
std::string poisoned_experts(const Kernel& kernel, const Problem& problem);  // LIN-4
std::string strided_inputs(const Kernel& kernel, const Problem& problem);
std::string nothing_else_written(const Kernel& kernel, const Problem& problem);  // LIN-9
std::string thread_counts(const Kernel& kernel, const Problem& problem);         // LIN-9

// Tokens and shared times 2^k give the output times 2^k, wherever neither end leaves the range in which a
// power of two only moves the exponent. Adds the number of outputs that could be judged to *judged.
std::string scaled_by_a_power_of_two(const Kernel& kernel, const Problem& problem, int* judged);

}  // namespace properties
