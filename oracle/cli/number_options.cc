#include "oracle/cli/number_options.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

namespace moe4::oracle::cli {
namespace {

template <class T, class... Format>
bool reads_whole(const std::string& text, std::size_t from, T& value, Format... format) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data() + from, end, value, format...);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

CLI::Validator seconds() {
  return {[](std::string& text) -> std::string {
            double value = 0;
            if (reads_whole(text, 0, value) && std::isfinite(value) && value > 0) return {};
            return "'" + text + "' is no number of seconds above 0";
          },
          "SECONDS"};
}

CLI::Validator seed() {
  return {[](std::string& text) -> std::string {
            std::uint64_t value = 0;
            const bool hex = text.starts_with("0x") || text.starts_with("0X");
            if (hex ? reads_whole(text, 2, value, 16) : reads_whole(text, 0, value, 10)) return {};
            return "'" + text + "' is no number from 0 to 2^64 - 1, decimal or after 0x";
          },
          "SEED"};
}

}  // namespace moe4::oracle::cli
