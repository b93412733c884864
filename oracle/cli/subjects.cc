#include "oracle/cli/subjects.h"

#include <algorithm>

#include "oracle/case/nearest.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle::cli {

std::vector<std::string> kernel_names() { return executor_subject_names(); }

std::vector<std::string> subject_names() {
  std::vector<std::string> names = {"reference"};
  for (std::string& name : kernel_names()) names.push_back(std::move(name));
  return names;
}

Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const std::vector<std::string>& names) {
  const std::vector<std::string> known = subject_names();
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<std::string> opened;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Error{
          "subject", name,
          "unknown; the nearest known one is " + nearest_name(name, known) + " (moe4 list subjects)"};
    }
    if (std::find(opened.begin(), opened.end(), name) != opened.end()) continue;
    opened.push_back(name);
    if (name == "reference") {
      subjects.push_back(make_reference_subject());
      continue;
    }
    Result<std::unique_ptr<Subject>> subject = make_executor_subject(name);
    if (!subject.ok()) return subject.error();
    subjects.push_back(std::move(*subject));
  }
  return subjects;
}

void add_subject_options(CLI::App& command, SubjectOptions& options) {
  command
      .add_option("--subject", options.names,
                  "A subject by name (moe4 list subjects); repeatable; default: every kernel")
      ->take_all();
  command.add_option("--ptx", options.ptx, "A PTX file as a subject, with --declare (docs/ptx_subject.md)");
  command.add_option("--declare", options.declare, "The declaration of --ptx: a JSON file");
}

Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const SubjectOptions& options) {
  if (options.empty()) return open_subjects(kernel_names());
  if (options.ptx.empty() != options.declare.empty()) {
    return options.ptx.empty() ? Error{"declare", options.declare, "goes with --ptx FILE"}
                               : Error{"ptx", options.ptx, "goes with --declare FILE"};
  }
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(options.names);
  if (!subjects.ok() || options.ptx.empty()) return subjects;
  ExecutorSettings settings;
  settings.printed = options.printed;
  Result<std::unique_ptr<Subject>> subject = open_ptx_subject(options.ptx, options.declare, settings);
  if (!subject.ok()) return subject.error();
  subjects->push_back(std::move(*subject));
  return subjects;
}

}  // namespace moe4::oracle::cli
