// Reads the source tree as text, for tests about the tree itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace moe4::layering {

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};

// Files below `folder` (relative to the root) whose name ends in one of `endings`, sorted by path.
std::vector<SourceFile> read_sources(const std::string& folder, const std::vector<std::string>& endings);

// One file, by its path relative to the root; no lines if it does not exist.
SourceFile read_source(const std::string& path);

// The text of a line without // comments and string literals' contents.
std::string code_of(const std::string& line);

}  // namespace moe4::layering
