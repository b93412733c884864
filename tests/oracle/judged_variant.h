// Registered kernels on the executor, for tests: built or not, by name, run and judged on a case line.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "oracle/subject/gpu/executor_subject.h"

namespace moe4::oracle::test {

inline bool built_with_nvcc() { return !gpu::variants().empty() && !gpu::variants()[0].ptx.empty(); }

inline const gpu::Variant& registered(std::string_view name) {
  for (const gpu::Variant& variant : gpu::variants()) {
    if (variant.name == name) return variant;
  }
  throw std::invalid_argument(std::string(name));
}

struct Judged {
  SubjectRun run;
  Verdict verdict;
};

// Throws what the parser, the generator or the subject says; a case that the kernel refuses is a failure.
inline Judged judge_variant(const gpu::Variant& variant, const std::string& line) {
  Judged judged;
  const Result<Case> c = parse_case(line);
  if (!c.ok()) throw std::runtime_error(line + ": " + c.error().message());
  const Result<CaseData> data = generate(*c);
  if (!data.ok()) throw std::runtime_error(line + ": " + data.error().message());
  const Result<std::unique_ptr<Subject>> subject =
      make_executor_subject(variant, gpu::make_executor_device(), {});
  if (!subject.ok()) throw std::runtime_error(subject.error().message());
  EXPECT_FALSE((*subject)->declaration().refuses(*c)) << line;
  judged.run = (*subject)->run(*data);
  judged.verdict = judge(*data, (*subject)->declaration(), judged.run);
  return judged;
}

}  // namespace moe4::oracle::test
