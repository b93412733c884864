// What a child left in its folder of results (docs/command_subject.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "oracle/subject/subject.h"

namespace moe4::oracle {

// "0007.safetensors": the name of the n-th case and of its result.
std::string result_name(std::size_t n);
// In its place, a text file with a reason: the child does not take this case, or could not compute it.
std::string unsupported_name(std::size_t n);
std::string failed_name(std::size_t n);

// The n-th result of a child that ended with exit status 0. `largest`: bytes of a result file.
SubjectRun read_child_result(const std::filesystem::path& folder, std::size_t n, const CaseData& data,
                             std::uint64_t largest);

// "; it said: …": the last lines of its log, without bytes that a terminal would obey; empty for an empty
// log.
std::string last_words(const std::filesystem::path& log);

}  // namespace moe4::oracle
