// Counts of bytes, arrivals, groups and threads, and memory orders.
#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {
namespace {

constexpr std::int64_t kTransactionBytes = 16;  // bulk copies come in multiples of it
constexpr std::int64_t kWarp = 32;

void add(const Site& site, Mutants& mutants, std::size_t n, std::int64_t by) {
  const Operand& operand = site.statement.operands[n];
  const std::string what = (by < 0 ? "" : "+") + std::to_string(by);
  if (operand.kind == OperandKind::kInteger) {
    if (operand.value + by > 0)
      mutants.operand(Mutation::kCount, n, std::to_string(operand.value + by), what);
  } else if (operand.kind == OperandKind::kRegister) {
    mutants.computed(Mutation::kCount, site.operands[n], "add.s32", by, "op" + std::to_string(n) + what);
  }
}

}  // namespace

void mutate_counts(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  if (site.operands.empty()) return;
  const std::size_t last = site.operands.size() - 1;
  if (base == "mbarrier") {
    if (site.has("expect_tx") || site.has("complete_tx")) {
      add(site, mutants, last, kTransactionBytes);
      add(site, mutants, last, -kTransactionBytes);
    } else if (site.modifier(0) == "init") {
      add(site, mutants, last, 1);
      add(site, mutants, last, -1);
    } else if (site.modifier(0) == "arrive" && site.statement.operands[last].kind == OperandKind::kInteger) {
      add(site, mutants, last, 1);
    }
  } else if (site.has("wait_group")) {
    add(site, mutants, last, 1);  // one group more may be under way; fewer would only wait longer
  } else if ((base == "bar" || base == "barrier") && !site.has("warp") && !site.has("cluster")) {
    const std::size_t count = site.has("red") ? 2 : 1;
    const bool given = site.operands.size() > count + (site.has("red") ? 1 : 0);
    if (!given) return;
    add(site, mutants, count, kWarp);
    add(site, mutants, count, -kWarp);
  }
}

void mutate_order(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  const bool fence = base == "fence";
  if (!fence && base != "ld" && base != "st" && base != "atom" && base != "red" && base != "mbarrier") return;
  for (std::size_t n = 0; n < site.statement.modifiers.size(); ++n) {
    const std::string_view word = site.statement.modifiers[n];
    if (!fence && (word == "acquire" || word == "release" || word == "acq_rel")) {
      mutants.modifier(Mutation::kOrder, n, "relaxed", "relaxed");
    } else if (word == "volatile") {
      mutants.modifier(Mutation::kOrder, n, "", "not volatile");
    } else if (word == "gpu" && !site.has("proxy")) {
      mutants.modifier(Mutation::kOrder, n, "cta", "cta");
    }
  }
}

}  // namespace moe4::ptx
