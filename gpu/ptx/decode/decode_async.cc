// cp.async and cp.async.bulk in all their forms.
#include <utility>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/decode/async_families.h"
#include "gpu/ptx/decode/memory_operand.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void refuse(Decoder& decoder) { decoder.unsupported("unsupported form of the instruction"); }

bool is_predicate(Decoder& decoder, const Operand& operand) {
  return operand.kind == OperandKind::kRegister &&
         decoder.expansion().function->registers[operand.index].type == Type::kPred;
}

bool is_policy(Decoder& decoder, const Operand& operand) {
  return operand.kind == OperandKind::kRegister &&
         bytes_of(decoder.expansion().function->registers[operand.index].type) == 8;
}

// cp.async.{ca,cg}.shared.global [dst], [src], size{, source size | ignore-src}{, policy};
void decode_copy(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool all_caches = m.take("ca");
  if (!all_caches && !m.take("cg")) return refuse(decoder);
  MemoryOp to, from;
  if (!m.take_any({"shared", "shared::cta"}) || !m.take("global")) return refuse(decoder);
  take_hints(m);
  to.space = Space::kShared;
  from.space = Space::kGlobal;
  if (!decoder.expect_operands(3, 5)) return;
  const Operand& size = s.operands[2];
  const bool fits = size.kind == OperandKind::kInteger &&
                    (size.value == 16 || (all_caches && (size.value == 4 || size.value == 8)));
  if (!fits) return decoder.unsupported("cp.async copies 4, 8 or 16 bytes, with .cg 16");
  for (MemoryOp* op : {&to, &from}) {
    op->type = bits_of_width(static_cast<unsigned>(size.value));
    op->element_bytes = op->register_bytes = static_cast<std::uint8_t>(size.value);
  }
  Ref a, b, c;
  if (!read_address(decoder, s.operands[0], &to, &b) || !read_address(decoder, s.operands[1], &from, &a))
    return;
  std::uint64_t flags = 0;
  for (std::size_t i = 3; i < s.operands.size(); ++i) {
    const Operand& operand = s.operands[i];
    if (is_predicate(decoder, operand)) {
      if (c.given()) return refuse(decoder);
      c = decoder.predicate_source(operand);
      flags = kCopyIgnoreSource | (operand.negated ? kCopyNegated : 0);
    } else if (!is_policy(decoder, operand)) {
      if (c.given()) return refuse(decoder);
      c = decoder.source(operand, Type::kB32);
      flags = kCopySourceSize;
    }
  }
  note_store(decoder, to);
  decoder.emit(&run_copy_async, {}, a, b, c, flags);
  decoder.function().code.back().aux = add_op(decoder, from);
  add_op(decoder, to);
}

// The number of groups that may stay pending.
bool read_groups(Decoder& decoder, const Statement& s, std::uint64_t* groups) {
  if (!decoder.expect_operands(1)) return false;
  if (s.operands[0].kind != OperandKind::kInteger || s.operands[0].value < 0 ||
      s.operands[0].value > 0x7fffffff) {
    decoder.unsupported("the number of groups must be a constant");
    return false;
  }
  *groups = static_cast<std::uint64_t>(s.operands[0].value);
  return true;
}

void decode_bulk_groups(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (m.take("commit_group")) {
    if (decoder.expect_operands(0)) decoder.emit(&run_bulk_commit, {});
    return;
  }
  if (!m.take("wait_group")) return refuse(decoder);
  std::uint64_t groups = 0;
  const bool read = m.take("read");
  if (read_groups(decoder, s, &groups)) {
    decoder.emit(&run_bulk_wait, {}, {}, {}, {}, groups | (read ? std::uint64_t{1} << 32 : 0));
  }
}

// The parts of a bulk copy's operands.
struct BulkOperands {
  const Operand* shared = nullptr;
  const Operand* global = nullptr;
  const Operand* barrier = nullptr;
  const Operand* bytes = nullptr;   // none: a tensor, whose coordinates follow the map in `global`
  const Operand* blocks = nullptr;  // of a multicast
  bool cluster = false;             // the shared side may be another block's
};

void emit_bulk(Decoder& decoder, const BulkOperands& operands, BulkInstr form) {
  const bool load = operands.barrier != nullptr;
  const std::uint32_t rank = form.rank;
  form.multicast = operands.blocks != nullptr;
  MemoryOp shared, global, barrier;
  shared.space = barrier.space = Space::kShared;
  shared.cluster = barrier.cluster = operands.cluster;
  // A tensor map is named by its generic address.
  global.space = rank != 0                            ? Space::kGeneric
                 : form.form == BulkForm::kSharedCopy ? Space::kShared
                                                      : Space::kGlobal;
  Ref at_shared, at_global, at_barrier;
  Operand map = *operands.global;
  map.items.resize(1);
  if (!read_address(decoder, *operands.shared, &shared, &at_shared) ||
      !read_address(decoder, map, &global, &at_global) ||
      (load && !read_address(decoder, *operands.barrier, &barrier, &at_barrier))) {
    return;
  }
  const auto given = [&](Ref ref) { return ref.given() ? ref : decoder.constant(0, 4); };
  std::vector<Ref> reads = {given(at_shared), given(at_global)};
  if (load) reads.push_back(given(at_barrier));
  if (rank == 0) {
    reads.push_back(decoder.source(*operands.bytes, Type::kB32));
  } else {
    const auto& items = operands.global->items;
    if (items.size() != 2) return decoder.unsupported("the tensor map wants {coordinates}");
    const auto coordinates = value_operands(items[1]);
    if (coordinates.size() != rank) return decoder.unsupported("wrong number of coordinates");
    for (const Operand* coordinate : coordinates) reads.push_back(decoder.source(*coordinate, Type::kB32));
  }
  if (form.multicast) {
    const Ref mask = decoder.temporary(4);
    decoder.emit(decoder.alu().convert(Type::kU32, Type::kU16), mask,
                 decoder.source(*operands.blocks, Type::kU16));
    reads.push_back(mask);
  }
  if (load) {
    MemoryOp line = shared;
    line.element_bytes = 16;
    note_store(decoder, line);
  }
  if (form.reduces) decoder.function().blocks_communicate = true;
  decoder.emit(&run_bulk_copy, {}, {}, {}, {}, encode(form));
  shared.list = global.list = barrier.list = decoder.set_list({}, reads);
  decoder.function().code.back().aux = add_op(decoder, shared);
  add_op(decoder, global);
  add_op(decoder, barrier);
}

// .op.type of a reduction; a tensor's map has the type.
bool take_reduction(Modifiers& m, bool tensor, BulkInstr* form) {
  constexpr std::pair<std::string_view, AtomicOp> kOps[] = {
      {"add", AtomicOp::kAdd}, {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax}, {"inc", AtomicOp::kInc},
      {"dec", AtomicOp::kDec}, {"and", AtomicOp::kAnd}, {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor}};
  form->reduces = true;
  bool known = false;
  for (const auto& [name, op] : kOps) {
    if (known || !m.take(name)) continue;
    form->op = op;
    known = true;
  }
  if (tensor) return known;
  const bool noftz = m.take("noftz");
  form->type = m.take_type();
  const bool half = form->type == Type::kF16 || form->type == Type::kBF16;
  return known && atomic_type_fits(form->op, form->type) && (form->op != AtomicOp::kAdd || half == noftz);
}

// cp.async.bulk{.tensor.Nd}, cp.reduce.async.bulk{.tensor.Nd}: the words up to "bulk" are taken.
void decode_bulk(Decoder& decoder, const Statement& s, Modifiers& m, bool reduces) {
  if (!reduces && m.take("prefetch")) {  // changes no value
    for (const std::string_view word : m.all()) m.take(word);
    decoder.emit(&run_nothing, {});
    return;
  }
  BulkInstr form;
  if (m.take("tensor")) {
    const std::string_view dimensions = m.take_one_of({"1d", "2d", "3d", "4d", "5d"});
    if (dimensions.empty()) return refuse(decoder);
    form.rank = static_cast<std::uint32_t>(dimensions[0] - '0');
    m.take("tile");
  }
  const bool tensor = form.rank != 0;
  // The first space named is the destination.
  std::string_view to;
  for (const std::string_view word : m.all()) {
    if (to.empty() && (word == "global" || word.substr(0, 6) == "shared")) to = word;
  }
  const std::size_t hint = m.take("L2::cache_hint") ? 1 : 0;
  BulkOperands operands;
  const std::size_t least = tensor ? 2 : 3;
  if (to == "global") {
    m.take("global");
    if (!m.take("shared::cta") || !m.take("bulk_group") || (reduces && !take_reduction(m, tensor, &form)) ||
        !decoder.expect_operands(least + hint)) {
      return refuse(decoder);
    }
    operands.global = &s.operands[0];
    operands.shared = &s.operands[1];
    operands.bytes = tensor ? nullptr : &s.operands[2];
    form.form = tensor ? BulkForm::kTensorStore : BulkForm::kStore;
    return emit_bulk(decoder, operands, form);
  }
  if (to.empty() && !reduces) return decode_bulk_groups(decoder, s, m);
  if (reduces) return decoder.unsupported("a bulk reduction into shared memory");
  operands.cluster = to == "shared::cluster";
  m.take(to);
  if (!tensor && m.take("shared::cta")) {
    form.form = BulkForm::kSharedCopy;
  } else if (m.take("global")) {
    form.form = tensor ? BulkForm::kTensorLoad : BulkForm::kLoad;
  } else {
    return refuse(decoder);
  }
  const std::size_t many = m.take("multicast::cluster") ? 1 : 0;
  if (!m.take("mbarrier::complete_tx::bytes") || (many != 0 && form.form == BulkForm::kSharedCopy) ||
      !decoder.expect_operands(least + 1 + many + hint)) {
    return refuse(decoder);
  }
  operands.shared = &s.operands[0];
  operands.global = &s.operands[1];
  operands.bytes = tensor ? nullptr : &s.operands[2];
  operands.barrier = &s.operands[least];
  operands.blocks = many != 0 ? &s.operands[least + 1] : nullptr;
  emit_bulk(decoder, operands, form);
}

void decode_cp(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool reduces = m.take("reduce");
  if (!m.take("async")) return refuse(decoder);
  if (m.take("bulk")) return decode_bulk(decoder, s, m, reduces);
  if (reduces) return refuse(decoder);
  if (m.take("mbarrier")) return decode_copy_arrive(decoder, s, m);
  if (m.take("commit_group")) {
    if (decoder.expect_operands(0)) decoder.emit(&run_copy_commit, {});
    return;
  }
  if (m.take("wait_all")) {
    if (decoder.expect_operands(0)) decoder.emit(&run_copy_wait, {}, {}, {}, {}, kCopyWaitAll);
    return;
  }
  if (m.take("wait_group")) {
    std::uint64_t groups = 0;
    if (read_groups(decoder, s, &groups)) decoder.emit(&run_copy_wait, {}, {}, {}, {}, groups);
    return;
  }
  decode_copy(decoder, s, m);
}

}  // namespace

std::vector<DecoderEntry> async_decoders() { return {{"cp", &decode_cp}, {"mbarrier", &decode_mbarrier}}; }

}  // namespace moe4::ptx
