// Two sources exchanged where that changes the result; two elements of a vector exchanged.
#include <algorithm>

#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {
namespace {

void exchange(Mutants& mutants, std::string_view a, std::string_view b, std::string what) {
  if (a == b || a.empty() || b.empty()) return;
  const char* middle = a.data() + a.size();
  const std::string_view both{a.data(), static_cast<std::size_t>(b.data() + b.size() - a.data())};
  const std::string between(middle, static_cast<std::size_t>(b.data() - middle));
  mutants.replace(Mutation::kSwap, both, std::string(b) + between + std::string(a), std::move(what));
}

void exchange_operands(const Site& site, Mutants& mutants, std::size_t a, std::size_t b) {
  if (b >= site.operands.size()) return;
  exchange(mutants, site.operands[a], site.operands[b], "op" + std::to_string(a) + ",op" + std::to_string(b));
}

// Is a table of lop3 the same with its inputs exchanged (0: a, 1: b, 2: c)?
bool symmetric(std::int64_t table, int first, int second) {
  for (int row = 0; row < 8; ++row) {
    const auto bit = [](int inputs, int which) { return inputs >> (2 - which) & 1; };
    int other = row & ~(1 << (2 - first)) & ~(1 << (2 - second));
    other |= bit(row, first) << (2 - second) | bit(row, second) << (2 - first);
    if ((table >> row & 1) != (table >> other & 1)) return false;
  }
  return true;
}

void exchange_lop3(const Site& site, Mutants& mutants) {
  if (site.operands.size() < 5 || site.statement.operands[4].kind != OperandKind::kInteger) return;
  const std::int64_t table = site.statement.operands[4].value;
  if (!symmetric(table, 0, 1)) {
    exchange_operands(site, mutants, 1, 2);
  } else if (!symmetric(table, 1, 2)) {
    exchange_operands(site, mutants, 2, 3);
  }
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void exchange_sources(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  if (base == "lop3") return exchange_lop3(site, mutants);
  if (base == "fma" || base == "mad") return exchange_operands(site, mutants, 2, 3);
  if (base == "atom" && site.has("cas")) return exchange_operands(site, mutants, 2, 3);
  if (base == "setp" || base == "set") {
    if (one_of(site.modifier(0), {"eq", "ne", "equ", "neu", "num", "nan"})) return;
    return exchange_operands(site, mutants, 1, 2);
  }
  if (base == "cvt" && site.operands.size() == 3) return exchange_operands(site, mutants, 1, 2);
  if (one_of(base, {"sub", "div", "rem", "selp", "slct", "prmt", "bfi", "shf", "copysign"})) {
    exchange_operands(site, mutants, 1, 2);
  }
}

// The first two elements of an operand in braces.
void exchange_elements(const Site& site, Mutants& mutants, std::size_t n) {
  const std::string_view text = site.operands[n];
  if (site.statement.operands[n].kind != OperandKind::kVector || text.size() < 2) return;
  const std::vector<std::string_view> items = split_list(text.substr(1, text.size() - 2));
  if (items.size() < 2) return;
  exchange(mutants, items[0], items[1], "op" + std::to_string(n) + "{0,1}");
}

}  // namespace

void mutate_sources(const Site& site, Mutants& mutants) {
  exchange_sources(site, mutants);
  const std::string_view base = site.statement.base;
  if (base == "call") return;
  const bool matrix = base == "mma" || base == "wgmma";
  for (std::size_t n = 0; n < site.operands.size(); ++n) {
    // The accumulator of mma as a source is the result's twin; one of the two is enough.
    if (matrix && n == 3) continue;
    exchange_elements(site, mutants, n);
  }
}

}  // namespace moe4::ptx
