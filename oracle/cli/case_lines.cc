#include "oracle/cli/case_lines.h"

#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {

Result<std::vector<Case>> read_case_lines(const std::string& argument) {
  if (argument.rfind('@', 0) != 0) {
    Result<Case> line = parse_case(argument);
    if (!line.ok()) return line.error();
    return std::vector<Case>{*line};
  }
  Result<std::string> text = read_file(argument.substr(1));
  if (!text.ok()) return text.error();
  return parse_case_list(*text);
}

}  // namespace moe4::oracle::cli
