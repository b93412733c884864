#include "gpu/ptx/tensor/wgmma.h"

namespace moe4::ptx {

std::uint64_t encode(const WgmmaForm& form) {
  const bool flags[] = {form.a_in_registers, form.negate_a,   form.negate_b,
                        form.a_mn_major,     form.b_mn_major, form.scale_negated};
  std::uint64_t imm = form.columns | (static_cast<std::uint64_t>(form.type) << 16);
  for (unsigned i = 0; i < 6; ++i) imm |= flags[i] ? std::uint64_t{1} << (24 + i) : 0;
  return imm;
}

WgmmaForm decode_wgmma(std::uint64_t imm) {
  const auto flag = [imm](unsigned i) { return ((imm >> (24 + i)) & 1) != 0; };
  WgmmaForm form;
  form.columns = imm & 0xffff;
  form.type = static_cast<TensorType>((imm >> 16) & 0xff);
  form.a_in_registers = flag(0);
  form.negate_a = flag(1);
  form.negate_b = flag(2);
  form.a_mn_major = flag(3);
  form.b_mn_major = flag(4);
  form.scale_negated = flag(5);
  return form;
}

MatrixDescriptor decode_descriptor(std::uint64_t bits) {
  const auto field = [bits](unsigned shift) {
    return static_cast<std::uint32_t>((bits >> shift) & 0x3fff) << 4;
  };
  constexpr std::uint32_t kBytes[] = {0, 128, 64, 32};
  return {field(0), field(16), field(32), static_cast<std::uint32_t>((bits >> 49) & 7), kBytes[bits >> 62]};
}

}  // namespace moe4::ptx
