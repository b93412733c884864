// A registered kernel variant on the PTX executor, as a subject.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/launch/variant.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

struct ExecutorSettings {
  std::uint64_t instruction_budget = std::uint64_t{1}
                                     << 33;  // warp instructions a launch; beyond it: TIMEOUT
  int host_threads = 0;                      // 0: all cores
  // Whose tensor cores (a name of tensor_cores()) where neither case nor declaration says it (CASE-19).
  std::string hardware = "hopper";
  // The generation that takes the place of a declared one: the chip that the same kernel is compared with
  // (VER-20). Empty: none does.
  std::string chip;
  double time_limit = 60;                              // seconds, of a run on a GPU
  std::function<void(std::string_view)> printed = {};  // gets what a kernel prints
};

// The names of all variants of gpu/kernels.inc. In a build without the CUDA Toolkit they have no PTX, and
// every case is UNSUPPORTED for them.
std::vector<std::string> executor_subject_names();

// The variant of that name. An Error if there is none or if its declaration is not valid.
//
// A run lends the inputs, leaves the output unwritten and launches; the device runs it under two patterns of
// unwritten memory. Everything that the device finds is a DeviceFinding.
Result<std::unique_ptr<Subject>> make_executor_subject(std::string_view name,
                                                       const ExecutorSettings& settings = {});

// That variant on a device of the caller's choice.
Result<std::unique_ptr<Subject>> make_executor_subject(std::string_view name,
                                                       std::unique_ptr<gpu::Device> device,
                                                       const ExecutorSettings& settings);

// `declaration` on ExecutorSettings::chip.
Declaration declared_on(Declaration declaration, const std::string& chip);

// The same for a variant that is not registered (a test's, or PTX with edits) on a device of the caller's
// choice.
Result<std::unique_ptr<Subject>> make_executor_subject(const gpu::Variant& variant,
                                                       std::unique_ptr<gpu::Device> device,
                                                       const ExecutorSettings& settings = {});

}  // namespace moe4::oracle
