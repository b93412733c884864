// Constants: integers by their own granularity, floating-point numbers doubled, shift amounts by one.
#include <algorithm>
#include <array>
#include <cstdio>

#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {
namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Two's complement in the width of the operand.
std::int64_t wrapped(std::uint64_t value, unsigned bytes) {
  if (bytes == 0 || bytes >= 8) return static_cast<std::int64_t>(value);
  const unsigned unused = 64 - 8 * bytes;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

// What is a step for this instruction: one for comparisons and lane numbers; elsewhere the largest power of
// two that divides the value, so that a multiple of 16 bytes stays one.
std::uint64_t stepped(const Site& site, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t lowest = bits == 0 ? 1 : bits & (0 - bits);
  const std::string_view base = site.statement.base;
  if (one_of(base, {"setp", "set", "shfl", "bfe", "bfi", "slct"})) return bits + 1;
  if (one_of(base, {"and", "or", "xor", "lop3"})) return bits ^ lowest;
  return bits + lowest;
}

// A field of bfi, bfe that reaches the end of the word is not made longer, which changes nothing, but
// shorter.
bool reaches_the_end(const Site& site, std::size_t n) {
  const std::vector<Operand>& operands = site.statement.operands;
  if (!one_of(site.statement.base, {"bfi", "bfe"}) || n + 1 != operands.size()) return false;
  const Operand& position = operands[n - 1];
  return position.kind == OperandKind::kInteger &&
         position.value + operands[n].value >= 8 * static_cast<std::int64_t>(bytes_of(site.last_type()));
}

void step_integer(const Site& site, Mutants& mutants, std::size_t n) {
  const unsigned bytes = bytes_of(site.last_type());
  const std::int64_t old = site.statement.operands[n].value;
  const std::int64_t value = reaches_the_end(site, n) ? old - 1 : wrapped(stepped(site, old), bytes);
  mutants.operand(Mutation::kImmediate, n, std::to_string(value), "=" + std::to_string(value));
}

void step_shift(const Site& site, Mutants& mutants, std::size_t n) {
  const std::int64_t value = site.statement.operands[n].value;
  const std::int64_t last = 8 * static_cast<std::int64_t>(bytes_of(site.last_type())) - 1;
  const std::int64_t moved = value == last ? value - 1 : value + 1;
  mutants.operand(Mutation::kShift, n, std::to_string(moved), "=" + std::to_string(moved));
}

// 0 becomes 1, any other finite number is doubled, Inf and NaN are negated.
void step_float(const Site& site, Mutants& mutants, std::size_t n) {
  const Operand& operand = site.statement.operands[n];
  const bool single = operand.kind == OperandKind::kSingle;
  const int mantissa = single ? 23 : 52, width = single ? 32 : 64;
  const std::uint64_t sign = std::uint64_t{1} << (width - 1), one_exponent = std::uint64_t{1} << mantissa;
  const std::uint64_t exponent = (sign - 1) & ~(one_exponent - 1);
  std::uint64_t bits = operand.bits;
  if ((bits & ~sign) == 0) {
    bits = exponent / 2 & exponent;
  } else if ((bits & exponent) == exponent) {
    bits ^= sign;
  } else {
    bits += one_exponent;
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), single ? "0f%08llX" : "0d%016llX",
                static_cast<unsigned long long>(bits));
  mutants.operand(Mutation::kImmediate, n, text.data(), std::string("=") + text.data());
}

// f16 and bf16: scale-a and scale-b are 1 or -1, then, for operands in shared memory, transpositions 0 or 1.
void step_wgmma(const Site& site, Mutants& mutants) {
  if (site.modifier(0) != "mma_async") return;
  const std::vector<Operand>& operands = site.statement.operands;
  std::vector<std::size_t> trailing;
  for (std::size_t n = operands.size(); n-- > 0 && operands[n].kind == OperandKind::kInteger;)
    trailing.insert(trailing.begin(), n);
  for (std::size_t k = 0; k < trailing.size(); ++k) {
    const std::int64_t value = operands[trailing[k]].value;
    const bool transposition = k >= 2 && trailing.size() > 2;
    const std::int64_t other = transposition ? 1 - value : -value;
    if (other == value) continue;  // a scale-d of 0 among them
    mutants.operand(Mutation::kImmediate, trailing[k], std::to_string(other), "=" + std::to_string(other));
  }
}

}  // namespace

void mutate_immediates(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  if (base == "wgmma") return step_wgmma(site, mutants);
  if (one_of(base, {"bar",        "barrier",   "mbarrier",      "cp",   "call",  "bra",      "brx",
                    "setmaxnreg", "nanosleep", "createpolicy",  "vote", "match", "redux",    "elect",
                    "prefetch",   "discard",   "applypriority", "mma",  "fence", "tensormap"})) {
    return;
  }
  const bool shift = one_of(base, {"shl", "shr", "shf"});
  for (std::size_t n = 1; n < site.operands.size(); ++n) {
    const Operand& operand = site.statement.operands[n];
    if (operand.kind == OperandKind::kSingle || operand.kind == OperandKind::kDouble) {
      step_float(site, mutants, n);
    } else if (operand.kind != OperandKind::kInteger || (base == "shfl" && n == 4)) {
      continue;  // a register, or the member mask of a shuffle
    } else if (shift && n + 1 == site.operands.size()) {
      step_shift(site, mutants, n);
    } else {
      step_integer(site, mutants, n);
    }
  }
}

}  // namespace moe4::ptx
