// tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap::generic.
#include <utility>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/decode/async_families.h"
#include "gpu/ptx/decode/memory_operand.h"

namespace moe4::ptx {
namespace {

void refuse(Decoder& decoder) { decoder.unsupported("unsupported form of the instruction"); }

bool is_128(const Operand& operand) { return operand.kind == OperandKind::kInteger && operand.value == 128; }

// replace.tile.FIELD{.space}.b1024.TYPE [map], {ordinal,} value;
void decode_replace(Decoder& decoder, const Statement& s, Modifiers& m) {
  struct Field {
    std::string_view name;
    MapField field;
    bool ordinal;
    Type type;
  };
  constexpr Field kFields[] = {{"global_address", MapField::kAddress, false, Type::kB64},
                               {"rank", MapField::kRank, false, Type::kB32},
                               {"box_dim", MapField::kBox, true, Type::kB32},
                               {"global_dim", MapField::kDim, true, Type::kB32},
                               {"global_stride", MapField::kStride, true, Type::kB64},
                               {"element_stride", MapField::kElementStride, true, Type::kB32},
                               {"elemtype", MapField::kElement, false, Type::kB32},
                               {"interleave_layout", MapField::kInterleave, false, Type::kB32},
                               {"swizzle_mode", MapField::kSwizzle, false, Type::kB32},
                               {"fill_mode", MapField::kFill, false, Type::kB32},
                               {"swizzle_atomicity", MapField::kAtomicity, false, Type::kB32}};
  const Field* field = nullptr;
  for (const Field& each : kFields) {
    if (field == nullptr && m.take(each.name)) field = &each;
  }
  MemoryOp op;
  op.space = m.take("shared::cta") ? Space::kShared : m.take("global") ? Space::kGlobal : Space::kGeneric;
  if (field == nullptr || !m.take("tile") || !m.take("b1024") || m.take_type() != field->type ||
      !decoder.expect_operands(field->ordinal ? 3 : 2)) {
    return refuse(decoder);
  }
  std::uint64_t ordinal = 0;
  if (field->ordinal) {
    const Operand& given = s.operands[1];
    if (given.kind != OperandKind::kInteger || given.value < 0 || given.value > 4) return refuse(decoder);
    ordinal = static_cast<std::uint64_t>(given.value);
  }
  Ref a;
  if (!read_address(decoder, s.operands[0], &op, &a)) return;
  const Ref b = decoder.source(s.operands.back(), field->type);
  MemoryOp line = op;
  line.element_bytes = 16;
  line.count = 1;
  note_store(decoder, line);
  decoder.emit(&run_map_replace, {}, a, b, {},
               static_cast<std::uint64_t>(field->field) | (ordinal << 8) |
                   (field->type == Type::kB64 ? 1u << 16 : 0u));
  decoder.function().code.back().aux = add_op(decoder, op);
}

// cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned [to], [from], 128;
void decode_copy(Decoder& decoder, const Statement& s, Modifiers& m) {
  MemoryOp to, from;
  to.space = Space::kGlobal;
  from.space = Space::kShared;
  if (!m.take("global") || !m.take("shared::cta") || !m.take("tensormap::generic") || !m.take("release") ||
      m.take_one_of({"cta", "cluster", "gpu", "sys"}).empty() || !m.take("sync") || !m.take("aligned") ||
      !decoder.expect_operands(3) || !is_128(s.operands[2])) {
    return refuse(decoder);
  }
  Ref a, b;
  if (!read_address(decoder, s.operands[0], &to, &a) || !read_address(decoder, s.operands[1], &from, &b))
    return;
  MemoryOp line = to;
  line.element_bytes = 16;
  note_store(decoder, line);
  decoder.emit(&run_map_copy, {}, a, b);
  decoder.function().code.back().aux = add_op(decoder, to);
  add_op(decoder, from);
}

void decode_tensormap(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (m.take("replace")) return decode_replace(decoder, s, m);
  if (m.take("cp_fenceproxy")) return decode_copy(decoder, s, m);
  refuse(decoder);
}

}  // namespace

// fence.proxy.tensormap::generic.release.SCOPE; …acquire.SCOPE [map], 128;  up to "generic" taken.
void decode_map_fence(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool acquire = m.take("acquire");
  if ((!acquire && !m.take("release")) || m.take_one_of({"cta", "cluster", "gpu", "sys"}).empty() ||
      !decoder.expect_operands(acquire ? 2 : 0)) {
    return refuse(decoder);
  }
  if (!acquire) {
    decoder.emit(&run_map_release, {});
    return;
  }
  MemoryOp op;
  Ref a;
  if (!is_128(s.operands[1])) return refuse(decoder);
  if (!read_address(decoder, s.operands[0], &op, &a)) return;
  decoder.emit(&run_map_acquire, {}, a);
  decoder.function().code.back().aux = add_op(decoder, op);
}

std::vector<DecoderEntry> tensor_map_decoders() { return {{"tensormap", &decode_tensormap}}; }

}  // namespace moe4::ptx
