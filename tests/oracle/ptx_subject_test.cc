// A PTX file as a subject: the worked example of docs/ptx_subject.md, and declarations that do not fit.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gpu/launch/variant.h"
#include "oracle/gate/evaluate.h"
#include "oracle/generate/generate.h"
#include "oracle/subject/gpu/mutation_run.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExample = MOE4_SOURCE_DIR "/docs/examples/tile_as_foreign.json";

std::string file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// One thread an element copies shared_output to output, which is right for cases without experts (top_k=0).
std::string copy_kernel(const std::string& body = "st.global.u16 [%rd5], %h1;") {
  return R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)
{
.reg .pred %p<2>;
.reg .b16 %h<2>;
.reg .b32 %r<6>;
.reg .b64 %rd<6>;
ld.param.u64 %rd1, [from];
ld.param.u64 %rd2, [to];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p1, %r5, %r1;
@%p1 bra DONE;
mul.wide.u32 %rd3, %r5, 2;
add.s64 %rd4, %rd1, %rd3;
ld.global.u16 %h1, [%rd4];
add.s64 %rd5, %rd2, %rd3;
)" + body +
         "\nDONE:\nret;\n}\n";
}

Json copy_declaration() {
  return Json::parse(R"json({"schema": 1, "name": "copy", "op": "expert_linear", "weights": "mxfp4",
    "dtypes": ["bf16"], "profile": "once", "order": "seq", "launch": {"entry": "copy",
    "grid": "ceil(T*O/32)", "block": 32, "arguments": [{"tensor": "shared_output"}, {"tensor": "output"},
    {"scalar": "T*O", "type": "u32"}]
}
})json");
}

Case line(const std::string& shape) {
  return *parse_case("op=expert_linear weights=mxfp4 experts=1 top_k=0 in=32 dtype=bf16 fill=exact8 " +
                     shape);
}

Result<std::unique_ptr<Subject>> open(const std::string& ptx, const Json& json) {
  Result<Declaration> declaration = parse_declaration(json.dump());
  if (!declaration.ok()) return declaration.error();
  static std::vector<std::unique_ptr<std::string>> texts;  // outlive the subjects
  texts.push_back(std::make_unique<std::string>(ptx));
  return make_ptx_subject(*texts.back(), "copy.ptx", *declaration, gpu::make_executor_device());
}

CaseResult judged(const std::string& ptx, const Json& json, const std::string& shape = "tokens=3 out=17") {
  Result<std::unique_ptr<Subject>> subject = open(ptx, json);
  EXPECT_TRUE(subject.ok()) << subject.error().message();
  if (!subject.ok()) return {};
  return evaluate(**subject, line(shape));
}

TEST(PtxSubject, RunsAsDeclared) {
  for (const char* shape : {"tokens=3 out=17", "tokens=1 out=32", "tokens=7 out=33", "tokens=0 out=4"}) {
    const CaseResult result = judged(copy_kernel(), copy_declaration(), shape);
    EXPECT_EQ(result.verdict.status, VerdictStatus::kPassed) << result.failure << result.verdict.reason;
  }
}

TEST(PtxSubject, WorkedExampleIsJudgedLikeTheKernelItself) {
  const gpu::Variant* own = nullptr;
  for (const gpu::Variant& variant : gpu::variants()) {
    if (variant.name == "mxfp4_linear_tile_bf16") own = &variant;
  }
  ASSERT_NE(own, nullptr);
  if (own->ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
  Result<Declaration> declaration = parse_declaration(file(kExample));
  ASSERT_TRUE(declaration.ok()) << declaration.error().message();
  Result<std::unique_ptr<Subject>> foreign =
      make_ptx_subject(own->ptx, "tile.ptx", *declaration, gpu::make_executor_device());
  ASSERT_TRUE(foreign.ok()) << foreign.error().message();
  Result<std::unique_ptr<Subject>> registered = make_executor_subject(*own, gpu::make_executor_device());
  for (const char* text : {"tokens=5 experts=4 top_k=2 in=96 out=33 dtype=bf16 fill=exact24",
                           "tokens=4 experts=2 top_k=1 in=160 "
                           "out=8 dtype=bf16 fill=bits",
                           "tokens=1 experts=1 top_k=1 in=32 out=1 dtype=bf16 fill=real"}) {
    const Case c = *parse_case(text);
    const CaseResult result = evaluate(**foreign, c);
    EXPECT_EQ(result.verdict.status, VerdictStatus::kPassed) << result.failure << result.verdict.reason;
    EXPECT_EQ(result.thread_instructions, evaluate(**registered, c).thread_instructions);
  }
}

// VER-17: an instruction whose bits the ISA leaves open is no ground for a promise, whatever it is used for.
TEST(PtxSubject, ApproximateInstructionsPromiseNoBits) {
  Json promise = copy_declaration();
  promise["bits"] = "declared";
  EXPECT_TRUE(open(copy_kernel(), promise).ok());
  const std::string approximate = copy_kernel(
      "{ .reg .f32 %f<3>; mov.f32 %f1, 0f40000000; rcp.approx.f32 %f2, %f1; }\n"
      "st.global.u16 [%rd5], %h1;");
  EXPECT_TRUE(open(approximate, copy_declaration()).ok());
  const auto refused = open(approximate, promise);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "declaration.bits");
  EXPECT_NE(refused.error().rule.find("VER-17: the ISA leaves the bits open of rcp.approx.f32"),
            std::string::npos)
      << refused.error().rule;
}

TEST(PtxSubject, WrongLaunchesAreRed) {
  Json few = copy_declaration();
  few["launch"]["grid"] = "ceil(T*O/32) - 1";
  EXPECT_EQ(judged(copy_kernel(), few).verdict.reason,
            "VER-7: 19 outputs were not written; 19 of 51 outputs are wrong");
  Json many = copy_declaration();
  many["launch"]["arguments"][2]["scalar"] = "T*O + 1";
  const CaseResult outside = judged(copy_kernel(), many);
  ASSERT_FALSE(outside.verdict.findings.empty());
  EXPECT_EQ(outside.verdict.findings[0].check, "out-of-bounds");
  Json none = copy_declaration();
  none["launch"]["grid"] = 0;
  EXPECT_EQ(judged(copy_kernel(), none).verdict.status, VerdictStatus::kFailed);
  Json fraction = copy_declaration();
  fraction["launch"]["grid"] = "T*O/32";
  EXPECT_NE(judged(copy_kernel(), fraction)
                .verdict.reason.find("declaration.launch.grid[0]: value T*O/32: a whole number"),
            std::string::npos)
      << judged(copy_kernel(), fraction).verdict.reason;
  Json range = copy_declaration();
  range["launch"]["arguments"][2] = {{"scalar", "T*O - 60"}, {"type", "u32"}};
  EXPECT_NE(judged(copy_kernel(), range)
                .verdict.reason.find("arguments[2].scalar: value T*O - 60 = -9: 0 to 4294967295"),
            std::string::npos);
  Json threads = copy_declaration();
  threads["launch"]["block"] = {32, 33};
  EXPECT_NE(judged(copy_kernel(), threads).verdict.reason.find("1056 threads: 1 to 1024"), std::string::npos);
  Json resident = copy_declaration();
  resident["launch"]["coresident_blocks"] = 1;
  EXPECT_NE(judged(copy_kernel(), resident).verdict.reason.find("at most coresident_blocks = 1"),
            std::string::npos);
}

TEST(PtxSubject, ClustersAsDeclared) {
  Json cluster = copy_declaration();
  cluster["launch"]["cluster"] = 2;
  // 51 elements are two blocks, 65 are three.
  EXPECT_EQ(judged(copy_kernel(), cluster).verdict.status, VerdictStatus::kPassed);
  EXPECT_NE(judged(copy_kernel(), cluster, "tokens=5 out=13").failure.find("no multiple of the cluster"),
            std::string::npos);
  // Without a cluster there is no block 1.
  const std::string peer =
      copy_kernel("mov.u32 %r1, 1024; mapa.shared::cluster.u32 %r1, %r1, 1;\nst.global.u16 [%rd5], %h1;");
  EXPECT_EQ(judged(peer, cluster).verdict.status, VerdictStatus::kPassed);
  EXPECT_EQ(judged(peer, copy_declaration()).verdict.status, VerdictStatus::kFailed);
  cluster["launch"]["cluster"] = 17;
  EXPECT_NE(judged(copy_kernel(), cluster).failure.find("1 to 16"), std::string::npos);
}

// Each block adds 32 elements of shared_output to a cleared output, through a declared map.
TEST(PtxSubject, ReducesThroughADeclaredMap) {
  const std::string ptx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 from, .param .align 64 .b8 to[128], .param .u32 n)
{
.reg .pred %p<3>;
.reg .b16 %h<2>;
.reg .b32 %r<8>;
.reg .b64 %rd<6>;
.shared .align 128 .b8 tile[64];
ld.param.u64 %rd1, [from];
ld.param.u32 %r1, [n];
mov.b64 %rd2, to;
cvta.param.u64 %rd2, %rd2;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
mov.u32 %r4, tile;
shl.b32 %r5, %r2, 5;
add.u32 %r6, %r5, %r3;
setp.ge.u32 %p1, %r6, %r1;
@%p1 bra READY;
mul.wide.u32 %rd3, %r6, 2;
add.s64 %rd4, %rd1, %rd3;
ld.global.u16 %h1, [%rd4];
shl.b32 %r7, %r3, 1;
add.u32 %r7, %r7, %r4;
st.shared.u16 [%r7], %h1;
READY:
fence.proxy.async.shared::cta;
bar.sync 0;
setp.ne.u32 %p2, %r3, 0;
@%p2 ret;
cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd2, {%r5}], [%r4];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ret;
}
)";
  Json json = copy_declaration();
  json["launch"]["output_fill"] = "zero";
  json["launch"]["arguments"][1] = Json::parse(R"({"tensor_map": {"tensor": "output", "element_bytes": 2,
      "dims": ["T*O"], "strides": [], "box": [32]}})");
  const CaseResult result = judged(ptx, json);
  EXPECT_EQ(result.verdict.status, VerdictStatus::kPassed) << result.failure << result.verdict.reason;
  // Words of four bytes are no elements of the output.
  json["launch"]["arguments"][1]["tensor_map"]["element_bytes"] = 4;
  EXPECT_NE(judged(ptx, json).failure.find("does not say a type"), std::string::npos);
}

TEST(PtxSubject, UnsupportedIsNoFailure) {
  const CaseResult texture =
      judged(copy_kernel("tex.1d.v4.f32.f32 {%r1,%r2,%r3,%r4}, [%rd1, {%r1}];"), copy_declaration());
  EXPECT_EQ(texture.verdict.status, VerdictStatus::kUnsupported);
  EXPECT_NE(texture.verdict.reason.find("tex.1d"), std::string::npos) << texture.verdict.reason;
}

TEST(PtxSubject, FileAndDeclarationMustFit) {
  const auto error = [](const std::string& ptx, const Json& json) {
    const Result<std::unique_ptr<Subject>> subject = open(ptx, json);
    return subject.ok() ? std::string("no error") : subject.error().message();
  };
  Json json = copy_declaration();
  json["launch"]["entry"] = "copi";
  EXPECT_EQ(error(copy_kernel(), json),
            "declaration.launch.entry: value copi: an entry of copy.ptx; the nearest one is copy");
  json = copy_declaration();
  json["launch"]["arguments"].push_back({{"scalar", 0}, {"type", "u64"}});
  EXPECT_EQ(error(copy_kernel(), json),
            "declaration.launch.arguments: value 4 arguments: the entry copy takes 3");
  json = copy_declaration();
  json["launch"]["arguments"][2]["type"] = "u64";
  EXPECT_EQ(error(copy_kernel(), json),
            "declaration.launch.arguments[2]: value 8 bytes: the parameter n has 4");
  json = copy_declaration();
  json.erase("launch");
  EXPECT_NE(error(copy_kernel(), json).find("declaration.launch"), std::string::npos);
  EXPECT_NE(error(copy_kernel("bogus %r1 %r2;"), copy_declaration()).find("copy.ptx:23"), std::string::npos)
      << error(copy_kernel("bogus %r1 %r2;"), copy_declaration());
}

// An output that the kernel adds into, and a workspace that it needs cleared.
TEST(PtxSubject, ZeroFilledMemory) {
  const std::string add = "atom.global.add.noftz.bf16 %h1, [%rd5], %h1;";  // 0 + shared_output
  Json json = copy_declaration();
  json["launch"]["output_fill"] = "zero";
  EXPECT_EQ(judged(copy_kernel(add), json).verdict.status, VerdictStatus::kPassed);
  EXPECT_NE(judged(copy_kernel(add), copy_declaration()).verdict.status, VerdictStatus::kPassed);

  Json workspace = copy_declaration();
  workspace["launch"]["workspaces"]["scratch"] = {{"bytes", "2*T*O"}, {"fill", "zero"}};
  workspace["launch"]["arguments"][0] = {{"workspace", "scratch"}};
  const CaseResult zeros = judged(copy_kernel(), workspace);  // zeros are not shared_output
  EXPECT_EQ(zeros.verdict.status, VerdictStatus::kFailed);
  EXPECT_TRUE(zeros.verdict.findings.empty());
  workspace["launch"]["workspaces"]["scratch"]["fill"] = "none";
  const CaseResult poison = judged(copy_kernel(), workspace);
  ASSERT_FALSE(poison.verdict.findings.empty());
  EXPECT_EQ(poison.verdict.findings[0].check, "uninitialized");
}

TEST(PtxSubject, CanBeMutated) {
  const Result<Declaration> declaration = parse_declaration(copy_declaration().dump());
  ASSERT_TRUE(declaration.ok());
  const Result<PtxProgram> program = ptx_file_program(copy_kernel(), "copy.ptx", *declaration);
  ASSERT_TRUE(program.ok()) << program.error().message();
  MutationOptions options;
  options.kinds = {ptx::Mutation::kOffset, ptx::Mutation::kCompare};
  const Result<MutationReport> report =
      run_mutants(*program, {line("tokens=3 out=17"), line("tokens=1 out=32")}, options);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->mutants.size(), 6u);  // five addresses and a comparison
  EXPECT_DOUBLE_EQ(report->kill_rate(), 1.0);
}

}  // namespace
}  // namespace moe4::oracle
