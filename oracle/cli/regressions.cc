#include "oracle/cli/regressions.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "oracle/file/atomic_file.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

Result<std::string> old_text(const std::string& path) {
  if (Status status = can_be_replaced(path)) return *status;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::string();
  return read_file(path);
}

Result<std::vector<Case>> lines_of(const std::string& path, const std::string& text) {
  Result<std::vector<Case>> lines = parse_case_list(text);
  if (lines.ok()) return lines;
  return Error{path + ": " + lines.error().field, lines.error().value, lines.error().rule};
}

// Without the comment and the line that append_regression wrote for the case.
std::string without(const std::string& text, const std::string& entry) {
  const std::size_t at = text.find(entry);
  return at == std::string::npos ? text : text.substr(0, at) + text.substr(at + entry.size());
}

std::string entry_of(const CaseResult& failed, const Case& line) {
  return fmt::format("# {} {}\n{}\n", failed.subject, name_of(failed.verdict.status), to_string(line));
}

}  // namespace

Result<std::vector<Case>> read_regressions(const std::string& path) {
  Result<std::string> text = old_text(path);
  if (!text.ok()) return text.error();
  return lines_of(path, *text);
}

Status append_regression(const std::string& path, const CaseResult& failed, const Case* instead) {
  Result<std::string> old = old_text(path);
  if (!old.ok()) return old.error();
  std::string text = instead == nullptr ? *old : without(*old, entry_of(failed, *instead));
  Result<std::vector<Case>> known = lines_of(path, text);
  if (!known.ok()) return known.error();
  if (std::find(known->begin(), known->end(), failed.line) == known->end()) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += entry_of(failed, failed.line);
  }
  return text == *old ? Status() : write_file(path, text);
}

}  // namespace moe4::oracle::cli
