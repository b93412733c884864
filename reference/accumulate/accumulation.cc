#include "reference/accumulate/accumulation.h"

#include <array>
#include <string>

namespace moe4 {
namespace {

constexpr std::string_view kMeasured = "MMA-Sim's tables (arXiv 2511.10909), from tests on silicon";
constexpr std::string_view kPattern =
    "L and F: MMA-Sim's tables (arXiv 2511.10909); zero exponent: by the pattern of the neighbours, not read";

constexpr std::array<TensorCore, 6> kTensorCores = {{
    {"volta", 4, 23, -131, "mma (F16)", kMeasured},
    {"turing", 8, 24, -132, "mma.sync", kPattern},
    {"ampere", 8, 24, -132, "mma.sync; m16n8k16 is two steps", kMeasured},
    {"ada", 8, 24, -132, "mma.sync", kPattern},
    {"hopper", 16, 25, -133, "mma.sync, wgmma", kMeasured},
    {"blackwell", 16, 25, -133, "mma.sync, tcgen05.mma", kMeasured},
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
