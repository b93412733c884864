// Which matrix of an expert (CKP-7): gate and up read the layer's input, down writes its output.
#pragma once

#include <string_view>

#include "reference/status.h"

namespace moe4::oracle {

enum class Projection { kGate, kUp, kDown, kGateUp };

std::string_view name_of(Projection projection);  // "gate", "up", "down", "gate_up"
// Also w1 (gate), w3 (up), w2 (down), w13 (gate_up).
Result<Projection> projection_named(std::string_view word);

}  // namespace moe4::oracle
