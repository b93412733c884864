// wgmma.* and setmaxnreg.
#include <charconv>

#include "gpu/ptx/decode/memory_operand.h"
#include "gpu/ptx/tensor/wgmma.h"

namespace moe4::ptx {
namespace {

void refuse(Decoder& decoder) { decoder.unsupported("unsupported form of the instruction"); }

// "m64n128k16" → 128; 0: another shape.
std::uint32_t take_columns(Modifiers& m) {
  for (const std::string_view word : m.all()) {
    if (word.substr(0, 4) != "m64n") continue;
    std::uint32_t columns = 0;
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data() + 4, end, columns);
    const bool fits = error == std::errc() &&
                      std::string_view(rest, static_cast<std::size_t>(end - rest)) == "k16" && columns >= 8 &&
                      columns <= 256 && columns % 8 == 0;
    m.take(word);
    return fits ? columns : 0;
  }
  return 0;
}

// An immediate of 1 or -1 (scale), or of 0 or 1 (transpose); *set: it is the second of the two.
bool read_choice(const Operand& operand, std::int64_t first, std::int64_t second, bool* set) {
  if (operand.kind != OperandKind::kInteger) return false;
  const auto value = static_cast<std::int64_t>(static_cast<std::int32_t>(operand.value));
  *set = value == second;
  return value == first || value == second;
}

// d, a, b, scale-d, scale-a, scale-b{, trans-a}, trans-b
void decode_mma_async(Decoder& decoder, const Statement& s, Modifiers& m) {
  WgmmaForm form;
  form.columns = take_columns(m);
  const Type d = m.take_type(), a = m.take_type(), b = m.take_type();
  if (form.columns == 0 || d != Type::kF32 || a != b || (a != Type::kF16 && a != Type::kBF16))
    return refuse(decoder);
  form.type = a == Type::kF16 ? TensorType::kF16 : TensorType::kBF16;
  if (s.operands.size() < 2) return refuse(decoder);
  form.a_in_registers = s.operands[1].kind == OperandKind::kVector;
  if (!decoder.expect_operands(form.a_in_registers ? 7 : 8)) return;
  bool good = read_choice(s.operands[4], 1, -1, &form.negate_a) &&
              read_choice(s.operands[5], 1, -1, &form.negate_b) &&
              read_choice(s.operands.back(), 0, 1, &form.b_mn_major);
  if (!form.a_in_registers) good = good && read_choice(s.operands[6], 0, 1, &form.a_mn_major);
  if (!good) return refuse(decoder);
  form.scale_negated = s.operands[3].negated;

  const auto accumulators = value_operands(s.operands[0]);
  if (accumulators.size() != form.columns / 2) return decoder.unsupported("wrong number of accumulators");
  std::vector<Ref> writes, reads;
  for (const Operand* item : accumulators) {
    if (item->kind != OperandKind::kRegister) return decoder.unsupported("an accumulator is no register");
    writes.push_back(decoder.destination(*item, Type::kF32));
  }
  reads = writes;
  Ref a_descriptor;
  if (form.a_in_registers) {
    const auto fragment = value_operands(s.operands[1]);
    if (fragment.size() != 4) return decoder.unsupported("wrong number of registers in a fragment");
    for (const Operand* item : fragment) reads.push_back(decoder.source(*item, Type::kB32));
  } else {
    a_descriptor = decoder.source(s.operands[1], Type::kB64);
  }
  const Ref b_descriptor = decoder.source(s.operands[2], Type::kB64);
  const Ref scale = decoder.predicate_source(s.operands[3]);
  decoder.emit(&run_wgmma, {}, a_descriptor, b_descriptor, scale, encode(form));
  decoder.set_list(writes, reads);
  decoder.function().info.needs_tensor_core = true;
  (form.type == TensorType::kF16 ? decoder.function().multiplies_f16 : decoder.function().multiplies_bf16) =
      true;
}

void decode_wgmma(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool aligned = m.take("sync") && m.take("aligned");
  if (!aligned) return refuse(decoder);
  if (m.take("mma_async")) return decode_mma_async(decoder, s, m);
  if (m.take("fence")) {
    if (decoder.expect_operands(0)) decoder.emit(&run_wgmma_fence, {});
  } else if (m.take("commit_group")) {
    if (decoder.expect_operands(0)) decoder.emit(&run_wgmma_commit, {});
  } else if (m.take("wait_group")) {
    if (!decoder.expect_operands(1)) return;
    const Operand& groups = s.operands[0];
    if (groups.kind != OperandKind::kInteger || groups.value < 0 || groups.value > 8) return refuse(decoder);
    decoder.emit(&run_wgmma_wait, {}, {}, {}, {}, static_cast<std::uint64_t>(groups.value));
  } else {
    refuse(decoder);
  }
}

// setmaxnreg.{inc,dec}.sync.aligned.u32 count;
void decode_setmaxnreg(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool form = m.take_any({"inc", "dec"}) && m.take("sync") && m.take("aligned") && m.take("u32");
  if (!form || !decoder.expect_operands(1)) return refuse(decoder);
  const Operand& count = s.operands[0];
  if (count.kind != OperandKind::kInteger || count.value < 24 || count.value > 256 || count.value % 8 != 0) {
    return decoder.unsupported("the count must be a constant of 24 … 256, a multiple of 8");
  }
  decoder.emit(&run_set_registers, {}, {}, {}, {}, static_cast<std::uint64_t>(count.value));
}

}  // namespace

std::vector<DecoderEntry> wgmma_decoders() {
  return {{"wgmma", &decode_wgmma}, {"setmaxnreg", &decode_setmaxnreg}};
}

}  // namespace moe4::ptx
