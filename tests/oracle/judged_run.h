// Cases and runs for the tests of the judge.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "tests/reference/kernel_simulation.h"

namespace moe4::oracle::test {

// Throws what the parser or the generator says.
inline CaseData data_of(const std::string& line) {
  const Result<Case> c = parse_case(line);
  if (!c.ok()) throw std::runtime_error(line + ": " + c.error().message());
  Result<CaseData> data = generate(c.value());
  if (!data.ok()) throw std::runtime_error(line + ": " + data.error().message());
  return std::move(data).value();
}

inline Declaration declaration_of(const char* order, bool rounded = false) {
  Declaration d;
  d.name = "test";
  d.profile = "once";
  d.arithmetic = {parse_order(order).value(), rounded, false};
  return d;
}

inline SubjectRun run_of(Tensor output) {
  SubjectRun run;
  run.output = std::move(output);
  return run;
}

inline Tensor norm_of(const CaseData& data) {
  Tensor output(data.latent_tokens.dtype(), {data.latent_tokens.dim(0), data.packed_weights.dim(1)});
  const Status error = mxfp4_expert_linear(data.inputs(), output.mutable_view(), data.policy);
  EXPECT_FALSE(error) << error->message();
  return output;
}

inline SubjectRun norm_run(const CaseData& data) { return run_of(norm_of(data)); }

// The statuses by name, so that a failure reads well.
inline std::string status_of(const Verdict& verdict) { return std::string(name_of(verdict.status)); }

}  // namespace moe4::oracle::test
