// Every kind of checkpoint, every projection, shards in awkward places: the codes and scales that come out
// are those that the model means.
#include <fmt/format.h>

#include "oracle/case/index_list.h"
#include "reference/linear/expert_weights.h"
#include "tests/oracle/checkpoint_support.h"

namespace moe4::oracle {
namespace {

// The rows of a projection as (projection, row of it).
std::vector<std::pair<char, std::int64_t>> rows_of(const ModelOptions& m, Projection projection) {
  std::vector<std::pair<char, std::int64_t>> rows;
  const auto add = [&rows](char p, std::int64_t count) {
    for (std::int64_t o = 0; o < count; ++o) rows.emplace_back(p, o);
  };
  if (projection == Projection::kGate || projection == Projection::kGateUp) add('g', m.intermediate);
  if (projection == Projection::kUp || projection == Projection::kGateUp) add('u', m.intermediate);
  if (projection == Projection::kDown) add('d', m.hidden);
  return rows;
}

// The first difference from what the model means; empty: none.
std::string difference(const ModelOptions& m, const CheckpointRequest& request, const LoadedWeights& loaded) {
  const auto rows = rows_of(m, request.projection);
  const std::int64_t in = request.projection == Projection::kDown ? m.intermediate : m.hidden;
  const std::vector<std::int64_t>& experts = loaded.checkpoint.experts();
  const WeightExtent due{static_cast<std::int64_t>(experts.size()), static_cast<std::int64_t>(rows.size()),
                         in};
  if (loaded.checkpoint.extent() != due) return "extent";
  const WeightReader reader(loaded.weights(), Policy{});
  const Elements<3> scales(loaded.scales.view());
  for (std::int64_t n = 0; n < due.experts; ++n) {
    const std::int64_t e = experts[static_cast<std::size_t>(n)];
    for (std::int64_t o = 0; o < due.out; ++o) {
      const auto [p, row] = rows[static_cast<std::size_t>(o)];
      for (std::int64_t g = 0; g < in / 32; ++g) {
        const std::string at = fmt::format("expert {} row {} group {}", n, o, g);
        if (scales.bits({n, o, g}) != scale_of(m, request.layer, e, p, row, g)) return "scale of " + at;
        const WeightGroup group = reader.group(n, o, g);
        for (std::int64_t k = 0; k < 32; ++k) {
          if (group.code[static_cast<std::size_t>(k)] != code_of(request.layer, e, p, row, 32 * g + k))
            return "code of " + at;
        }
      }
    }
  }
  return "";
}

struct Kind {
  const char* name;
  ModelOptions model;
  WeightFormat format;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

std::vector<Kind> kinds() {
  ModelOptions k2, k2_wide, k3, k3_e8m0, oss, original;
  k2.model = k2_wide.model = Model::kK2;
  k2.prefix = "";
  k2_wide.shape_dtype = "I64";
  k3_e8m0.prefix = "";
  k3_e8m0.scale_dtype = "F8_E8M0";
  oss.model = Model::kGptOss;
  oss.prefix = "";
  original.model = Model::kGptOssOriginal;
  original.layers = {0, 3};
  original.scale_dtype = "F8_E8M0";
  return {{"K2", k2, WeightFormat::kInt4},       {"K2I64Prefixed", k2_wide, WeightFormat::kInt4},
          {"K3", k3, WeightFormat::kMxfp4},      {"K3E8M0", k3_e8m0, WeightFormat::kMxfp4},
          {"GptOss", oss, WeightFormat::kMxfp4}, {"GptOssOriginal", original, WeightFormat::kMxfp4}};
}

class CheckpointRead : public FileTest, public testing::WithParamInterface<Kind> {
 protected:
  void expect_all(const std::filesystem::path& folder) const {
    const ModelOptions& m = GetParam().model;
    for (const std::int64_t layer : m.layers) {
      for (const Projection p :
           {Projection::kGate, Projection::kUp, Projection::kDown, Projection::kGateUp}) {
        for (const std::vector<std::int64_t>& experts :
             std::vector<std::vector<std::int64_t>>{{}, {0}, {1, 4}}) {
          const CheckpointRequest request{layer, p, experts};
          const Result<LoadedWeights> loaded = load(folder, request);
          ASSERT_TRUE(loaded) << loaded.error().message();
          EXPECT_EQ(loaded->checkpoint.format(), GetParam().format);
          EXPECT_EQ(difference(m, request, *loaded), "")
              << loaded->checkpoint.choice() << " " << to_string_index_list(experts);
        }
      }
    }
  }
};

TEST_P(CheckpointRead, FromOneFile) {
  write_single(path(""), model_tensors(GetParam().model));
  expect_all(path(""));
}

TEST_P(CheckpointRead, FromShards) {
  const RawTensors tensors = model_tensors(GetParam().model);
  write_shards(path(""), tensors, 4);
  expect_all(path(""));
}

TEST_P(CheckpointRead, ThroughLinksAsInADownloadCache) {
  const auto blobs = path("blobs"), snapshot = path("snapshot");
  std::filesystem::create_directories(blobs);
  std::filesystem::create_directories(snapshot);
  write_shards(blobs, model_tensors(GetParam().model), 2);
  for (const auto& file : std::filesystem::directory_iterator(blobs))
    std::filesystem::create_symlink(file.path(), snapshot / file.path().filename());
  const CheckpointRequest request{GetParam().model.layers.back(), Projection::kDown, {}};
  const Result<LoadedWeights> loaded = load(snapshot, request);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(difference(GetParam().model, request, *loaded), "");
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointRead, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

// The premise of the tests above: packed and scale of one expert in different shards, in any order.
TEST(CheckpointModels, AreSplitInAwkwardPlaces) {
  for (const Kind& kind : kinds()) {
    const ModelOptions& m = kind.model;
    const bool stacked = m.model == Model::kGptOss || m.model == Model::kGptOssOriginal;
    int apart = 0;
    for (const std::int64_t layer : m.layers) {
      for (std::int64_t e = 0; e < (stacked ? 1 : m.experts); ++e) {
        for (const char p : {'g', 'd'}) {
          const std::string module = module_of(m, layer, e, p);
          const std::string codes = module + (stacked ? "blocks" : "weight_packed");
          const std::string scales = module + (stacked ? "scales" : "weight_scale");
          apart += shard_of(codes, 4) != shard_of(scales, 4);
        }
      }
    }
    EXPECT_GE(apart, 1) << kind.name;
  }
}

// The comparison sees a swapped nibble, a row of another projection and a scale of another group.
TEST_F(FileTest, ComparisonOfWeightsSeesFaults) {
  const ModelOptions m;
  write_shards(path(""), model_tensors(m), 3);
  const CheckpointRequest request{2, Projection::kUp, {}};
  Result<LoadedWeights> loaded = load(path(""), request);
  ASSERT_TRUE(loaded);
  ASSERT_EQ(difference(m, request, *loaded), "");
  EXPECT_NE(difference(m, {2, Projection::kGate, {}}, *loaded), "");
  EXPECT_NE(difference(m, {1, Projection::kUp, {}}, *loaded), "");
  const auto codes = loaded->codes.as<std::uint8_t>();
  const auto unequal =
      std::find_if(codes.begin(), codes.end(), [](std::uint8_t b) { return b >> 4 != (b & 15); });
  const std::uint8_t kept = *unequal;
  *unequal = static_cast<std::uint8_t>(kept >> 4 | kept << 4);
  EXPECT_NE(difference(m, request, *loaded), "");
  *unequal = kept;
  ++loaded->scales.as<std::uint8_t>().back();
  EXPECT_NE(difference(m, request, *loaded), "");
}

// Only what is asked for is written.
TEST_F(FileTest, OtherExpertsAreNotTouched) {
  const ModelOptions m;
  write_shards(path(""), model_tensors(m), 3);
  Result<Checkpoint> checkpoint = Checkpoint::open(path(""), {1, Projection::kDown, {}});
  ASSERT_TRUE(checkpoint);
  Tensor codes(Dtype::kU8, {5, 64, 3, 16}), scales(Dtype::kU8, {5, 64, 3});
  for (std::uint8_t& byte : codes.as<std::uint8_t>()) byte = 0xAB;
  for (std::uint8_t& byte : scales.as<std::uint8_t>()) byte = 0xCD;
  const std::vector<std::int64_t> which = {1, 3};
  ASSERT_FALSE(checkpoint->read(which, codes, scales));
  EXPECT_EQ(checkpoint->bytes_read(), 2u * 64 * 3 * 17);
  for (const std::int64_t e : {0, 2, 4}) {
    for (const std::uint8_t byte :
         codes.as<std::uint8_t>().subspan(static_cast<std::size_t>(e * 64 * 48), 64 * 48))
      ASSERT_EQ(byte, 0xAB);
    for (const std::uint8_t byte :
         scales.as<std::uint8_t>().subspan(static_cast<std::size_t>(e * 64 * 3), 64 * 3))
      ASSERT_EQ(byte, 0xCD);
  }
  EXPECT_EQ(scales.as<std::uint8_t>()[64 * 3], scale_of(m, 1, 1, 'd', 0, 0));
}

}  // namespace
}  // namespace moe4::oracle
