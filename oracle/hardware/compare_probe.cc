#include "oracle/hardware/compare_probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/hardware/float_bits.h"

namespace moe4::oracle {
namespace {

constexpr FloatBits kF32{8, 23};

std::uint64_t element(const std::vector<std::byte>& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at * size, size);
  return value;
}

bool both_nan(const ProbeType& type, std::uint64_t a, std::uint64_t b) {
  if (type.name[0] != 'f' && !type.name.starts_with("bf")) return false;
  const FloatBits f = float_bits(type.name);
  return f.is_nan(a) && f.is_nan(b);
}

// Equal, but for the payloads of NaNs, in each half of a pair.
bool equal_by_class(const ProbeType& type, std::uint64_t a, std::uint64_t b) {
  if (!type.name.ends_with("x2")) return a == b || both_nan(type, a, b);
  const auto half = [&](int shift) {
    const std::uint64_t x = (a >> shift) & 0xffff, y = (b >> shift) & 0xffff;
    return x == y || both_nan(type, x, y);
  };
  return half(0) && half(16);
}

// Infinity counts as the number after the largest; with .ftz what may have been flushed counts as zero.
double value_of(std::uint64_t bits, bool ftz) {
  const auto x = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (std::isinf(x)) return std::copysign(0x1p128, x);
  return ftz && std::abs(x) < 0x1p-126 * (1 + 0x1p-20) ? 0 : x;
}

double unit_of(double x) {
  int exponent = -126;
  if (x != 0) exponent = std::max(std::ilogb(x), exponent);
  return std::ldexp(1, exponent - 23);
}

bool within(const Probe& probe, std::uint64_t recorded, std::uint64_t executor) {
  if (kF32.is_nan(recorded) || kF32.is_nan(executor)) return false;
  const bool ftz = probe.instruction.find(".ftz") != std::string::npos;
  const double r = value_of(recorded, ftz), e = value_of(executor, ftz), unit = unit_of(e);
  double allowed = unit / 2;
  switch (probe.bound.kind) {
    case ProbeBound::Kind::kExact:
      return false;
    case ProbeBound::Kind::kUlp:
      allowed += probe.bound.size * unit;
      break;
    case ProbeBound::Kind::kRelative:
      allowed += probe.bound.size * std::abs(e);
      break;
    case ProbeBound::Kind::kAbsolute:
      allowed += probe.bound.size;
      break;
    case ProbeBound::Kind::kMagnitude:
      allowed += probe.bound.size * std::max(1.0, std::abs(e));
      break;
  }
  return std::abs(r - e) <= allowed;
}

// An operand for which the ISA's tables give the result to the bit.
bool in_the_tables(const Probe& probe, const Recording& recording, std::size_t at) {
  for (std::size_t n = 0; n < probe.operands.size(); ++n) {
    const std::uint64_t magnitude =
        element(recording.operands[n], at, probe.operands[n].type.bytes) & (kF32.sign() - 1);
    if (magnitude == 0 || magnitude >= kF32.inf()) return true;
  }
  return false;
}

std::string hex(std::uint64_t value, std::size_t bytes) { return fmt::format("0x{:0{}x}", value, bytes * 2); }

std::string operands_text(const Probe& probe, const Recording& recording, std::size_t at) {
  std::string text;
  if (probe.form == Probe::Form::kScalar) {
    text = fmt::format("instance {}:", at);
    for (std::size_t n = 0; n < probe.operands.size(); ++n) {
      const ProbeOperand& operand = probe.operands[n];
      text += " " + (operand.immediate
                         ? fmt::format("{:#x}", *operand.immediate)
                         : hex(element(recording.operands[n], at, operand.type.bytes), operand.type.bytes));
    }
    return text;
  }
  const std::size_t tile = at / (probe.m * probe.n), row = at / probe.n % probe.m, column = at % probe.n;
  text = fmt::format("tile {}, row {}, column {}: a", tile, row, column);
  const auto list = [&](std::size_t operand, std::size_t begin) {
    for (std::size_t i = 0; i < probe.k; ++i) {
      text += fmt::format(" {:04x}", element(recording.operands[operand], begin + i, 2));
    }
  };
  list(0, (tile * probe.m + row) * probe.k);
  text += ", b";
  list(1, (tile * probe.n + column) * probe.k);
  return text + ", c " + hex(element(recording.operands[2], at, 4), 4);
}

}  // namespace

ProbeComparison compare_probe(const Probe& probe, const Recording& recording,
                              const std::vector<std::byte>& executor) {
  ProbeComparison comparison;
  comparison.probe = &probe;
  const std::size_t size = probe.result.bytes;
  comparison.results = recording.result.size() / size;
  const bool approximate = probe.bound.kind != ProbeBound::Kind::kExact;
  for (std::size_t at = 0; at < comparison.results; ++at) {
    const std::uint64_t recorded = element(recording.result, at, size), ours = element(executor, at, size);
    if (recorded == ours) {
      ++comparison.equal;
    } else if (equal_by_class(probe.result, recorded, ours)) {
      ++comparison.nan_payloads;
    } else if (approximate && !in_the_tables(probe, recording, at) && within(probe, recorded, ours)) {
      ++comparison.within;
    } else if (++comparison.different <= 4) {
      comparison.first.push_back(operands_text(probe, recording, at) + ": recorded " + hex(recorded, size) +
                                 ", executor " + hex(ours, size));
    }
  }
  return comparison;
}

}  // namespace moe4::oracle
