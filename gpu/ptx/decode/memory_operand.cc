#include "gpu/ptx/decode/memory_operand.h"

#include <algorithm>
#include <array>
#include <utility>

namespace moe4::ptx {

// Hints that change no value: cache operators, eviction priorities, prefetch sizes.
void take_hints(Modifiers& m) {
  for (const std::string_view word : m.all()) {
    constexpr std::array<std::string_view, 9> kCache{"ca", "cg", "cs",      "lu", "cv",
                                                     "wb", "wt", "unified", "nc"};
    const bool cache = std::find(kCache.begin(), kCache.end(), word) != kCache.end() && word != "nc";
    if (cache || (word.substr(0, 4) == "L1::") || (word.substr(0, 4) == "L2::")) m.take(word);
  }
}

void take_space(Modifiers& m, MemoryOp* op) {
  op->cluster = m.take("shared::cluster");
  op->space = op->cluster ? Space::kShared : Space::kGeneric;
  if (op->cluster) return;
  constexpr std::pair<std::string_view, Space> kNames[] = {
      {"global", Space::kGlobal},     {"shared", Space::kShared}, {"shared::cta", Space::kShared},
      {"local", Space::kLocal},       {"param", Space::kParam},   {"param::entry", Space::kParam},
      {"param::func", Space::kFrame}, {"const", Space::kConst}};
  for (const auto& [name, space] : kNames) {
    if (!m.take(name)) continue;
    op->space = space;
    return;
  }
}

Ordering take_order(Modifiers& m, MemoryOp* op) {
  constexpr std::pair<std::string_view, Order> kNames[] = {
      {"weak", Order::kWeak},       {"relaxed", Order::kRelaxed}, {"acquire", Order::kAcquire},
      {"release", Order::kRelease}, {"acq_rel", Order::kAcqRel},  {"volatile", Order::kRelaxed}};
  Ordering result;
  for (const auto& [name, order] : kNames) {
    if (!m.take(name)) continue;
    result = {order, true};
  }
  const std::string_view scope = m.take_one_of({"cta", "cluster", "gpu", "sys"});
  op->cluster_scope = scope == "cluster";
  op->wide = scope != "cta" && !op->cluster_scope;
  return result;
}

bool read_address(Decoder& decoder, const Operand& operand, MemoryOp* op, Ref* a) {
  if (operand.kind != OperandKind::kAddress || operand.items.size() != 1) {
    decoder.unsupported("malformed address");
    return false;
  }
  const Operand& base = operand.items[0];
  op->offset = operand.value;
  switch (base.kind) {
    case OperandKind::kRegister: {
      unsigned bytes = 0;
      *a = decoder.wide_source(base, Type::kB32, &bytes);
      if (bytes != 4 && bytes != 8) {
        decoder.unsupported("address register of a wrong width");
        return false;
      }
      op->register_address = true;
      op->address_bytes = static_cast<std::uint8_t>(bytes);
      if (op->space == Space::kParam && !decoder.in_entry()) op->space = Space::kFrame;
      break;
    }
    case OperandKind::kVariable: {
      Space space;
      const std::uint64_t address = decoder.address_of(base, &space);
      op->offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(op->offset) + address);
      if (op->space == Space::kParam || op->space == Space::kFrame) {
        op->space = space;
        if (space != Space::kParam && space != Space::kFrame) {
          decoder.unsupported("the variable is not in the space of the instruction");
          return false;
        }
      } else if (op->space != space && !(op->space == Space::kGeneric && space == Space::kGlobal)) {
        decoder.unsupported("the variable is not in the space of the instruction");
        return false;
      }
      break;
    }
    case OperandKind::kInteger:
      op->offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(op->offset) +
                                             static_cast<std::uint64_t>(base.value));
      break;
    default:
      decoder.unsupported("malformed address");
      return false;
  }
  if (op->space == Space::kFrame) op->space = Space::kLocal;
  return true;
}

bool reaches_other_blocks(const MemoryOp& op) {
  return op.space == Space::kGlobal || op.space == Space::kGeneric;
}

void note_store(Decoder& decoder, const MemoryOp& op) {
  if (op.space == Space::kLocal || op.space == Space::kParam) return;
  const unsigned bytes = unsigned{op.element_bytes} * op.count;
  decoder.function().race_granule = std::min(decoder.function().race_granule, bytes);
}

unsigned take_vector(Modifiers& m) {
  if (m.take("v2")) return 2;
  if (m.take("v4")) return 4;
  if (m.take("v8")) return 8;
  return 1;
}

std::uint32_t add_op(Decoder& decoder, const MemoryOp& op) {
  decoder.function().memory_ops.push_back(op);
  return static_cast<std::uint32_t>(decoder.function().memory_ops.size() - 1);
}

std::vector<const Operand*> value_operands(const Operand& operand) {
  std::vector<const Operand*> result;
  if (operand.kind == OperandKind::kVector) {
    for (const Operand& item : operand.items) result.push_back(&item);
  } else {
    result.push_back(&operand);
  }
  return result;
}

}  // namespace moe4::ptx
