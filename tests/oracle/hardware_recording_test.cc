// Recordings: what the executor answers is what the reference's rules say, a recording is refused as soon as
// it is not what it says it is, and a chip that answered otherwise is MODEL.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "oracle/file/safetensors.h"
#include "oracle/subject/gpu/hardware_probes.h"
#include "reference/accumulate/tensor_core.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMma = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
constexpr const char* kWgmma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16";

// One probe, recorded from the executor.
Recording recording_of(const std::string& name, std::uint32_t count, const std::string& hardware = "hopper") {
  const Probe& probe = *find_probe(name);
  const std::unique_ptr<gpu::Device> device = gpu::make_executor_device();
  Recording recording{name, hardware, recorded_device(*device), 1, count, probe_operands(probe, 1, count),
                      {}};
  const auto result = run_probe(*device, probe, recording.operands, count, hardware);
  EXPECT_TRUE(result.ok()) << result.error().message();
  if (result.ok()) recording.result = *result;
  return recording;
}

// As a chip would have answered.
Recording from_silicon(Recording recording) {
  recording.device = {"cuda", "0.1.0", "NVIDIA H100", "550.54", "12.8"};
  return recording;
}

template <class T>
T element(const std::vector<std::byte>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
  return value;
}

// The fragments are where the ISA has them: every element of every tile by ACC-13, for two generations.
TEST(HardwareRecording, TilesAreTheReferencesStep) {
  for (const char* hardware : {"ampere", "hopper"}) {
    for (const std::string& name : {std::string(kMma), std::string(kWgmma),
                                    std::string("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")}) {
      const Probe& probe = *find_probe(name);
      const std::uint32_t count = static_cast<std::uint32_t>(planted_products(probe)) + 6;
      const Recording r = recording_of(name, count, hardware);
      const Dtype dtype = probe.operands[0].type.name == "f16" ? Dtype::kF16 : Dtype::kBF16;
      ASSERT_EQ(r.result.size(), count * probe.result_bytes());
      for (std::size_t at = 0; at < std::size_t{count} * probe.m * probe.n; ++at) {
        const std::size_t row = at / probe.n, tile = row / probe.m, column = tile * probe.n + at % probe.n;
        std::vector<std::uint16_t> a, b;
        for (std::size_t i = 0; i < probe.k; ++i) {
          a.push_back(element<std::uint16_t>(r.operands[0], row * probe.k + i));
          b.push_back(element<std::uint16_t>(r.operands[1], column * probe.k + i));
        }
        const std::uint32_t c = element<std::uint32_t>(r.operands[2], at);
        ASSERT_EQ(element<std::uint32_t>(r.result, at),
                  tensor_core_instruction(*tensor_core(hardware), dtype, c, std::span<const std::uint16_t>(a),
                                          std::span<const std::uint16_t>(b)))
            << name << " element " << at;
      }
    }
  }
}

// The planted products tell the generations apart, and a chip that follows the other model of ACC-15.
TEST(HardwareRecording, PlantedProductsDecideTheRules) {
  const Probe& probe = *find_probe(kMma);
  const auto count = static_cast<std::uint32_t>(planted_products(probe));
  const Recording hopper = recording_of(kMma, count), ampere = recording_of(kMma, count, "ampere");
  const auto planted = [&](const Recording& r, std::size_t tile) {
    return element<std::uint32_t>(r.result, tile * probe.m * probe.n);
  };
  EXPECT_EQ(planted(hopper, 0), 0x33000000u);  // ACC-15: 2^-25; +0 by the other model
  EXPECT_EQ(planted(hopper, 1), 0x33800000u);
  for (int bits = 20; bits <= 27; ++bits) {  // ACC-11: F is the last that is kept
    const auto tile = static_cast<std::size_t>(2 + bits - 20);
    const auto kept = std::bit_cast<std::uint32_t>(std::ldexp(1.0f, -bits));
    EXPECT_EQ(planted(hopper, tile), bits <= 25 ? kept : 0u) << bits;
    EXPECT_EQ(planted(ampere, tile), bits <= 24 ? kept : 0u) << bits;
  }
  for (std::size_t at = 2; at <= 15; ++at) {  // ACC-13: L is where it is lost first
    EXPECT_EQ(planted(hopper, 10 + at - 2), 0x33800000u) << at;
    EXPECT_EQ(planted(ampere, 10 + at - 2), at < 8 ? 0x33800000u : 0u) << at;
  }
}

class RecordingFile : public CliCommand {
 protected:
  // One file of a folder, with a damage done to its parts before it is written again as it stands.
  void rewrite(const std::string& file, const std::function<void(SafeTensors&)>& damage) const {
    Result<SafeTensors> content = read_safetensors(file);
    ASSERT_TRUE(content.ok());
    damage(*content);
    std::map<std::string, const Tensor*> tensors;
    for (const auto& [name, tensor] : content->tensors) tensors.emplace(name, &tensor);
    ASSERT_FALSE(write_safetensors(file, tensors, content->metadata));
  }
  std::string file_of(const std::string& probe) const { return path("set/" + recording_name(probe)); }
  void SetUp() override {
    CliCommand::SetUp();
    fs::create_directories(folder_ / "set");
  }
};

using HardwareCommand = RecordingFile;

TEST_F(HardwareCommand, RecordsAndComparesEqual) {
  const Outcome record = moe4({"fixtures", "hardware", "record", "--device", "executor", "--hardware",
                               "hopper", "--count", "64", "--out", path("set")});
  EXPECT_EQ(record.code, 0) << record.err;
  EXPECT_HAS(record.out, "no chip was asked");
  EXPECT_HAS(record.out, "0 left out");
  const Outcome compare = moe4({"fixtures", "hardware", "compare", path("set")});
  EXPECT_EQ(compare.code, 0) << compare.out << compare.err;
  EXPECT_HAS(compare.out,
             "PASSED: " + std::to_string(probes().size()) + " of " + std::to_string(probes().size()));
  EXPECT_HAS(compare.out, "device executor");
  EXPECT_HAS(compare.out, "nothing here is evidence about one");
  EXPECT_HAS(compare.out, "within the bound (ulp 2)");
  // A second recording is the same bytes.
  ASSERT_EQ(moe4({"fixtures", "hardware", "record", "--count", "64", "--out", path("again")}).code, 0);
  for (const auto& entry : fs::directory_iterator(path("set"))) {
    EXPECT_EQ(*read_file(entry.path()), *read_file(folder_ / "again" / entry.path().filename()));
  }
}

// One probe of a whole recording taken away, and what a chip has no answer to.
TEST_F(HardwareCommand, WhatIsMissingIsRed) {
  ASSERT_EQ(moe4({"fixtures", "hardware", "record", "--count", "16", "--out", path("set")}).code, 0);
  fs::remove(file_of("fma.rn.f32"));
  const Outcome outcome = moe4({"fixtures", "hardware", "compare", path("set")});
  EXPECT_EQ(outcome.code, 3) << outcome.out;
  EXPECT_HAS(outcome.out, "INCOMPLETE: 1 instructions");
  ASSERT_FALSE(write_recording(file_of("fma.rn.f32"), recording_of("fma.rn.f32", 16)));
  EXPECT_EQ(moe4({"fixtures", "hardware", "compare", path("set")}).code, 0);
  // An Ampere GPU has no wgmma and no target after sm_80; every other probe is due from it.
  std::size_t due = 0;
  for (const Probe& probe : probes()) due += probe.target == "sm_80";
  fs::create_directories(folder_ / "ampere");
  Recording ampere = from_silicon(recording_of(kMma, 60, "ampere"));
  ASSERT_FALSE(write_recording(path("ampere/" + recording_name(kMma)), ampere));
  const Outcome older = moe4({"fixtures", "hardware", "compare", path("ampere")});
  EXPECT_EQ(older.code, 3) << older.out;
  EXPECT_HAS(older.out, "INCOMPLETE: " + std::to_string(due - 1) + " instructions");
}

TEST_F(HardwareCommand, OneBitOfAChipIsModelAndCode1) {
  Recording chip = from_silicon(recording_of(kMma, 60));
  ASSERT_FALSE(write_recording(file_of(kMma), chip));
  const Outcome equal = moe4({"fixtures", "hardware", "compare", path("set")});
  EXPECT_EQ(equal.code, 3) << equal.out << equal.err;
  EXPECT_HAS(equal.out, "NVIDIA H100, driver 550.54, toolkit 12.8");
  EXPECT_HAS(equal.out, "INCOMPLETE: " + std::to_string(probes().size() - 1) + " instructions");
  EXPECT_HAS(equal.out, "1 of " + std::to_string(probes().size()));
  EXPECT_HAS(equal.out, "not recorded");
  chip.result[0] ^= std::byte{1};  // ACC-15's probe
  ASSERT_FALSE(write_recording(file_of(kMma), chip));
  const Outcome outcome = moe4({"fixtures", "hardware", "compare", path("set")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.out, std::string("MODEL: ") + kMma + " tile 0, row 0, column 0: a 0000");
  EXPECT_HAS(outcome.out, "recorded 0x33000001, executor 0x33000000");
  EXPECT_HAS(outcome.out, "1 DIFFERENT");
  EXPECT_HAS(outcome.out, "MODEL: 1 differ");
}

// A chip of another generation is seen: recorded as hopper, answered as Ampere does.
TEST_F(HardwareCommand, AnotherGenerationIsModel) {
  Recording chip = from_silicon(recording_of(kMma, 60, "ampere"));
  chip.hardware = "hopper";
  ASSERT_FALSE(write_recording(file_of(kMma), chip));
  const Outcome outcome = moe4({"fixtures", "hardware", "compare", path("set")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.out, "MODEL: 1 differ");
}

TEST_F(HardwareCommand, RefusesWhatIsNoRecording) {
  const auto refused = [&](const std::string& says) {
    const Outcome outcome = moe4({"fixtures", "hardware", "compare", path("set")});
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_HAS(outcome.err, says);
  };
  refused("holds no");
  const std::string file = file_of("fma.rn.f32");
  const Recording good = recording_of("fma.rn.f32", 16);
  const auto set = [&](const char* key, const char* value) {
    ASSERT_FALSE(write_recording(file, good));
    rewrite(file, [&](SafeTensors& content) { content.metadata[key] = value; });
  };
  // What is edited in the file, its origin first of all, no longer has the file's checksum.
  set("moe4.device", "cuda");
  refused("moe4.sha256");
  ASSERT_FALSE(write_recording(file, good));
  rewrite(file, [](SafeTensors& content) { content.tensors.at("result").data()[5] ^= std::byte{1}; });
  refused("moe4.sha256");
  ASSERT_FALSE(write_recording(file, good));
  rewrite(file, [](SafeTensors& content) { content.metadata.erase("moe4.chip"); });
  refused("moe4.chip");
  set("moe4.note", "x");
  refused("moe4.note");
  set("moe4.version", "2");
  refused("this build reads version 1");
  set("moe4.file", "case");
  refused("hardware_probe");
  ASSERT_FALSE(write_recording(file, good));
  fs::resize_file(file, fs::file_size(file) - 7);
  refused("fma.rn.f32.probe.safetensors");
  std::ofstream(file) << "no recording";
  refused("fma.rn.f32.probe.safetensors");
  // Two devices in one folder.
  ASSERT_FALSE(write_recording(file, good));
  ASSERT_FALSE(write_recording(file_of("add.rn.f32"), from_silicon(recording_of("add.rn.f32", 16))));
  refused("of one device");
  EXPECT_EQ(moe4({"fixtures", "hardware", "record", "--hardware", "abacus", "--out", path("x")}).code, 2);
  EXPECT_EQ(moe4({"fixtures", "hardware", "record", "--device", "cuda", "--out", path("x")}).code, 2);
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(RecordingFile, WriterRefusesAFalseOrigin) {
  const Recording good = recording_of("fma.rn.f32", 16);
  const auto refused = [&](const std::string& field, const std::function<void(Recording&)>& damage) {
    Recording bent = good;
    damage(bent);
    const Status status = write_recording(file_of("x"), bent);
    ASSERT_TRUE(status.has_value()) << field;
    EXPECT_EQ(status->field, field);
    EXPECT_FALSE(fs::exists(file_of("x")));
  };
  // The executor is no chip, and a chip has a name and a driver.
  refused("moe4.chip", [](Recording& r) { r.device.chip = "NVIDIA H100"; });
  refused("moe4.driver", [](Recording& r) { r.device.driver = "550.54"; });
  refused("moe4.chip", [](Recording& r) { r.device.device = "cuda"; });
  refused("moe4.toolkit", [](Recording& r) { r.device = {"cuda", "0.1.0", "NVIDIA H100", "550.54", ""}; });
  refused("moe4.device", [](Recording& r) { r.device.device = "silicon"; });
  refused("moe4.hardware", [](Recording& r) { r.hardware = "abacus"; });
  refused("moe4.probe", [](Recording& r) { r.probe = "fma.rn.f31"; });
  refused("moe4.count", [](Recording& r) { r.count = 0; });
  refused("operand_1", [](Recording& r) { r.operands[1].pop_back(); });
  refused("result", [](Recording& r) { r.result.pop_back(); });
}

TEST(HardwareRecording, VoltaLeavesOutBf16) {
  const std::string folder = testing::TempDir() + "volta";
  RecordSettings settings;
  settings.hardware = "volta";
  settings.count = 1;
  settings.tiles = 1;
  const std::unique_ptr<gpu::Device> device = gpu::make_executor_device();
  const auto recorded = record_probes(*device, settings, folder);
  ASSERT_TRUE(recorded.ok()) << recorded.error().message();
  EXPECT_EQ(recorded->left_out.size(), 3u);
  const auto compared = compare_recordings(folder);
  ASSERT_TRUE(compared.ok()) << compared.error().message();
  EXPECT_EQ(compared->missing.size(), 0u) << "what Volta does not multiply is not due from it";
  EXPECT_EQ(compared->hardware, "volta");
  fs::remove_all(folder);
}

// Approximate instructions: inside of the bound is not a difference, outside is, and where the ISA's tables
// give bits there is no bound.
TEST(HardwareRecording, ApproximateInstructionsAreHeldToTheirBound) {
  for (const Probe& probe : probes()) {
    if (probe.bound.kind == ProbeBound::Kind::kExact) continue;
    const Recording ours = recording_of(probe.name, 256);
    const auto moved = [&](double units) {  // every finite result, in units of the bound
      Recording chip = ours;
      for (std::size_t at = 0; at < 256; ++at) {
        const auto x = std::bit_cast<float>(element<std::uint32_t>(ours.result, at));
        if (!(std::abs(x) > 0x1p-100f && std::abs(x) < 0x1p100f)) continue;
        double unit = std::abs(x) * probe.bound.size;
        if (probe.bound.kind == ProbeBound::Kind::kUlp)
          unit = probe.bound.size * std::ldexp(1.0, std::ilogb(x) - 23);
        if (probe.bound.kind == ProbeBound::Kind::kAbsolute) unit = probe.bound.size;
        if (probe.bound.kind == ProbeBound::Kind::kMagnitude)
          unit = probe.bound.size * std::max(1.0f, std::abs(x));
        const float y = static_cast<float>(x + units * unit);
        std::memcpy(chip.result.data() + at * 4, &y, 4);
      }
      return compare_probe(probe, chip, ours.result);
    };
    const ProbeComparison same = moved(0), near = moved(1), far = moved(4);
    EXPECT_EQ(same.equal, 256u) << probe.name;
    EXPECT_FALSE(same.model());
    EXPECT_GT(near.within, 60u) << probe.name;
    EXPECT_GT(far.different, 60u) << probe.name;
    EXPECT_FALSE(far.first.empty());
  }
  Recording chip = recording_of("ex2.approx.f32", 1024);
  const std::vector<std::byte> ours = chip.result;
  int bent = 0;
  for (std::size_t at = 0; at < 1024; ++at) {
    if ((element<std::uint32_t>(chip.operands[0], at) & 0x7fffffff) != 0) continue;
    ASSERT_EQ(element<std::uint32_t>(ours, at), 0x3f800000u);
    chip.result[at * 4] ^= std::byte{1};
    ++bent;
  }
  EXPECT_GT(bent, 0);
  EXPECT_EQ(compare_probe(*find_probe("ex2.approx.f32"), chip, ours).different,
            static_cast<std::uint64_t>(bent));
}

TEST(HardwareRecording, NanIsNanWithOtherBits) {
  Recording chip = recording_of("max.NaN.f32", 256);
  const std::vector<std::byte> ours = chip.result;
  std::uint64_t nans = 0;
  for (std::size_t at = 0; at < 256; ++at) {
    if (element<std::uint32_t>(ours, at) != 0x7fffffffu) continue;
    chip.result[at * 4] = std::byte{0};
    ++nans;
  }
  const ProbeComparison comparison = compare_probe(*find_probe("max.NaN.f32"), chip, ours);
  EXPECT_GT(nans, 0u);
  EXPECT_EQ(comparison.nan_payloads, nans);
  EXPECT_FALSE(comparison.model());
}

// A device whose run has findings, or that leaves results unwritten, records nothing.
TEST(HardwareRecording, ARunWithFindingsIsNoEvidence) {
  const Probe& probe = *find_probe("add.rn.f32");
  const std::unique_ptr<gpu::Device> device = gpu::make_executor_device();
  ProbeOperands operands = probe_operands(probe, 1, 200);
  operands[1].resize(40);  // shorter than the launch reads
  const auto result = run_probe(*device, probe, operands, 200, "hopper");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find("operand_1"), std::string::npos) << result.error().message();
}

}  // namespace
}  // namespace moe4::oracle
