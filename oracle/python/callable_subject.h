// A Python callable as a subject of the gate, in this process.
#pragma once

#include <nanobind/nanobind.h>

#include "oracle/subject/subject.h"

namespace moe4::python {

// The plain numbers that go with the tensors of a case: top_k and block_m, expected_m.
nanobind::dict numbers_of(const oracle::CaseData& data);

// run({name: (array, dtype)}, {name: number}) -> (View of the output, View of `written` or None). It gets
// copies of the case's tensors, which are compared afterwards (VER-7); tensors of kWithoutCopy bytes and more
// as they are, read-only. An exception is a crash of the subject (CRASHED), but for what is no Exception
// (KeyboardInterrupt), which ends the gate.
class CallableSubject : public oracle::Subject {
 public:
  static constexpr std::size_t kWithoutCopy = std::size_t{1} << 26;

  CallableSubject(nanobind::callable run, oracle::Declaration declaration)
      : run_(std::move(run)), declaration_(std::move(declaration)) {}

  const oracle::Declaration& declaration() const override { return declaration_; }
  // Called without the GIL.
  oracle::SubjectRun run(const oracle::CaseData& data) override;
  std::string selector() const override { return "--python " + declaration_.name; }

 private:
  nanobind::callable run_;
  oracle::Declaration declaration_;
};

}  // namespace moe4::python
