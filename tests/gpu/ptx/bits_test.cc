// Bit fields, funnel shifts, permutation and lookup logic, after the pseudo-code of the PTX ISA.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

bool bit(Bits value, int i) { return value >> i & 1; }

const std::vector<Bits> kPositions = {0, 1, 5, 31, 32, 33, 63, 64, 255, 256, 257, 0x105, 0xffffffff};
const std::vector<Bits> kLengths = {0, 1, 8, 31, 32, 33, 63, 64, 65, 255, 256, 0x108, 0xffffffff};

TEST(BitField, CountAndReverse) {
  for (const int width : {32, 64}) {
    const std::string t = "b" + std::to_string(width);
    const std::vector<Row> rows = join(singles(integer_edges(width)), random_rows(3, 100, {width}));
    expect_model(instruction("popc." + t, "u32", {t}), rows, [width](const Row& r) -> std::vector<Want> {
      Bits n = 0;
      for (int i = 0; i < width; ++i) n += bit(r[0], i);
      return {n};
    });
    expect_model(instruction("clz." + t, "u32", {t}), rows, [width](const Row& r) -> std::vector<Want> {
      int n = 0;
      while (n < width && !bit(r[0], width - 1 - n)) ++n;
      return {static_cast<Bits>(n)};
    });
    expect_model(instruction("brev." + t, t, {t}), rows, [width](const Row& r) -> std::vector<Want> {
      Bits reversed = 0;
      for (int i = 0; i < width; ++i) reversed |= Bits{bit(r[0], i)} << (width - 1 - i);
      return {reversed};
    });
  }
}

TEST(BitField, FindMostSignificant) {
  for (const char* type : {"u32", "s32", "u64", "s64"})
    for (const bool amount : {false, true}) {
      const int width = width_of(type);
      const bool is_signed = type[0] == 's';
      expect_model(instruction(std::string("bfind.") + (amount ? "shiftamt." : "") + type, "u32", {type}),
                   join(singles(integer_edges(width)), random_rows(4, 50, {width})),
                   [=](const Row& r) -> std::vector<Want> {
                     const bool seek = !(is_signed && bit(r[0], width - 1));
                     for (int i = width - 1; i >= 0; --i)
                       if (bit(r[0], i) == seek) return {static_cast<Bits>(amount ? width - 1 - i : i)};
                     return {0xffffffffu};
                   });
    }
}

TEST(BitField, Extract) {
  for (const char* type : {"u32", "s32", "u64", "s64"}) {
    const int width = width_of(type);
    const bool is_signed = type[0] == 's';
    const std::vector<Bits> values = {0, low_bits(~Bits{0}, width), Bits{1} << (width - 1),
                                      low_bits(0xfedcba9876543210, width),
                                      low_bits(0x5555555555555555, width)};
    expect_model(instruction(std::string("bfe.") + type, type, {type, "u32", "u32"}),
                 triples(values, kPositions, kLengths), [=](const Row& r) -> std::vector<Want> {
                   const int position = r[1] & 0xff, length = r[2] & 0xff;
                   const bool fill =
                       is_signed && length > 0 && bit(r[0], std::min(position + length - 1, width - 1));
                   Bits d = 0;
                   for (int i = 0; i < width; ++i) {
                     const bool inside = i < length && position + i < width;
                     d |= Bits{inside ? bit(r[0], position + i) : fill} << i;
                   }
                   return {d};
                 });
  }
}

TEST(BitField, Insert) {
  for (const int width : {32, 64}) {
    const std::string t = "b" + std::to_string(width);
    std::vector<Row> rows;
    for (const Bits a : {Bits{0}, ~Bits{0}, Bits{0x123456789abcdef1}})
      for (const Bits b : {Bits{0}, ~Bits{0}, Bits{0xcafebabedeadbeef}})
        for (const Bits position : kPositions)
          for (const Bits length : kLengths)
            rows.push_back({low_bits(a, width), low_bits(b, width), position, length});
    expect_model(instruction("bfi." + t, t, {t, t, "u32", "u32"}), rows,
                 [width](const Row& r) -> std::vector<Want> {
                   const int position = r[2] & 0xff, length = r[3] & 0xff;
                   Bits d = r[1];
                   for (int i = 0; i < length && position + i < width; ++i) {
                     d &= ~(Bits{1} << (position + i));
                     d |= Bits{bit(r[0], i)} << (position + i);
                   }
                   return {d};
                 });
  }
}

TEST(FunnelShift, WrapAndClamp) {
  const std::vector<Bits> words = {0, 1, 0x80000000, 0xffffffff, 0x12345678, 0xdeadbeef};
  const std::vector<Row> rows = triples(words, words, {0, 1, 4, 31, 32, 33, 63, 64, 0xffffffff});
  for (const bool left : {true, false})
    for (const bool clamp : {true, false})
      expect_model(
          instruction(std::string("shf.") + (left ? "l." : "r.") + (clamp ? "clamp" : "wrap") + ".b32", "b32",
                      {"b32", "b32", "u32"}),
          rows, [=](const Row& r) -> std::vector<Want> {
            const Bits n = clamp ? std::min<Bits>(r[2], 32) : r[2] & 31;
            const Bits both = r[1] << 32 | r[0];  // b is the high word
            if (!left) return {n == 32 ? r[1] : low_bits(both >> n, 32)};
            return {n == 32 ? r[0] : low_bits(both << n >> 32, 32)};
          });
}

TEST(Permute, DefaultModeWithSignReplication) {
  std::vector<Row> rows = random_rows(7, 500, {32, 32, 16});
  for (Bits selector = 0; selector < 16; ++selector)
    rows.push_back({0x80017fff, 0xc3a50081, selector | selector << 4 | selector << 8 | selector << 12});
  rows.push_back({0x03020100, 0x07060504, 0xffff7654});  // the upper half of the selector is not looked at
  expect_model(instruction("prmt.b32", "b32", {"b32", "b32", "b32"}), rows,
               [](const Row& r) -> std::vector<Want> {
                 const Bits both = r[1] << 32 | r[0];
                 Bits d = 0;
                 for (int i = 0; i < 4; ++i) {
                   const Bits nibble = r[2] >> (4 * i) & 15;
                   const Bits byte = both >> (8 * (nibble & 7)) & 0xff;
                   d |= (nibble & 8 ? (byte & 0x80 ? Bits{0xff} : Bits{0}) : byte) << (8 * i);
                 }
                 return {d};
               });
}

TEST(Permute, NamedModes) {
  // Source bytes of d, most significant first, for selector & 3 = 0..3 (table of the ISA's prmt section).
  struct Mode {
    const char* name;
    int bytes[4][4];
  };
  const Mode modes[] = {{"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
                        {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
                        {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
                        {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
  for (const Mode& mode : modes)
    expect_model(instruction(std::string("prmt.b32.") + mode.name, "b32", {"b32", "b32", "b32"}),
                 triples({0x83c2a190}, {0xf7e6d5b4}, {0, 1, 2, 3, 4, 7, 0xfffffffd}),
                 [&mode](const Row& r) -> std::vector<Want> {
                   const Bits both = r[1] << 32 | r[0];
                   Bits d = 0;
                   for (const int byte : mode.bytes[r[2] & 3]) d = d << 8 | (both >> (8 * byte) & 0xff);
                   return {d};
                 });
}

TEST(Lookup, EveryTable) {
  const std::vector<Row> rows = {{0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa}, {0x12345678, 0x9abcdef0, 0x0f1e2d3c}};
  for (int table = 0; table < 256; ++table)
    expect_model({"lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";", {"b32", "b32", "b32"}, {"b32"}},
                 rows, [table](const Row& r) -> std::vector<Want> {
                   Bits d = 0;
                   for (int i = 0; i < 32; ++i) {
                     const int index = bit(r[0], i) * 4 + bit(r[1], i) * 2 + bit(r[2], i);
                     d |= Bits{bit(static_cast<Bits>(table), index)} << i;
                   }
                   return {d};
                 });
}

TEST(Move, PacksLowFirst) {
  expect_model({"mov.b32 %d, {%a, %b};", {"b16", "b16"}, {"b32"}}, random_rows(1, 40, {16, 16}),
               [](const Row& r) -> std::vector<Want> { return {r[1] << 16 | r[0]}; });
  expect_model({"mov.b32 {%d, %q}, %a;", {"b32"}, {"b16", "b16"}}, random_rows(2, 40, {32}),
               [](const Row& r) -> std::vector<Want> {
                 return {r[0] & 0xffff, r[0] >> 16};
               });
  expect_model({"mov.b64 %d, {%a, %b};", {"b32", "b32"}, {"b64"}}, random_rows(3, 40, {32, 32}),
               [](const Row& r) -> std::vector<Want> { return {r[1] << 32 | r[0]}; });
  expect_model({"mov.b64 {%d,%q}, %a;", {"b64"}, {"b32", "b32"}}, random_rows(4, 40, {64}),
               [](const Row& r) -> std::vector<Want> {
                 return {low_bits(r[0], 32), r[0] >> 32};
               });
  expect_model({"mov.b64 %d, {%a, %b, %c, %e};", {"b16", "b16", "b16", "b16"}, {"b64"}},
               random_rows(5, 40, {16, 16, 16, 16}), [](const Row& r) -> std::vector<Want> {
                 return {r[3] << 48 | r[2] << 32 | r[1] << 16 | r[0]};
               });
}

TEST(Move, UnpacksIntoASink) {
  expect_model({"mov.b32 {_, %d}, %a;", {"b32"}, {"b16"}}, random_rows(2, 40, {32}),
               [](const Row& r) -> std::vector<Want> { return {r[0] >> 16}; });
}

// Registers of one width are interchangeable bits, whatever their declared class.
TEST(Move, RegisterClassesOfOneWidth) {
  expect_model(
      {"{\n.reg .b32 x;\n.reg .f32 y;\nmov.b32 x, %a;\nadd.f32 y, x, 0f3F800000;\nand.b32 %d, y, -1;\n}",
       {"f32"},
       {"b32"}},
      singles({0x40000000, 0xbf800000}),
      [](const Row& r) -> std::vector<Want> { return {r[0] == 0x40000000 ? 0x40400000u : 0u}; });
  expect_model({"{\n.reg .b64 x;\nmov.f64 x, 0d3FF0000000000000;\nadd.f64 %d, %a, x;\n}", {"b64"}, {"f64"}},
               singles({0x4000000000000000}),
               [](const Row&) -> std::vector<Want> { return {0x4008000000000000}; });
}

}  // namespace
}  // namespace moe4::ptx::test
