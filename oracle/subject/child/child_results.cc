#include "oracle/subject/child/child_results.h"

#include <fmt/core.h>

#include <fstream>
#include <system_error>

#include "oracle/file/result_file.h"
#include "oracle/report/printable.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;
using Outcome = SubjectRun::Outcome;

constexpr std::size_t kMostText = 400;

// The end of a text file, on one line; hostile or missing ones are short or empty.
std::string tail_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return "";
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0) return "";
  const auto from =
      size > static_cast<std::streamoff>(kMostText) ? size - static_cast<std::streamoff>(kMostText) : 0;
  std::string text(static_cast<std::size_t>(size - from), '\0');
  file.seekg(from);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return (from > 0 ? "…" : "") + printable(text);
}

SubjectRun ended(Outcome outcome, std::string reason) {
  SubjectRun run;
  run.outcome = outcome;
  run.reason = std::move(reason);
  return run;
}

}  // namespace

std::string result_name(std::size_t n) { return fmt::format("{:04}.safetensors", n); }
std::string unsupported_name(std::size_t n) { return fmt::format("{:04}.unsupported", n); }
std::string failed_name(std::size_t n) { return fmt::format("{:04}.failed", n); }

SubjectRun read_child_result(const fs::path& folder, std::size_t n, const CaseData& data,
                             std::uint64_t largest) {
  std::error_code error;
  if (fs::exists(folder / failed_name(n), error)) {
    return ended(Outcome::kError, "it says: " + tail_of(folder / failed_name(n)));
  }
  if (fs::exists(folder / unsupported_name(n), error)) {
    return ended(Outcome::kUnsupported, "it says: " + tail_of(folder / unsupported_name(n)));
  }
  const fs::path path = folder / result_name(n);
  if (!fs::exists(fs::symlink_status(path, error))) {
    return ended(Outcome::kError, "ended with exit status 0, but wrote no result");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > largest) return ended(Outcome::kError, "its result is larger than the limit");
  Result<ResultFile> file = read_result(path);
  Status status = file.ok() ? check_recorded_case(data, *file) : Status(file.error());
  if (status) {
    const bool whole_file = status->field == path.string();  // a path that is gone when somebody reads this
    return ended(Outcome::kError, "its result: " + (whole_file ? status->rule : status->message()));
  }
  SubjectRun run;
  run.output = std::move(file->output);
  if (file->written) run.written = std::move(*file->written);
  run.unwritten = std::move(file->unwritten);
  run.inputs_unchanged = !file->inputs_changed;
  return run;
}

std::string last_words(const fs::path& log) {
  const std::string text = tail_of(log);
  return text.empty() ? "" : "; it said: " + text;
}

}  // namespace moe4::oracle
