// mbarrier.*, cp.async.mbarrier.arrive.
#include <utility>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/decode/async_families.h"
#include "gpu/ptx/decode/memory_operand.h"

namespace moe4::ptx {
namespace {

void refuse(Decoder& decoder) { decoder.unsupported("unsupported form of the instruction"); }

// The space, and the .b64 behind it.
bool take_place(Modifiers& m, MemoryOp* op) {
  op->cluster = m.take("shared::cluster");
  op->space = op->cluster || m.take_any({"shared", "shared::cta"}) ? Space::kShared : Space::kGeneric;
  op->type = Type::kB64;
  op->element_bytes = op->register_bytes = 8;
  return m.take("b64");
}

void emit(Decoder& decoder, const MbarrierForm& form, MemoryOp op, const Operand& address, Ref d, Ref b) {
  Ref a;
  if (!read_address(decoder, address, &op, &a)) return;
  decoder.emit(&run_mbarrier, d, a, b, {}, encode(form));
  decoder.function().code.back().aux = add_op(decoder, op);
}

// arrive{.expect_tx}{.noComplete} {state,} [address]{, count or bytes}
void decode_arrive(Decoder& decoder, const Statement& s, MbarrierForm form, const MemoryOp& op) {
  const bool state = !s.operands.empty() && s.operands[0].kind != OperandKind::kAddress;
  form.state = state && s.operands[0].kind != OperandKind::kSink;
  const std::size_t at = state ? 1 : 0;
  const bool wants_operand = form.expects || form.no_complete;
  if (!decoder.expect_operands(at + (wants_operand ? 2 : 1), at + 2)) return;
  const Ref b =
      s.operands.size() == at + 2 ? decoder.source(s.operands[at + 1], Type::kB32) : decoder.constant(1, 4);
  const Ref d = state ? decoder.destination(s.operands[0], Type::kB64) : decoder.temporary(8);
  emit(decoder, form, op, s.operands[at], d, b);
}

}  // namespace

void decode_mbarrier(Decoder& decoder, const Statement& s, Modifiers& m) {
  constexpr std::pair<std::string_view, MbarrierOp> kOps[] = {{"init", MbarrierOp::kInit},
                                                              {"inval", MbarrierOp::kInvalidate},
                                                              {"arrive", MbarrierOp::kArrive},
                                                              {"arrive_drop", MbarrierOp::kArrive},
                                                              {"test_wait", MbarrierOp::kTest},
                                                              {"try_wait", MbarrierOp::kTry},
                                                              {"complete_tx", MbarrierOp::kComplete},
                                                              {"expect_tx", MbarrierOp::kExpect}};
  if (m.take("pending_count")) {
    if (!m.take("b64") || !decoder.expect_operands(2)) return refuse(decoder);
    const Ref a = decoder.source(s.operands[1], Type::kB64);
    decoder.emit(&run_pending_count, decoder.destination(s.operands[0], Type::kB32), a);
    return;
  }
  MbarrierForm form;
  bool known = false;
  for (const auto& [name, op] : kOps) {
    if (!m.take(name)) continue;
    form.op = op;
    form.drops = name == "arrive_drop";
    known = true;
    break;
  }
  if (!known) return refuse(decoder);
  form.expects = form.op == MbarrierOp::kArrive && m.take("expect_tx");
  form.no_complete = m.take("noComplete");
  form.parity = m.take("parity");
  const std::string_view order = m.take_one_of({"release", "acquire", "relaxed"});
  form.relaxed = order == "relaxed";
  m.take_any({"cta", "cluster"});
  MemoryOp op;
  if (!take_place(m, &op)) return refuse(decoder);
  switch (form.op) {
    case MbarrierOp::kInit:
    case MbarrierOp::kExpect:
    case MbarrierOp::kComplete:
      if (!decoder.expect_operands(2)) return;
      return emit(decoder, form, op, s.operands[0], {}, decoder.source(s.operands[1], Type::kB32));
    case MbarrierOp::kInvalidate:
      if (!decoder.expect_operands(1)) return;
      return emit(decoder, form, op, s.operands[0], {}, {});
    case MbarrierOp::kArrive:
      return decode_arrive(decoder, s, form, op);
    default: {
      // The hint how long to wait changes nothing.
      if (!decoder.expect_operands(3, form.op == MbarrierOp::kTry ? 4 : 3)) return;
      const Ref b = decoder.source(s.operands[2], form.parity ? Type::kB32 : Type::kB64);
      return emit(decoder, form, op, s.operands[1], decoder.predicate_destination(s.operands[0]), b);
    }
  }
}

void decode_copy_arrive(Decoder& decoder, const Statement& s, Modifiers& m) {
  MbarrierForm form;
  form.op = MbarrierOp::kCopyArrive;
  if (!m.take("arrive")) return refuse(decoder);
  form.no_increment = m.take("noinc");
  MemoryOp op;
  if (!take_place(m, &op)) return refuse(decoder);
  if (decoder.expect_operands(1)) emit(decoder, form, op, s.operands[0], {}, {});
}

}  // namespace moe4::ptx
