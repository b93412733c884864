// Shared by the tests of cases, data and case files.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "oracle/case/case.h"
#include "oracle/file/case_file.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle {

// The line must parse; a test whose line does not is broken.
inline Case case_of(const std::string& line) {
  Result<Case> c = parse_case(line);
  if (!c) ADD_FAILURE() << line << ": " << c.error().message();
  return c ? *c : Case{};
}

inline CaseData data_of(const Case& c) {
  Result<CaseData> data = generate(c);
  if (!data) ADD_FAILURE() << to_string(c) << ": " << data.error().message();
  return data ? std::move(*data) : CaseData{};
}

inline CaseData data_of(const std::string& line) { return data_of(case_of(line)); }

// "CASE-3" of "CASE-3: a whole number ..."; empty if the line is accepted.
inline std::string rule_of(const std::string& line) {
  const Result<Case> c = parse_case(line);
  return c ? "" : c.error().rule.substr(0, c.error().rule.find(':'));
}

// The code of weight (e, o, i).
inline unsigned code_at(const CaseData& data, std::int64_t e, std::int64_t o, std::int64_t i) {
  const std::int64_t in = data.scale_bytes.dim(2) * 32;
  const std::int64_t byte = ((e * data.scale_bytes.dim(1) + o) * in + i) / 2;
  const unsigned both = data.packed_weights.as<std::uint8_t>()[static_cast<std::size_t>(byte)];
  return i % 2 == 0 ? both & 15u : both >> 4;
}

inline unsigned scale_at(const CaseData& data, std::int64_t e, std::int64_t o, std::int64_t g) {
  const std::int64_t at = (e * data.scale_bytes.dim(1) + o) * data.scale_bytes.dim(2) + g;
  return data.scale_bytes.as<std::uint8_t>()[static_cast<std::size_t>(at)];
}

}  // namespace moe4::oracle
