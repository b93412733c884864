// The case files that a program of somebody else computes from (docs/command_subject.md, FILE-20).
#pragma once

#include <filesystem>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

// As write_case; the weights of a case with `layout` stand in that layout, unless `packed` is false.
Status write_exchange_case(const std::filesystem::path& path, const CaseData& data, bool packed = true);

// Does the file still say what write_exchange_case wrote?
bool holds_exchange_case(const std::filesystem::path& path, const CaseData& data, bool packed = true);

}  // namespace moe4::oracle
