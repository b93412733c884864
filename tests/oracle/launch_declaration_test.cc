// The launch of a PTX file: expressions, their errors by position, and every field of the object.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "oracle/subject/declaration.h"
#include "oracle/subject/expression.h"
#include "oracle/subject/launch_declaration.h"

namespace moe4::oracle {
namespace {

const std::vector<std::string> kLetters = {"T", "O", "K"};
const Letters kValues = {{"T", 5}, {"O", 96}, {"K", 0}};

std::int64_t value_of(const std::string& text) {
  const Result<Expression> expression = Expression::parse(text, kLetters);
  EXPECT_TRUE(expression.ok()) << text << ": " << expression.error().message();
  if (!expression.ok()) return -999;
  const Result<std::int64_t> value = expression->whole(kValues);
  EXPECT_TRUE(value.ok()) << text << ": " << value.error().message();
  return value.ok() ? *value : -999;
}

std::string parse_error(const std::string& text) {
  const Result<Expression> expression = Expression::parse(text, kLetters);
  return expression.ok() ? "no error" : expression.error().rule;
}

std::string value_error(const std::string& text) {
  const Result<Expression> expression = Expression::parse(text, kLetters);
  EXPECT_TRUE(expression.ok()) << text;
  const Result<std::int64_t> value = expression->whole(kValues);
  return value.ok() ? "no error" : value.error().rule;
}

TEST(Expression, Values) {
  EXPECT_EQ(value_of("7"), 7);
  EXPECT_EQ(value_of(" ceil( T / 4 ) * ceil(O/32) "), 6);
  EXPECT_EQ(value_of("floor(T/4)"), 1);
  EXPECT_EQ(value_of("T - 2 - 1"), 2);
  EXPECT_EQ(value_of("2 + 3 * T"), 17);
  EXPECT_EQ(value_of("(2 + 3) * T"), 25);
  EXPECT_EQ(value_of("O / 32 / 3"), 1);
  EXPECT_EQ(value_of("T/4*4"), 5);  // exact ratios: nothing is cut on the way
  EXPECT_EQ(value_of("T % 4"), 1);
  EXPECT_EQ(value_of("-T % 4"), 3);
  EXPECT_EQ(value_of("ceil(-T/4)"), -1);
  EXPECT_EQ(value_of("floor(-T/4)"), -2);
  EXPECT_EQ(value_of("min(O, T, 9)"), 5);
  EXPECT_EQ(value_of("max(1, ceil(K/16))"), 1);
  EXPECT_EQ(value_of("9223372036854775807"), std::int64_t{0x7fffffffffffffff});
  EXPECT_EQ(value_of("2147483648*4294967295/4294967295"), std::int64_t{1} << 31);
}

TEST(Expression, RatiosAreNumbers) {
  const Result<Expression> expression = Expression::parse("1/8", kLetters);
  ASSERT_TRUE(expression.ok());
  EXPECT_EQ(*expression->number({}), 0.125);
  EXPECT_EQ(expression->whole({}).error().rule, "a whole number, but this is 1/8 (ceil and floor round)");
}

TEST(Expression, ErrorsNameThePosition) {
  EXPECT_EQ(parse_error(""), "position 1: a number, a letter or '(' is expected");
  EXPECT_EQ(parse_error("T +"), "position 4: a number, a letter or '(' is expected");
  EXPECT_EQ(parse_error("ceil(T/4"), "position 9: ')' is expected");
  EXPECT_EQ(parse_error("T 4"), "position 3: an operator is expected");
  EXPECT_EQ(parse_error("2*Q"), "position 3: 'Q' is no letter of the case; there are T, O, K");
  EXPECT_EQ(parse_error("1+sqrt(T)"), "position 3: 'sqrt' is no function; there are ceil, floor, min, max");
  EXPECT_EQ(parse_error("max(T)"), "position 1: 'max' takes two arguments or more");
  EXPECT_EQ(parse_error("ceil(T, 2)"), "position 7: ')' is expected");
  EXPECT_EQ(parse_error("9223372036854775808"), "position 1: numbers are below 2^63");
  EXPECT_EQ(parse_error(std::string(200, '(')), "position 51: brackets are nested 50 deep at most");
  EXPECT_EQ(parse_error(std::string(1001, '1')), "at most 1000 characters");
  EXPECT_EQ(value_error("1 + T/K"), "position 6: division by zero");
  EXPECT_EQ(value_error("T % K"), "position 3: division by zero");
  EXPECT_EQ(value_error("T/2 % 3"), "position 5: '%' takes whole numbers");
  EXPECT_EQ(value_error("4294967296*4294967296"), "position 11: a number leaves 64 bits");
  EXPECT_EQ(Expression::parse("T", kLetters)->whole({}).error().rule, "position 1: the case has no T");
}

constexpr const char* kFull = R"json({
  "entry": "k", "grid": ["ceil(T/16)", "ceil(O/64)"], "block": 128, "cluster": [2, 1, 1],
  "dynamic_shared": "4*I", "coresident_blocks": 132, "output_fill": "zero",
  "workspaces": {"locks": {"bytes": "4*T", "fill": "zero"}, "partials": {"bytes": 64}},
  "arguments": [{"tensor": "latent_tokens"}, {"workspace": "locks"}, {"scalar": "T*K", "type": "s32"},
    {"scalar": "1/2", "type": "f32"}, {"tensor": "output"},
    {"tensor_map": {"tensor": "latent_tokens", "element_bytes": 2, "dims": ["I", "T"], "strides": ["2*I"],
      "box": [64, 16], "swizzle": "128", "fill": "zero"}}]
})json";

nlohmann::ordered_json full() { return nlohmann::ordered_json::parse(kFull); }

TEST(LaunchDeclaration, EveryFieldIsReadAndWrittenAgain) {
  const Result<LaunchDeclaration> launch = parse_launch(full());
  ASSERT_TRUE(launch.ok()) << launch.error().message();
  EXPECT_EQ(launch->grid[1].text(), "ceil(O/64)");
  EXPECT_EQ(launch->grid[2].text(), "1");
  EXPECT_EQ(launch->block[0].text(), "128");
  EXPECT_EQ(launch->coresident_blocks, 132);
  EXPECT_TRUE(launch->output_zeroed);
  ASSERT_EQ(launch->workspaces.size(), 2u);
  EXPECT_TRUE(launch->workspaces[0].zeroed);
  EXPECT_FALSE(launch->workspaces[1].zeroed);
  ASSERT_EQ(launch->arguments.size(), 6u);
  EXPECT_EQ(std::get<ScalarArgument>(launch->arguments[3]).type, ScalarType::kF32);
  const auto& map = std::get<TensorMapArgument>(launch->arguments[5]);
  EXPECT_EQ(map.swizzle, MapSwizzle::k128B);
  EXPECT_EQ(map.strides.size(), 1u);
  const Result<LaunchDeclaration> again = parse_launch(launch_to_json(*launch));
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(*again == *launch);
}

TEST(LaunchDeclaration, IsAFieldOfADeclaration) {
  const std::string text =
      R"({"schema": 1, "name": "k", "op": "expert_linear", "weights": "mxfp4", "dtypes": ["bf16"], "launch": )" +
      std::string(kFull) + "}";
  const Result<Declaration> declaration = parse_declaration(text);
  ASSERT_TRUE(declaration.ok()) << declaration.error().message();
  ASSERT_TRUE(declaration->launch);
  const Result<Declaration> again = parse_declaration(to_json(*declaration));
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(*again->launch == *declaration->launch);
}

// Sets the value at a JSON pointer and returns the error's message.
std::string refused(const std::string& pointer, const std::string& value) {
  nlohmann::ordered_json json = full();
  json[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json::parse(value);
  const Result<LaunchDeclaration> launch = parse_launch(json);
  return launch.ok() ? "no error" : launch.error().message();
}

TEST(LaunchDeclaration, ErrorsNameFieldValueAndRule) {
  struct Wrong {
    const char *pointer, *value, *message;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"/grids", "1", "declaration.launch.grids: value 1: unknown field; the nearest known one is grid"},
           {"/entry", "\"\"", "declaration.launch.entry: value \"\": a string that is not empty"},
           {"/grid", "[]", "declaration.launch.grid: value []: a list of 1 to 3 expressions"},
           {"/grid/1", "\"O/\"",
            "declaration.launch.grid[1]: value \"O/\": position 3: a number, a letter or '(' is expected"},
           {"/block", "1.5", "declaration.launch.block: value 1.5: an integer or an expression as a string"},
           {"/cluster", "[1,1,1,1]",
            "declaration.launch.cluster: value [1,1,1,1]: a list of 1 to 3 expressions"},
           {"/dynamic_shared", "\"Z\"", "declaration.launch.dynamic_shared: value \"Z\": position 1"},
           {"/coresident_blocks", "0",
            "declaration.launch.coresident_blocks: value 0: an integer in 1..1048576"},
           {"/output_fill", "\"ones\"", "declaration.launch.output_fill: value \"ones\": one of none, zero"},
           {"/workspaces", "[]", "declaration.launch.workspaces: value []: an object"},
           {"/workspaces/locks", "{}", "declaration.launch.workspaces.locks.bytes: required, but missing"},
           {"/arguments", "{}", "declaration.launch.arguments: value {}: a list"},
           {"/arguments/0", "{\"pointer\": 1}",
            "declaration.launch.arguments[0]: value {\"pointer\":1}: an object with one of"},
           {"/arguments/0/tensor", "\"tokens\"", "the name of a tensor; the nearest known one is"},
           {"/arguments/0/offset", "1", "declaration.launch.arguments[0].offset: value 1: unknown field"},
           {"/arguments/1/workspace", "\"lock\"", "the nearest known one is locks"},
           {"/arguments/2/type", "\"int\"",
            "declaration.launch.arguments[2].type: value \"int\": one of u8, u16"},
           {"/arguments/5/tensor_map/element_bytes", "3", "value 3: 1, 2, 4 or 8"},
           {"/arguments/5/tensor_map/strides", "[]",
            "tensor_map.strides: value []: a list of 1 to 1 expressions"},
           {"/arguments/5/tensor_map/box", "[1]", "tensor_map.box: value [1]: a list of 2 to 2 expressions"},
           {"/arguments/5/tensor_map/swizzle", "\"16\"", "one of none, 32, 64, 128"},
           {"/arguments/5/tensor_map/dims", "[1,1,1,1,1,1]", "a list of 1 to 5 expressions"},
           {"/arguments/4/tensor", "\"shared_output\"",
            "declaration.launch.arguments: value no output: one argument names the tensor output"},
       }) {
    const std::string message = refused(wrong.pointer, wrong.value);
    EXPECT_NE(message.find(wrong.message), std::string::npos) << wrong.pointer << "\n" << message;
  }
}

TEST(LaunchDeclaration, MissingFieldsAreNamed) {
  for (const char* name : {"entry", "grid", "block", "arguments"}) {
    nlohmann::ordered_json json = full();
    json.erase(name);
    const Result<LaunchDeclaration> launch = parse_launch(json);
    ASSERT_FALSE(launch.ok());
    EXPECT_EQ(launch.error().field, "declaration.launch." + std::string(name));
  }
}

}  // namespace
}  // namespace moe4::oracle
