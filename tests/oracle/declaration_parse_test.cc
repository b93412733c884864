// The declaration's schema: strict, complete, and its own inverse.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "oracle/case/nearest.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {
namespace {

using nlohmann::json;

json smallest() {
  return {{"schema", 1}, {"name", "k"}, {"op", "expert_linear"}, {"weights", "mxfp4"}, {"dtypes", {"bf16"}}};
}

json full() {
  json j = smallest();
  j["name"] = "vendor/k-1.2_b";
  j["dtypes"] = {"bf16", "f32"};
  j["mixture_dtypes"] = {"f16", "f64"};
  j["shared_dtypes"] = {"f32"};
  j["ids_dtypes"] = {"i64"};
  j["in_multiple"] = 64;
  j["in_max"] = 4096;
  j["out_multiple"] = 8;
  j["out_max"] = 512;
  j["tokens_max"] = 100;
  j["experts_max"] = 32;
  j["top_k_max"] = 4;
  j["op"] = {"indexed", "grouped_masked"};
  j["weights"] = {"int4", "mxfp4"};
  j["layouts"] = {"indexed_mma", "row_major"};
  j["block_m"] = {16, 64};
  j["max_m_multiple"] = 64;
  j["capacity_max"] = 4096;
  j["accumulation"] = "hopper";
  j["weight"] = "bf16";
  j["dequant"] = "fma";
  j["policy"] = "scale_nan=formula skip_zero_p=yes";
  j["profile"] = "once";
  j["order"] = "lanes(32,8)+shfl";
  j["products"] = "rounded";
  j["ftz"] = true;
  j["bits"] = "any";
  j["zero"] = "strict";
  j["nonfinite"] = "unspecified";
  j["deterministic"] = false;
  j["invariant"] = true;
  j["launch"] = json::parse(R"json({"entry": "e", "grid": ["ceil(T/4)", 1, 1], "block": [32, 1, 1],
    "cluster": [1, 1, 1], "dynamic_shared": 0, "output_fill": "none", "workspaces": {},
    "arguments": [{"tensor": "output"}]})json");
  return j;
}

Error error_of(const json& j) {
  const Result<Declaration> result = parse_declaration(j.dump());
  EXPECT_FALSE(result.ok()) << j;
  return result.ok() ? Error{} : result.error();
}

TEST(Declaration, DefaultsOfTheSmallest) {
  const Result<Declaration> d = parse_declaration(smallest().dump());
  ASSERT_TRUE(d.ok()) << d.error().message();
  EXPECT_EQ(d->mixture_dtypes, std::vector{Dtype::kF32});
  EXPECT_TRUE(d->shared_dtypes.empty());
  EXPECT_EQ(d->ids_dtypes, std::vector{Dtype::kI32});
  EXPECT_EQ(d->in_multiple, 32);
  EXPECT_EQ(d->in_max, std::int64_t{1} << 40);
  EXPECT_EQ(d->profile, "");
  EXPECT_EQ(d->ops, std::vector{Op::kExpertLinear});
  EXPECT_TRUE(d->layouts.empty());
  EXPECT_TRUE(d->block_m.empty());
  EXPECT_EQ(d->arithmetic.order.kind, Order::Kind::kAny);
  EXPECT_FALSE(d->arithmetic.product_rounded);
  EXPECT_FALSE(d->arithmetic.ftz);
  EXPECT_EQ(d->zero, ZeroCompare::kAny);
  EXPECT_TRUE(d->nonfinite_ieee);
  EXPECT_TRUE(d->deterministic);
  EXPECT_FALSE(d->invariant);
  EXPECT_FALSE(d->any_policy);
  EXPECT_EQ(d->policy, Policy{});
}

// VER-17: refused where the declaration leaves the bits open.
TEST(Declaration, DeclaredBits) {
  json given = full();
  given["op"] = "expert_linear";
  given["deterministic"] = true;
  given["bits"] = "declared";
  const Result<Declaration> d = parse_declaration(given.dump());
  ASSERT_TRUE(d.ok()) << d.error().message();
  EXPECT_TRUE(d->bits_declared);
  EXPECT_EQ(json::parse(to_json(*d))["bits"], "declared");
  EXPECT_FALSE(parse_declaration(smallest().dump())->bits_declared);

  const auto refused = [&](const char* field, const json& value) {
    json other = given;
    if (value.is_null()) {
      other.erase(field);
    } else {
      other[field] = value;
    }
    const Error error = error_of(other);
    EXPECT_EQ(error.field, "declaration.bits") << field;
    EXPECT_TRUE(error.rule.starts_with("VER-17: ")) << error.rule;
  };
  refused("profile", nullptr);
  refused("order", "any");
  refused("order", nullptr);
  refused("accumulation", "any");
  refused("deterministic", false);
  EXPECT_EQ(error_of([&] {
              json other = given;
              other["bits"] = "some";
              return other;
            }())
                .rule,
            "one of any, declared");
  // PRO-11: combine has no products over i, so no order either.
  json combine = smallest();
  combine["op"] = "combine";
  combine["profile"] = "late";
  combine["bits"] = "declared";
  EXPECT_TRUE(parse_declaration(combine.dump()).ok());
}

TEST(Declaration, AnyAccumulation) {
  json given = full();
  given["accumulation"] = "any";
  const Result<Declaration> d = parse_declaration(given.dump());
  ASSERT_TRUE(d.ok()) << d.error().message();
  EXPECT_TRUE(d->any_accumulation);
  EXPECT_EQ(json::parse(to_json(*d)), given);
}

TEST(Declaration, EveryFieldIsReadAndWritten) {
  const json given = full();
  const Result<Declaration> d = parse_declaration(given.dump());
  ASSERT_TRUE(d.ok()) << d.error().message();
  EXPECT_EQ(json::parse(to_json(*d)), given);
  EXPECT_EQ(given.size(), declaration_fields().size()) << "this test misses a field";
}

TEST(Declaration, EachFieldRefusesAnotherType) {
  const json all = full();
  for (const auto& [key, value] : all.items()) {
    for (const json& wrong :
         {json(nullptr), json(json::object()), json(-7), json("no such word"), json(0.5)}) {
      if (key == "name" && wrong.is_string()) continue;
      if (key == "launch" && wrong.is_object()) continue;  // its own fields are missing then
      json j = full();
      j[key] = wrong;
      EXPECT_EQ(error_of(j).field, "declaration." + key) << j[key];
    }
  }
}

TEST(Declaration, UnknownFieldNamesTheNearest) {
  json j = smallest();
  j["profil"] = "once";
  const Error error = error_of(j);
  EXPECT_EQ(error.field, "declaration.profil");
  EXPECT_NE(error.rule.find("the nearest known one is profile"), std::string::npos) << error.rule;
}

TEST(Declaration, MissingRequiredField) {
  for (const char* key : {"schema", "name", "op", "weights", "dtypes"}) {
    json j = smallest();
    j.erase(key);
    EXPECT_EQ(error_of(j).field, std::string("declaration.") + key);
  }
}

TEST(Declaration, TwiceTheSameField) {
  std::string text = smallest().dump();
  text.insert(1, "\"zero\": \"any\", \"zero\": \"strict\", ");
  const Result<Declaration> d = parse_declaration(text);
  ASSERT_FALSE(d.ok());
  EXPECT_EQ(d.error().field, "declaration.zero");
}

TEST(Declaration, NotAnObject) {
  for (const char* text : {"", "[]", "{", "{\"schema\": 1,}", "nul", "\xff"}) {
    EXPECT_FALSE(parse_declaration(text).ok()) << text;
  }
}

TEST(Declaration, ValuesOutsideTheirRange) {
  const auto refused = [](const char* key, const json& value) {
    json j = smallest();
    j[key] = value;
    return error_of(j).field == std::string("declaration.") + key;
  };
  EXPECT_TRUE(refused("schema", 2));
  EXPECT_TRUE(refused("in_multiple", 48));
  EXPECT_TRUE(refused("out_max", 0));
  EXPECT_TRUE(refused("out_max", (std::int64_t{1} << 40) + 1));
  EXPECT_TRUE(refused("dtypes", json::array()));
  EXPECT_TRUE(refused("dtypes", {"bf16", "bf16"}));
  EXPECT_TRUE(refused("dtypes", {"i32"}));
  EXPECT_TRUE(refused("ids_dtypes", {"f32"}));
  EXPECT_TRUE(refused("name", "two words"));
  EXPECT_TRUE(refused("order", "lanes(0,8)+shfl"));
  EXPECT_TRUE(refused("policy", "scale_nan=maybe"));
}

TEST(Nearest, FewestEdits) {
  const std::vector<std::string> known = {"gate", "gen", "check"};
  EXPECT_EQ(nearest_name("gat", known), "gate");
  EXPECT_EQ(nearest_name("chekc", known), "check");
  EXPECT_EQ(nearest_name("GEN", known), "gen");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace moe4::oracle
