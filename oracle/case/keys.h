// CASE-2: the keys of a case line, each with what reads its value.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle {

struct CaseKey {
  std::string name;
  std::function<Status(Case&, std::string_view key, std::string_view value)> set;
};

const std::vector<CaseKey>& case_key_table();

}  // namespace moe4::oracle
