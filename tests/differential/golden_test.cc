// The golden fixtures, as files, against the slow model: the recorded bits are those of a second
// implementation.
#include <gtest/gtest.h>

#include <filesystem>

#include "oracle/file/case_file.h"
#include "oracle/file/result_file.h"
#include "tests/differential/golden_problem.h"

namespace differential {
namespace {

namespace fs = std::filesystem;
using moe4::oracle::CaseData;
using moe4::oracle::Op;

const fs::path kFolder = fs::path(MOE4_SOURCE_DIR) / "fixtures/golden";

std::vector<std::uint64_t> by_slow_model(const CaseData& data) {
  if (data.op == Op::kExpertLinear) return slow_model::expert_linear(linear_problem(data));
  if (data.op == Op::kCombine) return slow_model::Combine().outputs(combine_problem(data));
  return slow_model::Rows().outputs(rows_problem(data), 0).output;
}

// How many outputs of a recorded result the slow model sees otherwise (COR-3 strict, COR-4).
std::int64_t differences(const CaseData& data, const std::vector<std::uint64_t>& recorded,
                         const slow_model::FloatFormat& format) {
  const std::vector<std::uint64_t> due = by_slow_model(data);
  if (due.size() != recorded.size()) return -1;
  std::int64_t count = 0;
  for (std::size_t n = 0; n < due.size(); ++n)
    count += slow_model::same_value(format, due[n], recorded[n]) ? 0 : 1;
  return count;
}

slow_model::FloatFormat format_named(std::string_view name) {
  for (const slow_model::FloatFormat& format : slow_model::kFloatFormats) {
    if (name == format.name) return format;
  }
  return {};
}

TEST(Golden, RecordedResultsAreTheSlowModels) {
  std::int64_t cases = 0, outputs = 0, told = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    const std::size_t dot = name.find(".case.safetensors");
    if (dot == std::string::npos) continue;
    const fs::path result_path = kFolder / (name.substr(0, dot) + ".result.safetensors");
    if (!fs::exists(result_path)) continue;  // refused by the norm
    const auto data = moe4::oracle::read_case(entry.path());
    ASSERT_TRUE(data.ok()) << name << ": " << data.error().message();
    const auto result = moe4::oracle::read_result(result_path);
    ASSERT_TRUE(result.ok()) << name << ": " << result.error().message();
    const slow_model::FloatFormat format = format_named(moe4::name_of(result->output.dtype()));
    std::vector<std::uint64_t> recorded = encodings_of(result->output);
    EXPECT_EQ(differences(*data, recorded, format), 0) << name;
    ++cases;
    outputs += static_cast<std::int64_t>(recorded.size());
    // A wrong record is seen.
    if (!recorded.empty() && (!result->written || result->written->front() == 1)) {
      recorded.front() ^= 2;
      told +=
          differences(*data, recorded, format) != 0 || slow_model::is_nan(format, recorded.front()) ? 1 : 0;
    } else {
      ++told;
    }
  }
  EXPECT_GE(cases, 120);
  EXPECT_GE(outputs, 5000);
  EXPECT_EQ(told, cases);
}

}  // namespace
}  // namespace differential
