// Bent shards, indices and configs: each is weights or an error with a rule, whatever the bytes.
#include <random>

#include "tests/oracle/checkpoint_support.h"

namespace moe4::oracle {
namespace {

std::string bent(std::string bytes, std::size_t from, std::mt19937_64& random) {
  static const std::vector<std::string> kTokens = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"",
                                                   "0",
                                                   "-1",
                                                   "9223372036854775807",
                                                   "18446744073709551615",
                                                   "null",
                                                   "U8",
                                                   "I32",
                                                   "F8_E8M0",
                                                   "BF16",
                                                   ".",
                                                   "experts.",
                                                   "\"weight_map\":",
                                                   "\xc3\x28"};
  const auto below = [&random](std::size_t n) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1));
  };
  for (std::size_t n = 1 + below(3); n-- > 0;) {
    const std::size_t at = std::min(from + below(bytes.size() - std::min(from, bytes.size())), bytes.size());
    switch (below(4)) {
      case 0:
        bytes.insert(at, kTokens[below(kTokens.size())]);
        break;
      case 1:
        bytes.erase(at, 1 + below(6));
        break;
      case 2:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      default: {  // a digit becomes another
        const std::size_t digit = bytes.find_first_of("0123456789", at);
        if (digit != std::string::npos) bytes[digit] = static_cast<char>('0' + below(10));
      }
    }
  }
  return bytes;
}

// The header of a shard, its length corrected, so that the bending is seen by more than the first check.
std::string bent_shard(const std::string& bytes, std::mt19937_64& random) {
  std::size_t length = 0;
  for (std::size_t n = 8; n-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[n]);
  return with_length(bent(bytes.substr(8, length), 0, random), bytes.substr(8 + length));
}

TEST_F(FileTest, LoaderAnswersEveryCheckpoint) {
  std::mt19937_64 random(20240611);
  int accepted = 0, refused = 0;
  for (const Model model : {Model::kK2, Model::kK3, Model::kGptOss}) {
    ModelOptions m;
    m.model = model;
    m.layers = {1};
    m.experts = 2;
    m.hidden = m.intermediate = 32;
    write_shards(path(""), model_tensors(m), 2);
    write_bytes(path("config.json"), R"({"quantization_config":{"quant_method":"mxfp4"}})");
    if (model == Model::kK2) {
      write_bytes(
          path("config.json"),
          R"({"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"a":{"weights":{"num_bits":4,"group_size":32,"actorder":null}}}}})");
    }
    for (const std::string& name :
         {shard_name(0, 2), shard_name(1, 2), std::string("model.safetensors.index.json"),
          std::string("config.json")}) {
      const std::string whole = bytes_of(path(name));
      for (int n = 0; n < 50; ++n) {
        const bool shard = name.find("-of-") != std::string::npos;
        write_bytes(path(name), shard ? bent_shard(whole, random) : bent(whole, 0, random));
        const Result<LoadedWeights> loaded = load(path(""), {1, Projection::kGateUp, {}});
        loaded ? ++accepted : ++refused;
        if (!loaded) {
          const std::string& rule = loaded.error().rule;
          ASSERT_TRUE(rule.starts_with("CKP-") || rule.starts_with("FILE-") || rule.starts_with("RTE-31"))
              << loaded.error().message();
        }
      }
      write_bytes(path(name), whole);
    }
    ASSERT_TRUE(load(path(""), {1, Projection::kGateUp, {}}));
  }
  EXPECT_GT(accepted, 20) << "bending what is not needed harms nothing";
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace moe4::oracle
