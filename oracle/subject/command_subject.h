// A program of any language as a subject: safetensors in, safetensors out (docs/command_subject.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oracle/subject/child/child_process.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

struct CommandSettings {
  ChildLimits limits;
  std::int64_t batch = 32;    // cases of one start, at most
  std::int64_t timeouts = 3;  // after so many starts that took too long nothing is started any more
  bool packed = true;         // cases are exchange files (FILE-20); false: case files, whatever `layout` says
  std::vector<std::string> environment;  // ChildStart::environment
  std::function<bool()> stop;            // true: what runs is ended, and SKIPPED
  // Adds to the run of the n-th case what the program left in its folder of results beside the result, or in
  // its place.
  std::function<void(const std::filesystem::path& results, std::size_t n, SubjectRun& run)> more;
};

// `words` hold {cases} and {results} (oracle/subject/child/command_words.h). `selector` is what selects the
// subject on a command line.
//
// A start gets a folder of cases and writes a result of the same name for each. If it ends in any way but
// exit status 0 with all of them, what it wrote is thrown away and each of its cases gets a start of its own:
// no verdict depends on what else was in a folder.
std::unique_ptr<Subject> make_command_subject(std::vector<std::string> words, const Declaration& declaration,
                                              std::string selector, const CommandSettings& settings = {});

}  // namespace moe4::oracle
