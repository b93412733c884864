// Addresses and tensor coordinates moved by one element. An element is what the instruction moves at a time,
// so that the address stays aligned and only the place is wrong.
#include <algorithm>

#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {
namespace {

constexpr std::int64_t kMatrixRow = 16, kBulk = 16, kTensorTile = 128, kBarrier = 8;

std::int64_t vector_width(const Site& site) {
  for (const auto& [word, width] : {std::pair{"v2", 2}, {"v4", 4}, {"v8", 8}}) {
    if (site.has(word)) return width;
  }
  return 1;
}

// The bytes that operand n of the instruction addresses; 0: no address of the kind.
std::int64_t element(const Site& site, std::size_t n) {
  const std::string_view base = site.statement.base;
  if (base == "ld" || base == "st" || base == "ldu" || base == "atom" || base == "red") {
    return std::max<std::int64_t>(1, bytes_of(site.last_type())) * vector_width(site);
  }
  if (base == "ldmatrix" || base == "stmatrix") return kMatrixRow;
  if (base == "mbarrier") return kBarrier;
  if (base != "cp") return 0;
  if (site.has("mbarrier")) return kBarrier;  // cp.async.mbarrier.arrive
  if (!site.has("bulk")) {
    return site.operands.size() > 2 && site.statement.operands[2].kind == OperandKind::kInteger
               ? site.statement.operands[2].value
               : kBulk;
  }
  const bool completes_at_barrier = site.has("mbarrier::complete_tx::bytes");
  const bool tensor = site.has("tensor");
  // load: [dst], [src or map], (size,) [mbar]; store: [dst or map], [src] (, size)
  if (completes_at_barrier && n >= 2) return kBarrier;
  return tensor ? kTensorTile : kBulk;
}

void move_coordinates(const Site& site, Mutants& mutants, std::size_t n) {
  const Operand& address = site.statement.operands[n];
  if (address.items.size() < 2 || address.items[1].kind != OperandKind::kVector) return;
  std::string_view inside = site.operands[n];
  inside = inside.substr(1, inside.size() - 2);
  const std::vector<std::string_view> pieces = split_list(inside);
  if (pieces.size() < 2 || pieces[1].size() < 2) return;
  const std::vector<std::string_view> items = split_list(pieces[1].substr(1, pieces[1].size() - 2));
  const std::vector<Operand>& coordinates = address.items[1].items;
  for (std::size_t c = 0; c < std::min(items.size(), coordinates.size()); ++c) {
    const std::string what = "op" + std::to_string(n) + ".c" + std::to_string(c) + "+1";
    if (coordinates[c].kind == OperandKind::kInteger) {
      mutants.replace(Mutation::kOffset, items[c], std::to_string(coordinates[c].value + 1), what);
    } else if (coordinates[c].kind == OperandKind::kRegister) {
      mutants.computed(Mutation::kOffset, items[c], "add.s32", 1, what);
    }
  }
}

}  // namespace

void mutate_addresses(const Site& site, Mutants& mutants) {
  for (std::size_t n = 0; n < site.operands.size(); ++n) {
    const Operand& operand = site.statement.operands[n];
    if (operand.kind != OperandKind::kAddress) continue;
    if (operand.items.size() > 1) {
      move_coordinates(site, mutants, n);
      continue;
    }
    const std::int64_t by = element(site, n);
    const Operand& base = operand.items.front();
    const bool movable = base.kind == OperandKind::kRegister || base.kind == OperandKind::kVariable;
    if (by == 0 || !movable) continue;
    const auto moved =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(operand.value) + static_cast<std::uint64_t>(by));
    const std::string offset = moved == 0 ? "" : "+" + std::to_string(moved);
    mutants.operand(Mutation::kOffset, n, "[" + std::string(base.text) + offset + "]",
                    "+" + std::to_string(by));
  }
}

}  // namespace moe4::ptx
