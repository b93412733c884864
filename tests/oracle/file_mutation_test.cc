// Thousands of bent files through the reader: each is a case or an error with a rule, and memory stays within
// the file. The same entry as tests/fuzz, without a fuzzer's runtime.
#include <random>

#include "tests/oracle/file_support.h"

namespace moe4::oracle {
namespace {

// A valid file as (header, data).
std::pair<std::string, std::string> parts_of(const std::string& bytes) {
  std::size_t length = 0;
  for (std::size_t n = 8; n-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[n]);
  return {bytes.substr(8, length), bytes.substr(8 + length)};
}

std::string mutate(const std::string& bytes, std::mt19937_64& random) {
  static const std::vector<std::string> kTokens = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"",
                                                   "0",
                                                   "-1",
                                                   "1e9",
                                                   "18446744073709551615",
                                                   "4611686018427387904",
                                                   "null",
                                                   "\"dtype\"",
                                                   "\"shape\"",
                                                   "\"data_offsets\"",
                                                   "\"__metadata__\"",
                                                   "BF16",
                                                   "F64",
                                                   "U8",
                                                   "\\u0000",
                                                   "\xc3\x28"};
  auto [header, data] = parts_of(bytes);
  const auto below = [&random](std::size_t n) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1));
  };
  const std::size_t edits = 1 + below(3);
  for (std::size_t n = 0; n < edits; ++n) {
    switch (below(7)) {
      case 0:
        if (!header.empty()) header[below(header.size())] = static_cast<char>(random());
        break;
      case 1:
        header.insert(below(header.size()), kTokens[below(kTokens.size())]);
        break;
      case 2:
        header.erase(below(header.size()), 1 + below(8));
        break;
      case 3: {  // a digit becomes another
        const std::size_t at = header.find_first_of("0123456789", below(header.size()));
        if (at != std::string::npos) header[at] = static_cast<char>('0' + below(10));
        break;
      }
      case 4: {  // a piece of the header is repeated elsewhere
        const std::string piece = header.substr(below(header.size()), below(60));
        header.insert(below(header.size()), piece);
        break;
      }
      case 5:
        data.resize(below(data.size() * 2));
        break;
      default:
        if (!data.empty()) data[below(data.size())] = static_cast<char>(random());
    }
  }
  std::string file = with_length(header, data);
  if (below(8) == 0) file[below(8)] = static_cast<char>(random());
  if (below(8) == 0) file.resize(below(file.size()));
  return file;
}

TEST(Mutation, ReaderAnswersEveryFile) {
  std::vector<std::string> seeds;
  const auto path = std::filesystem::temp_directory_path() / ("moe4_mutation_" + std::to_string(getpid()));
  for (const char* line :
       {"tokens=2 experts=2 top_k=1 in=32 out=2 fill=exact8",
        "tokens=1 experts=3 top_k=2 in=64 out=1 dtype=f64 ids_dtype=i64 fill=bits ids=absent",
        "tokens=0 experts=1 top_k=1 in=32 out=1"}) {
    ASSERT_FALSE(write_case(path, data_of(line)));
    seeds.push_back(bytes_of(path));
  }
  std::filesystem::remove(path);

  std::mt19937_64 random(20240607);
  int accepted = 0, refused = 0;
  for (int n = 0; n < 6000; ++n) {
    const std::string bytes = mutate(seeds[static_cast<std::size_t>(n) % seeds.size()], random);
    const std::string error = case_error(bytes);
    error.empty() ? ++accepted : ++refused;
    if (!error.empty()) {
      const bool has_rule =
          error.find("FILE-") != std::string::npos || error.find("VAL-") != std::string::npos ||
          error.find("CASE-") != std::string::npos || error.find("COR") != std::string::npos;
      ASSERT_TRUE(has_rule) << error;
    }
  }
  EXPECT_GT(accepted, 100) << "edits of data alone leave a readable file";
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace moe4::oracle
