// --device cuda through the command line, over the fake driver: what passes, and what each fault comes to.
#include <nlohmann/json.hpp>

#include "gpu/launch/variant.h"
#include "tests/gpu/cuda/fake_driver.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

constexpr const char* kCopyCase =
    "op=expert_linear weights=mxfp4 tokens=3 experts=1 top_k=0 in=32 out=17 dtype=bf16 fill=exact8 seed=0x1";
constexpr const char* kDecode = "int4_indexed_decode_bf16";

std::string indexed(const std::string& fill, const std::string& more = "") {
  return "op=indexed weights=int4 tokens=6 experts=2 top_k=2 block_m=8 in=512 out=64 dtype=bf16 "
         "layout=indexed_mma seed=0x5 fill=" +
         fill + more;
}

class CudaCli : public CliCommand {
 protected:
  void SetUp() override {
    CliCommand::SetUp();
    kernels_ = !gpu::variants().front().ptx.empty();
    use_fake_driver();
  }

  // A planted kernel, judged on the GPU.
  Outcome planted(const std::string& body, const std::string& words = "",
                  std::vector<std::string> more = {}) {
    use_fake_driver(words);
    EXPECT_FALSE(write_file(path("copy.ptx"), copy_kernel(body)));
    EXPECT_FALSE(write_file(path("copy.json"), R"json({"schema": 1, "name": "copy", "op": "expert_linear",
      "weights": "mxfp4", "dtypes": ["bf16"], "profile": "once", "order": "seq", "launch": {"entry": "copy",
      "grid": "ceil(T*O/32)", "block": 32, "arguments": [{"tensor": "shared_output"}, {"tensor": "output"},
      {"scalar": "T*O", "type": "u32"}]}})json"));
    std::vector<std::string> words_of_run = {"run",       kCopyCase,         "--ptx",    path("copy.ptx"),
                                             "--declare", path("copy.json"), "--device", "cuda"};
    words_of_run.insert(words_of_run.end(), more.begin(), more.end());
    return moe4(words_of_run);
  }

  Outcome on_gpu(const std::string& subject, const std::string& line, const std::string& words = "") {
    use_fake_driver(words);
    return moe4({"run", line, "--subject", subject, "--device", "cuda"});
  }

  bool kernels_ = false;
};

TEST_F(CudaCli, AHealthyKernelPasses) {
  const Outcome outcome = planted("st.global.u16 [%rd5], %h1;");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_HAS(outcome.out, "PASSED copy/cuda: ");
  EXPECT_HAS(outcome.out, "51 outputs have the bits of the executor");
}

TEST_F(CudaCli, EveryFaultOfAKernelIsAStatus) {
  struct Fault {
    const char* body;
    const char* words;
    int code;
    const char* says;
  };
  const Fault faults[] = {
      {"st.global.u16 [%rd5], 1;", "", 1, "FAILED"},
      {"st.global.u16 [%rd5+2], %h1;", "", 1, "0 bytes behind the end of output (102 bytes)"},
      {"st.global.u16 [%rd5], %h1;\nst.global.u16 [%rd4], 7;", "", 1, "VER-7: an input was changed"},
      {"setp.eq.u32 %p2, %r5, 7;\n@%p2 bra DONE;\nst.global.u16 [%rd5], %h1;", "", 1,
       "VER-7: 1 outputs were not written"},
      {"ld.global.u16 %h2, [%rd5];\nmax.u16 %h1, %h1, %h2;\nst.global.u16 [%rd5], %h1;", "", 1,
       "depends on memory that nothing wrote"},
      {"st.global.u16 [%rd5+1000000000], %h1;", "", 4, "CRASHED"},
      {"trap;", "", 4, "CUDA_ERROR_LAUNCH_FAILED"},
      {"LOOP:\nbra LOOP;", "budget=20000", 4, "TIMEOUT"},
  };
  for (const Fault& fault : faults) {
    const Outcome outcome = planted(fault.body, fault.words, {"--limit-time", "6"});
    EXPECT_EQ(outcome.code, fault.code) << fault.body << outcome.out << outcome.err;
    EXPECT_HAS(outcome.out, fault.says);
    EXPECT_HAS(outcome.out, " --device cuda") << "the replay command";
  }
}

TEST_F(CudaCli, EveryFaultOfTheDriverIsAStatus) {
  const std::string body = "st.global.u16 [%rd5], %h1;";
  const Outcome illegal = planted(body, "crash=1");
  EXPECT_EQ(illegal.code, 4) << illegal.out;
  EXPECT_HAS(illegal.out, "CUDA_ERROR_ILLEGAL_ADDRESS");
  const Outcome dead = planted(body, "die=1");
  EXPECT_EQ(dead.code, 4) << dead.out;
  EXPECT_HAS(dead.out, "killed by signal 9");
  const Outcome context = planted(body, "no-context");
  EXPECT_EQ(context.code, 4) << context.out;
  EXPECT_HAS(context.out, "cannot be made: CUDA_ERROR_OUT_OF_MEMORY");
  for (const auto& [words, says] :
       {std::pair{"memory=0", "out of memory: "}, std::pair{"arch=80", "(sm_80) cannot run"},
        std::pair{"refuse-ptx", "older than the compiler of this kernel"}}) {
    const Outcome outcome = planted(body, words);
    EXPECT_EQ(outcome.code, 3) << outcome.out << outcome.err;
    EXPECT_HAS(outcome.out, "UNSUPPORTED");
    EXPECT_HAS(outcome.out, says);
  }
}

TEST_F(CudaCli, WithoutAGpuNothingRanAndThatIsRed) {
  ::setenv("MOE4_CUDA_DRIVER", "/no/such/libcuda.so", 1);
  const Outcome gate = moe4({"gate", "--device", "cuda", "--subject", "combine_once_f32", "--shard", "1/20"});
  EXPECT_EQ(gate.code, 3) << gate.out << gate.err;
  EXPECT_HAS(gate.out, "combine_once_f32/cuda");
  EXPECT_HAS(gate.out, "SKIPPED(no device)");
  EXPECT_HAS(gate.out, "nothing ran: no device: the CUDA driver cannot be opened: ");
  EXPECT_HAS(gate.out, "NOTHING RAN");
  for (const auto& [words, says] : {std::pair{"no-device", "cuInit: CUDA_ERROR_NO_DEVICE"},
                                    std::pair{"driver=11080", "the driver speaks CUDA 11.8"}}) {
    const Outcome outcome = planted("ret;", words);
    EXPECT_EQ(outcome.code, 3) << outcome.out;
    EXPECT_HAS(outcome.out, "SKIPPED");
    EXPECT_HAS(outcome.out, says);
  }
  ::unsetenv("MOE4_CUDA_DRIVER");
  const Outcome named = moe4({"gate", "--device", "cuda", "--cuda-driver", "/no/such", "--subject",
                              "combine_once_f32", "--shard", "1/20"});
  EXPECT_HAS(named.out, "/no/such");
}

TEST_F(CudaCli, OptionsThatDoNotFitAreRefused) {
  const auto refused = [&](std::vector<std::string> more, const std::string& says) {
    std::vector<std::string> words = {"run", kCopyCase, "--device", "cuda"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = moe4(words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_HAS(outcome.err, says);
  };
  refused({"--subject", "reference"}, "the reference runs on no device");
  refused({"--subject", "none_such"}, "no such kernel variant");
  refused({"--command", "x {cases} {results}", "--declare", "d"}, "drives its own device");
  refused({"--ptx", "x.ptx"}, "--declare");
  refused({"--cuda-device", "-1"}, "--cuda-device");
  EXPECT_EQ(moe4({"run", kCopyCase, "--device", "quantum"}).code, 2);
}

// Kernels by machine code and, where the driver refuses it, by text; CUDA cores, mma.sync, TMA with wgmma.
TEST_F(CudaCli, RegisteredKernelsPass) {
  if (!kernels_) GTEST_SKIP() << "built without the CUDA Toolkit";
  const std::string grouped =
      "op=grouped_contiguous weights=int4 tokens=70 experts=2 in=128 out=64 dtype=bf16 "
      "layout=grouped_contiguous block_m=64 fill=real";
  for (const char* words : {"", "refuse-code"}) {
    for (const auto& [subject, line] :
         {std::pair<std::string, std::string>{
              "mxfp4_linear_warp_f32",
              "op=expert_linear weights=mxfp4 tokens=3 experts=3 top_k=2 in=96 out=9 dtype=f32 fill=real"},
          {kDecode, indexed("real")},
          {"int4_grouped_contiguous_wgmma_m64_bf16", grouped}}) {
      const Outcome outcome = on_gpu(subject, line, words);
      EXPECT_EQ(outcome.code, 0) << words << outcome.out << outcome.err;
      EXPECT_HAS(outcome.out, "outputs have the bits of the executor");
    }
  }
}

// A chip whose tensor cores do not do what the model says is MODEL, unless the data are exact: then it is a
// fault.
TEST_F(CudaCli, ADifferenceOfTheModelIsModel) {
  if (!kernels_) GTEST_SKIP() << "built without the CUDA Toolkit";
  const Outcome model = on_gpu(kDecode, indexed("cancel"), "model=ampere");
  EXPECT_EQ(model.code, 1) << model.out << model.err;
  EXPECT_HAS(model.out, "MODEL");
  EXPECT_HAS(model.out, "VER-21");
  EXPECT_HAS(model.out, "outputs have other bits than on the executor, the first [");
  EXPECT_EQ(model.out.find("FAILED"), std::string::npos) << model.out;
  EXPECT_EQ(on_gpu(kDecode, indexed("exact8"), "model=ampere").code, 0) << "every model gives these bits";

  for (const char* fill : {"exact8", "real"}) {
    const Outcome wrong = on_gpu(kDecode, indexed(fill), "model=broken");
    EXPECT_EQ(wrong.code, 1) << wrong.out;
    EXPECT_HAS(wrong.out, "FAILED");
    EXPECT_HAS(wrong.out, "the executor's are right");
  }
}

TEST_F(CudaCli, ACaseForAnotherChipIsUnsupported) {
  if (!kernels_) GTEST_SKIP() << "built without the CUDA Toolkit";
  const Outcome outcome = on_gpu(kDecode, indexed("real", " hardware=blackwell"));
  EXPECT_EQ(outcome.code, 3) << outcome.out;
  EXPECT_HAS(outcome.out, "the case asks for the tensor cores of blackwell, this chip is hopper");
  EXPECT_EQ(on_gpu(kDecode, indexed("real", " hardware=hopper")).code, 0);
  // On another chip the declaration speaks of that chip's tensor cores (VER-20).
  const Outcome blackwell = on_gpu(kDecode, indexed("real"), "arch=100,model=blackwell");
  EXPECT_EQ(blackwell.code, 0) << blackwell.out << blackwell.err;
}

// One crash among many cases is one red case: the others are run again without it.
TEST_F(CudaCli, TheGateJudgesAndCompares) {
  if (!kernels_) GTEST_SKIP() << "built without the CUDA Toolkit";
  const Outcome gate = moe4(
      {"gate", "--device", "cuda", "--subject", "combine_once_bf16", "--report", "json=" + path("json")});
  EXPECT_EQ(gate.code, 0) << gate.out << gate.err;
  EXPECT_HAS(gate.out, "combine_once_bf16/cuda");
  EXPECT_HAS(gate.out, "outputs compared with the executor's, 0 have other bits");
  const nlohmann::json report = nlohmann::json::parse(*read_file(path("json")));
  EXPECT_EQ(report["subjects"][0]["name"], "combine_once_bf16/cuda");
  EXPECT_GT(report["subjects"][0]["cases"]["passed"], 5);
  std::int64_t compared = 0;
  for (const nlohmann::json& result : report["subjects"][0]["results"])
    compared += result.value("executor_compared", 0);
  EXPECT_GT(compared, 100);
  // A report that is read again says the same.
  const Outcome merged = moe4({"merge", path("json")});
  EXPECT_EQ(merged.code, 0) << merged.out << merged.err;
  EXPECT_HAS(merged.out,
             "combine_once_bf16/cuda: " + std::to_string(compared) + " outputs compared with the executor's");
}

TEST_F(CudaCli, AllIsTheExecutorAndAGpuIfThereIsOne) {
  if (!kernels_) GTEST_SKIP() << "built without the CUDA Toolkit";
  const std::vector<std::string> words = {"gate",    "--device", "all", "--subject", "combine_once_bf16",
                                          "--shard", "1/8"};
  const Outcome both = moe4(words);
  EXPECT_EQ(both.code, 0) << both.out << both.err;
  EXPECT_HAS(both.out, "combine_once_bf16 ");
  EXPECT_HAS(both.out, "combine_once_bf16/cuda ");
  use_fake_driver("no-device");
  const Outcome one = moe4(words);
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  EXPECT_EQ(one.out.find("/cuda"), std::string::npos) << one.out;
  EXPECT_HAS(one.out, "cuda: SKIPPED(no device: cuInit: CUDA_ERROR_NO_DEVICE)");
}

TEST_F(CudaCli, ProbesAreRecordedThroughTheDriver) {
  const Outcome record =
      moe4({"fixtures", "hardware", "record", "--device", "cuda", "--out", path("chip"), "--count", "32"});
  EXPECT_EQ(record.code, 0) << record.out << record.err;
  EXPECT_HAS(record.out, "device cuda: no GPU: the fake driver of moe4's tests, driver ");
  EXPECT_HAS(record.out, "taken for hopper");
  const Outcome compare = moe4({"fixtures", "hardware", "compare", path("chip")});
  EXPECT_EQ(compare.code, 0) << compare.out << compare.err;
  EXPECT_HAS(compare.out, "PASSED");

  use_fake_driver("model=ampere");
  EXPECT_EQ(
      moe4({"fixtures", "hardware", "record", "--device", "cuda", "--out", path("other"), "--count", "32"})
          .code,
      0);
  const Outcome differs = moe4({"fixtures", "hardware", "compare", path("other")});
  EXPECT_EQ(differs.code, 1) << differs.out;
  EXPECT_HAS(differs.out, "MODEL: ");

  use_fake_driver();
  const Outcome wrong = moe4(
      {"fixtures", "hardware", "record", "--device", "cuda", "--hardware", "ampere", "--out", path("x")});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_HAS(wrong.err, "is of the generation hopper");
  use_fake_driver("no-device");
  const Outcome none = moe4({"fixtures", "hardware", "record", "--device", "cuda", "--out", path("x")});
  EXPECT_EQ(none.code, 2);
  EXPECT_HAS(none.err, "no device: ");
}

// The times of the fake are none; that they are taken, by launch and by graph, is what is looked at.
TEST_F(CudaCli, BenchMeasuresEveryPoint) {
  if (!kernels_) GTEST_SKIP() << "built without the CUDA Toolkit";
  for (const bool graph : {false, true}) {
    std::vector<std::string> words = {"bench",
                                      "gpu",
                                      "--rehearse",
                                      "--runs",
                                      "2",
                                      "--points",
                                      graph ? "h200_tp8 1024" : "1024 down",
                                      "--cublas",
                                      MOE4_FAKE_DRIVER};
    if (graph) words.push_back("--graph");
    const Outcome outcome = moe4(words);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_HAS(outcome.out, "int4_indexed_wgmma_m");
    EXPECT_HAS(outcome.out, graph ? "median of 2 runs of a captured graph" : "h200_prefill_ep8 1024 down");
    EXPECT_EQ(outcome.out.find("not measured"), std::string::npos) << outcome.out;
    EXPECT_HAS(outcome.out, "no time here means anything");
  }
  const Outcome without =
      moe4({"bench", "gpu", "--rehearse", "--runs", "1", "--points", "tp8 1024 down", "--cublas", "/none"});
  EXPECT_EQ(without.code, 0) << without.out;
  EXPECT_HAS(without.out, "no cuBLAS: /none");
  use_fake_driver("crash=2");
  const Outcome crashed = moe4({"bench", "gpu", "--rehearse", "--runs", "3", "--points", "tp8 1024"});
  EXPECT_EQ(crashed.code, 3) << crashed.out;
  EXPECT_HAS(crashed.out, "not measured: a run: CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_HAS(crashed.out, "the context was lost");
}

TEST_F(CudaCli, BenchWithoutAGpuSaysSo) {
  use_fake_driver("no-device");
  const Outcome outcome = moe4({"bench", "gpu", "--points", "decode_ep8 20"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_HAS(outcome.out, "h200_decode_ep8 20 gate_up");
  EXPECT_HAS(outcome.out, "Not measured: no device: cuInit: CUDA_ERROR_NO_DEVICE");
  if (kernels_) {
    EXPECT_HAS(outcome.out, "bank conflicts");
  }
}

}  // namespace
}  // namespace moe4::oracle
