// The subjects that this build has, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracle/subject/subject.h"

namespace moe4::oracle::cli {

// "reference" and then every registered kernel variant.
std::vector<std::string> subject_names();

// The registered kernel variants, in the order of the registry: what the gate judges by default.
std::vector<std::string> kernel_names();

// The subjects of the given names, each once. An unknown name is an Error with the nearest known one.
Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const std::vector<std::string>& names);

}  // namespace moe4::oracle::cli
