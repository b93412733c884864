// What loads, stores and atomic operations have in common.
#pragma once

#include <vector>

#include "gpu/ptx/decode/decoder.h"

namespace moe4::ptx {

struct Ordering {
  Order order = Order::kWeak;
  bool given = false;
};

void take_hints(Modifiers& m);  // those that change no value
void take_space(Modifiers& m, MemoryOp* op);
Ordering take_order(Modifiers& m, MemoryOp* op);  // the scope goes into *op
unsigned take_vector(Modifiers& m);

// The address operand: register in *a, the rest in *op. False: noted as unsupported.
bool read_address(Decoder& decoder, const Operand& operand, MemoryOp* op, Ref* a);

bool reaches_other_blocks(const MemoryOp& op);
void note_store(Decoder& decoder, const MemoryOp& op);
std::uint32_t add_op(Decoder& decoder, const MemoryOp& op);

// The values of an access: one operand, or the items of a vector.
std::vector<const Operand*> value_operands(const Operand& operand);

}  // namespace moe4::ptx
