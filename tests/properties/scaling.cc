#include <optional>

#include "tests/properties/relations.h"
#include "tests/support/problems/fingerprint.h"

namespace properties {
namespace {

using slow_model::FloatFormat;

std::int64_t field_of(const FloatFormat& format, std::uint64_t bits) {
  return static_cast<std::int64_t>((bits & format.infinity()) >> format.mantissa_bits);
}

// bits * 2^k, if bits is zero, or has an exponent field in [low, highest finite] before and after.
std::optional<std::uint64_t> scaled(const FloatFormat& format, std::uint64_t bits, int k, std::int64_t low) {
  if (slow_model::is_zero(format, bits)) return bits;
  const std::int64_t field = field_of(format, bits);
  const std::int64_t top = field_of(format, format.infinity()) - 1;
  const bool stays = field >= low && field + k >= low && field <= top && field + k <= top;
  if (!stays) return std::nullopt;
  return bits + (static_cast<std::uint64_t>(std::int64_t{k}) << format.mantissa_bits);
}

bool scale(slow_model::FloatTensor& tensor, int k) {
  for (std::uint64_t& bits : tensor.bits) {
    const auto moved = scaled(tensor.format, bits, k, 1);
    if (!moved) return false;
    bits = *moved;
  }
  return true;
}

}  // namespace

std::string scaled_by_a_power_of_two(const Kernel& kernel, const Problem& problem, int* judged) {
  const int k = static_cast<int>(problems::fingerprint(problem) % 13) - 6;
  Problem larger = problem;
  if (k == 0 || !scale(larger.latent_tokens, k) || !scale(larger.shared_output, k)) return "";
  const Bits y = outputs(kernel, problem);
  const Bits z = outputs(kernel, larger);
  const FloatFormat& format = problem.output_format();
  for (std::size_t n = 0; n < y.size(); ++n) {
    // The lowest normal binade shares its grid with the subnormals, so a result there may have come from
    // below: field 2 is the first to be sure of. A zero may have come from a non-zero sum.
    const auto expected = scaled(format, y[n], k, 2);
    if (!expected || slow_model::is_zero(format, y[n])) continue;
    *judged += 1;
    if (z[n] != *expected) return "an output times 2^" + std::to_string(k) + " differs";
  }
  return "";
}

}  // namespace properties
