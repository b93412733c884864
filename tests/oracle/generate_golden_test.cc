// The numbers themselves: the same on every platform and for every number of threads. A change here changes
// the data of every recorded case line, so it needs a reason.
#include <omp.h>

#include <map>

#include "tests/oracle/case_support.h"

namespace moe4::oracle {
namespace {

// FNV-1a over the bytes of all tensors.
std::uint64_t digest(const CaseData& data) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const Tensor* tensor : {&data.latent_tokens, &data.packed_weights, &data.scale_bytes,
                               &data.selected_experts, &data.mixture_weights, &data.shared_output}) {
    for (std::size_t n = 0; n < tensor->bytes(); ++n) {
      hash = (hash ^ std::to_integer<std::uint64_t>(tensor->data()[n])) * 0x100000001B3u;
    }
  }
  return hash;
}

Case small(Fill fill, Routing routing) {
  Case c = case_of("tokens=9 experts=10 top_k=2 in=160 out=5 seed=0x2a");
  c.fill = fill;
  c.routing = routing;
  return c;
}

TEST(Golden, Fills) {
  const std::map<Fill, std::uint64_t> due = {
      {Fill::kExact8, 0x95AF707A825F0A81u},     {Fill::kExact24, 0x15898C9188D7E05Cu},
      {Fill::kBits, 0x857F8FB324195887u},       {Fill::kReal, 0x849B3F0FA2411E6Bu},
      {Fill::kOnehot, 0xA6DFC47D8D276F0Bu},     {Fill::kPositive, 0x5F04D2152D0223B3u},
      {Fill::kNonfinite, 0xD503D265AF1F0A7Fu},  {Fill::kCancel, 0x99539844E3A70B2Fu},
      {Fill::kSlabCancel, 0x9D89EB73E7F0DFB1u}, {Fill::kTies, 0x28D71161E06A63EDu},
      {Fill::kSubnormal, 0xAD090E0CAD3D9A0Fu},  {Fill::kTallPairs, 0xB24970E4ABA2B2BBu},
  };
  for (Fill fill : all_fills()) {
    EXPECT_EQ(digest(data_of(small(fill, Routing::kUniform))), due.at(fill)) << name_of(fill);
  }
}

TEST(Golden, Routings) {
  const std::map<Routing, std::uint64_t> due = {
      {Routing::kUniform, 0x857F8FB324195887u},   {Routing::kHot, 0xEE42DE77B93F6B6Au},
      {Routing::kOne, 0x6BAD6E7F0118560Cu},       {Routing::kEmpty, 0x83DE1216D358D6FBu},
      {Routing::kDuplicate, 0xAA77C44A5ECEAF3Du}, {Routing::kBoundary, 0x13A290DE44C110F7u},
      {Routing::kPoison, 0x156A230A50ACC217u},
  };
  for (const auto& [routing, hash] : due) {
    EXPECT_EQ(digest(data_of(small(Fill::kBits, routing))), hash) << name_of(routing);
  }
}

TEST(Golden, ThreadsDoNotMatter) {
  const int before = omp_get_max_threads();
  for (Fill fill : all_fills()) {
    Case c = case_of("tokens=70 experts=10 top_k=3 in=608 out=64 seed=0x2a");
    c.fill = fill;
    omp_set_num_threads(1);
    const std::uint64_t alone = digest(data_of(c));
    omp_set_num_threads(5);
    EXPECT_EQ(digest(data_of(c)), alone) << name_of(fill);
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace moe4::oracle
