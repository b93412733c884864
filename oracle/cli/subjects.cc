#include "oracle/cli/subjects.h"

#include <algorithm>

#include "oracle/case/nearest.h"
#include "oracle/subject/gpu/executor_subject.h"

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

}  // namespace moe4::oracle::cli
