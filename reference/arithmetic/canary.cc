#include "reference/arithmetic/canary.h"

#include <cstdio>

namespace moe4 {
namespace {

Status expect(const char* probe, double answer, double right, const char* rule) {
  if (answer == right) return {};
  char text[64];
  std::snprintf(text, sizeof text, "%s = %a instead of %a", probe, answer, right);
  return Error{"float environment", text, rule};
}

template <class Float>
Float square_less(Float factor, Float subtrahend) {
  const volatile Float a = factor;
  const volatile Float c = -subtrahend;
  const Float seen_a = a;
  const Float seen_c = c;
  return seen_a * seen_a + seen_c;  // one expression on purpose: this is what a compiler would contract
}

float rounded_product(float left, float right) {
  const volatile float a = left;
  const volatile float b = right;
  const volatile float result = a * b;
  return result;
}

float rounded_sum(float left, float right) {
  const volatile float a = left;
  const volatile float b = right;
  const volatile float result = a + b;
  return result;
}

}  // namespace

FloatProbes measure_float_probes() {
  return {square_less(0x1.001p0F, 0x1.002p0F), square_less(0x1.0000002p0, 0x1.0000004p0),
          rounded_product(0x1p-126F, 0x1p-1F), rounded_product(0x1p-149F, 0x1p24F),
          rounded_sum(1.0F, 0x1p-24F),         rounded_sum(0x1.000002p0F, 0x1p-24F)};
}

Status judge_float_probes(const FloatProbes& probes) {
  constexpr const char* kTwoRoundings = "a product and a sum are two roundings (no contraction to FMA)";
  constexpr const char* kNoFlush = "subnormals are kept (no flush-to-zero, no denormals-are-zero)";
  constexpr const char* kNearestEven = "the rounding mode is to nearest even";
  // The rounding mode first: a directed mode changes the other answers as well.
  Status error = expect("tie_down", probes.tie_down, 1, kNearestEven);
  if (!error) error = expect("tie_up", probes.tie_up, 0x1.000004p0, kNearestEven);
  if (!error) error = expect("subnormal_result", probes.subnormal_result, 0x1p-127, kNoFlush);
  if (!error) error = expect("subnormal_operand", probes.subnormal_operand, 0x1p-125, kNoFlush);
  if (!error) error = expect("contraction_f32", probes.contraction_f32, 0, kTwoRoundings);
  if (!error) error = expect("contraction_f64", probes.contraction_f64, 0, kTwoRoundings);
  return error;
}

Status check_float_environment() { return judge_float_probes(measure_float_probes()); }

}  // namespace moe4
