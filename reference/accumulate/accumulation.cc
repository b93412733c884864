#include "reference/accumulate/accumulation.h"

#include <array>
#include <string>

namespace moe4 {
namespace {

// ACC-14. [A] arXiv 2511.10909, table 4, fitted to tests on silicon; [B] the authors' simulator, second
// version; [C] FPy's models of the same instructions.
constexpr std::string_view kRead = "L, F: [A] table 4; zero exponent: [B]";
constexpr std::string_view kByOthers = "L, F: [A] table 4; zero exponent: [C], not read in [B]";

constexpr std::array<TensorCore, 6> kTensorCores = {{
    {"volta", 4, 23, -131, false, "mma.m8n8k4", kRead},
    {"turing", 8, 24, -132, false, "mma.sync", kByOthers},
    {"ampere", 8, 24, -132, true, "mma.sync; m16n8k16 is two steps", kRead},
    {"ada", 8, 24, -132, true, "mma.sync", kByOthers},
    {"hopper", 16, 25, -133, true, "mma.sync, wgmma", kRead},
    {"blackwell", 16, 25, -133, true, "mma.sync, tcgen05.mma", kRead},
}};

}  // namespace

std::span<const TensorCore> tensor_cores() { return kTensorCores; }

Result<Accumulation> parse_accumulation(std::string_view name) {
  if (name == "exact") return Accumulation{Accumulation::Kind::kExact, nullptr};
  if (name == "f32_sequential") return Accumulation{};
  std::string known = "exact, f32_sequential";
  for (const TensorCore& unit : kTensorCores) {
    if (name == unit.name) return Accumulation{Accumulation::Kind::kTensorCore, &unit};
    known += ", " + std::string(unit.name);
  }
  return Error{"accumulation", std::string(name), "ACC-1: the accumulations are " + known};
}

std::string_view name_of(const Accumulation& accumulation) {
  switch (accumulation.kind) {
    case Accumulation::Kind::kExact:
      return "exact";
    case Accumulation::Kind::kSequential:
      return "f32_sequential";
    case Accumulation::Kind::kTensorCore:
      return accumulation.unit->name;
  }
  return "exact";
}

}  // namespace moe4
