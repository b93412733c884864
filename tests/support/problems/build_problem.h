// Problems written by hand: a plain one, and functions that change it.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/slow_model/problem.h"

namespace problems {

using slow_model::FloatFormat;
using slow_model::FloatTensor;
using slow_model::Problem;

struct Dims {
  std::int64_t tokens = 1;
  std::int64_t experts = 1;
  std::int64_t in = 32;
  std::int64_t out = 1;
  std::int64_t top_k = 1;
};

// Codes 2 (1.0), scale bytes 127 (1.0), tokens 1, p 1, shared +0, slot j on expert j mod E; BF16, I32.
Problem plain_problem(const Dims& dims, const FloatFormat& token_format = slow_model::kBf16);

// The encoding of a value in a format, rounded to nearest even; keeps the sign of zero.
std::uint64_t bits_of(const FloatFormat& format, double value);

// A tensor of the given values; the format's own rounding, which tests avoid by using exact values.
FloatTensor float_tensor(const FloatFormat& format, const std::vector<double>& values);

void set_token(Problem& problem, std::int64_t t, std::int64_t i, double value);
void set_tokens(Problem& problem, double value);
void set_p(Problem& problem, const FloatFormat& format, const std::vector<double>& values);
void set_shared(Problem& problem, const FloatFormat& format, const std::vector<double>& values);
void set_code(Problem& problem, std::int64_t expert, std::int64_t o, std::int64_t i, int code);
void set_codes(Problem& problem, int code);  // every code of every expert
void set_scale(Problem& problem, std::int64_t expert, std::int64_t o, std::int64_t group, int byte);
void set_scales(Problem& problem, int byte);
void set_group(Problem& problem, std::int64_t expert, std::int64_t o, std::int64_t group, int code);

}  // namespace problems
