// barrier.cluster, mapa, getctarank, st.async.
#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/decode/async_families.h"
#include "gpu/ptx/decode/memory_operand.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void refuse(Decoder& decoder) { decoder.unsupported("unsupported form of the instruction"); }

// {.shared::cluster}.u32 | .u64: the width of the address, and whether it is generic.
bool take_address_type(Modifiers& m, Type* type, std::uint64_t* imm) {
  const bool shared = m.take_any({"shared::cluster"});
  *type = m.take_type();
  const unsigned bytes = bytes_of(*type);
  *imm = bytes | (shared ? 0 : 1u << 8);
  return bytes == 8 || (bytes == 4 && shared);
}

// mapa d, a, b;
void decode_mapa(Decoder& decoder, const Statement& s, Modifiers& m) {
  Type type = Type::kNone;
  std::uint64_t imm = 0;
  if (!take_address_type(m, &type, &imm)) return refuse(decoder);
  if (!decoder.expect_operands(3)) return;
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], Type::kU32);
  decoder.emit(&run_map_to_block, decoder.destination(s.operands[0], type), a, b, {}, imm);
}

// getctarank d, a;
void decode_getctarank(Decoder& decoder, const Statement& s, Modifiers& m) {
  Type type = Type::kNone;
  std::uint64_t imm = 0;
  if (!take_address_type(m, &type, &imm)) return refuse(decoder);
  if (!decoder.expect_operands(2)) return;
  const Ref a = decoder.source(s.operands[1], type);
  decoder.emit(&run_block_of_address, decoder.destination(s.operands[0], Type::kU32), a, {}, {}, imm);
}

}  // namespace

// barrier.cluster.arrive{.release, .relaxed}{.aligned}, barrier.cluster.wait{.acquire}{.aligned}, "cluster"
// taken.
void decode_cluster_barrier(Decoder& decoder, Modifiers& m) {
  const bool arrive = m.take("arrive");
  if (!arrive && !m.take("wait")) return refuse(decoder);
  const bool relaxed = arrive && m.take("relaxed");
  if (!relaxed) m.take(arrive ? "release" : "acquire");
  const bool aligned = m.take("aligned");
  if (!decoder.expect_operands(0)) return;
  decoder.function().meets_cluster = true;
  decoder.emit(arrive ? &run_cluster_arrive : &run_cluster_wait, {}, {}, {}, {},
               (aligned ? 1u : 0u) | (relaxed ? 2u : 0u));
}

// st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2,.v4}.type [a], b, [mbar];  "async" taken.
void decode_store_async(Decoder& decoder, const Statement& s, Modifiers& m) {
  MemoryOp op, barrier;
  m.take("weak");
  if (!m.take("shared::cluster") || !m.take("mbarrier::complete_tx::bytes")) return refuse(decoder);
  op.space = barrier.space = Space::kShared;
  op.cluster = barrier.cluster = true;
  op.count = static_cast<std::uint8_t>(take_vector(m));
  op.type = m.take_type();
  op.element_bytes = op.register_bytes = static_cast<std::uint8_t>(bytes_of(op.type));
  if (op.element_bytes < 4 || op.element_bytes > 8 || op.count > 4 || !decoder.expect_operands(3)) {
    return refuse(decoder);
  }
  Ref a, b;
  if (!read_address(decoder, s.operands[0], &op, &a) || !read_address(decoder, s.operands[2], &barrier, &b))
    return;
  const auto values = value_operands(s.operands[1]);
  if (values.size() != op.count) return decoder.unsupported("wrong number of vector elements");
  std::vector<Ref> reads;
  for (const Operand* value : values) reads.push_back(decoder.source(*value, op.type));
  note_store(decoder, op);
  decoder.emit(&run_store_async, {}, a, b);
  op.list = decoder.set_list({}, reads);
  decoder.function().code.back().aux = add_op(decoder, op);
  add_op(decoder, barrier);
}

std::vector<DecoderEntry> cluster_decoders() {
  return {{"mapa", &decode_mapa}, {"getctarank", &decode_getctarank}};
}

}  // namespace moe4::ptx
