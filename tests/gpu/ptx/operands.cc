#include "tests/gpu/ptx/operands.h"

#include <algorithm>

namespace moe4::ptx::test {
namespace {

std::vector<Bits> unique(std::vector<Bits> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

std::vector<Bits> integer_edges(int width) {
  std::vector<Bits> values = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256};
  const Bits top = Bits{1} << (width - 1);
  for (const Bits v :
       {top, top - 1, top + 1, top | top >> 1, ~Bits{0}, ~Bits{0} - 1, ~Bits{0} - 2, Bits{0x5555555555555555},
        Bits{0xaaaaaaaaaaaaaaaa}, Bits{0x123456789abcdef0}, Bits{0xfedcba9876543210}, Bits{0xffffffff},
        Bits{0x80000000}, Bits{0x8000}, Bits{0x7fff}, Bits{0xffff}, Bits{0x10000}})
    values.push_back(v);
  for (Bits& v : values) v = low_bits(v, width);
  return unique(values);
}

std::vector<Bits> float_edges(const Format& f) {
  const Bits sign = Bits{1} << (f.bits - 1);
  const Bits ulp = 1;
  const Bits normal = Bits{1} << (f.precision - 1);
  const Bits one = Bits(f.max_exponent) << (f.precision - 1);
  const Bits infinity = Bits(2 * f.max_exponent + 1) << (f.precision - 1);
  const Bits exponent = normal;
  std::vector<Bits> values = {0,
                              ulp,
                              2,
                              normal / 2,
                              normal - ulp,
                              normal,
                              normal + ulp,
                              2 * normal - ulp,  // around the smallest normal
                              one - exponent,
                              one - exponent + ulp,
                              one - exponent - ulp,  // 0.5 and neighbours
                              one,
                              one + ulp,
                              one - ulp,
                              one + normal / 2,
                              one + exponent,
                              one + exponent + exponent / 4,  // 1, 1.5, 2, 2.5
                              one + exponent + exponent / 2,
                              one + 2 * exponent,  // 3, 4
                              one + exponent * Bits(f.precision - 1),
                              one + exponent * Bits(f.precision - 1) + ulp,  // 2^(p-1) …
                              one + exponent * Bits(f.precision - 2) + ulp,  // largest half-integers
                              one + exponent * Bits(std::min(31, f.max_exponent - 1)),
                              one + exponent * Bits(std::min(32, f.max_exponent)),
                              one + exponent * Bits(std::min(63, f.max_exponent)),
                              one + exponent * Bits(std::min(64, f.max_exponent)),
                              (one + normal) * 3 / 4,
                              infinity - ulp,
                              infinity - 2 * ulp,
                              infinity - exponent,
                              infinity,
                              infinity + 1,
                              infinity + normal / 2,
                              infinity + normal / 2 + 5,
                              infinity + normal - 1};
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(values[i] | sign);
  return unique(values);
}

Bits near_one(Lcg& random, const Format& f, int spread) {
  const Bits exponent =
      Bits(f.max_exponent - spread) + random.below(static_cast<std::uint32_t>(2 * spread + 1));
  const Bits fraction = low_bits(random.next64(), f.precision - 1);
  // Few significant bits make exact ties frequent.
  const Bits coarse = random.below(2) ? fraction : fraction & ~low_bits(~Bits{0}, f.precision - 4);
  return Bits{random.below(2)} << (f.bits - 1) | exponent << (f.precision - 1) | coarse;
}

std::vector<Row> singles(const std::vector<Bits>& a) {
  std::vector<Row> rows;
  for (const Bits x : a) rows.push_back({x});
  return rows;
}

std::vector<Row> pairs(const std::vector<Bits>& a, const std::vector<Bits>& b) {
  std::vector<Row> rows;
  for (const Bits x : a)
    for (const Bits y : b) rows.push_back({x, y});
  return rows;
}

std::vector<Row> triples(const std::vector<Bits>& a, const std::vector<Bits>& b, const std::vector<Bits>& c) {
  std::vector<Row> rows;
  for (const Bits x : a)
    for (const Bits y : b)
      for (const Bits z : c) rows.push_back({x, y, z});
  return rows;
}

std::vector<Row> random_rows(std::uint64_t seed, std::size_t count, const std::vector<int>& widths) {
  Lcg random(seed);
  std::vector<Row> rows(count);
  for (Row& row : rows)
    for (const int width : widths) row.push_back(low_bits(random.next64(), width));
  return rows;
}

std::vector<Row> random_floats(std::uint64_t seed, std::size_t count, int columns, const Format& format) {
  Lcg random(seed);
  std::vector<Row> rows(count);
  for (std::size_t n = 0; n < count; ++n)
    for (int i = 0; i < columns; ++i)
      rows[n].push_back(n % 2
                            ? low_bits(random.next64(), format.bits)
                            : near_one(random, format, std::min(format.max_exponent - 1, format.precision)));
  return rows;
}

std::vector<Row> join(std::vector<Row> a, const std::vector<Row>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace moe4::ptx::test
