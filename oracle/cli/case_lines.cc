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
  Result<std::vector<Case>> lines = parse_case_list(*text);
  if (lines.ok()) return lines;
  return Error{argument.substr(1) + ": " + lines.error().field, lines.error().value, lines.error().rule};
}

}  // namespace moe4::oracle::cli
