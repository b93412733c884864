// Case files as bytes, for tests that bend them.
#pragma once

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "oracle/file/case_from.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {

// A folder of its own for each test.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("moe4_") + info->test_suite_name() + "_" +
                                                        info->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string with_length(const std::string& header, const std::string& data) {
  std::string file;
  for (int n = 0; n < 8; ++n) file += static_cast<char>(header.size() >> (8 * n));
  return file + header + data;
}

inline Result<SafeTensors> parse_bytes(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

// What reading a case from these bytes says: empty if it is read, else the message.
inline std::string case_error(const std::string& bytes) {
  Result<SafeTensors> file = parse_bytes(bytes);
  if (!file) return file.error().message();
  Result<CaseData> data = case_from(std::move(*file));
  return data ? "" : data.error().message();
}

inline void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
}

}  // namespace moe4::oracle
