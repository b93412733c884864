#include "tests/layering/source_tree.h"

#include <algorithm>
#include <fstream>

namespace moe4::layering {
namespace {

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<SourceFile> read_sources(const std::string& folder, const std::vector<std::string>& endings) {
  const std::filesystem::path root = MOE4_SOURCE_DIR;
  std::vector<SourceFile> files;
  if (!std::filesystem::exists(root / folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().filename().string();
    const bool wanted =
        std::any_of(endings.begin(), endings.end(), [&](const std::string& e) { return name.ends_with(e); });
    if (wanted)
      files.push_back(
          {std::filesystem::relative(entry.path(), root).generic_string(), read_lines(entry.path())});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

SourceFile read_source(const std::string& path) {
  return {path, read_lines(std::filesystem::path(MOE4_SOURCE_DIR) / path)};
}

std::string code_of(const std::string& line) {
  std::string code;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
        code += c;
      }
      continue;
    }
    if (c == '/' && i + 1 < line.size() && line[i + 1] == '/') break;
    if (c == '"') in_string = true;
    code += c;
  }
  return code;
}

}  // namespace moe4::layering
