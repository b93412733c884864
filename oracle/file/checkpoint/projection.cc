#include "oracle/file/checkpoint/projection.h"

#include <array>
#include <string>
#include <utility>

namespace moe4::oracle {
namespace {

constexpr std::array<std::pair<std::string_view, Projection>, 8> kWords = {{{"gate", Projection::kGate},
                                                                            {"up", Projection::kUp},
                                                                            {"down", Projection::kDown},
                                                                            {"gate_up", Projection::kGateUp},
                                                                            {"w1", Projection::kGate},
                                                                            {"w3", Projection::kUp},
                                                                            {"w2", Projection::kDown},
                                                                            {"w13", Projection::kGateUp}}};

}  // namespace

std::string_view name_of(Projection projection) {
  for (const auto& [word, value] : kWords) {
    if (value == projection) return word;
  }
  return "?";
}

Result<Projection> projection_named(std::string_view word) {
  for (const auto& [known, value] : kWords) {
    if (known == word) return value;
  }
  return Error{"projection", std::string(word), "CKP-7: one of gate up down gate_up w1 w3 w2 w13"};
}

}  // namespace moe4::oracle
