// A subject run over a folder of cases in a process of its own: a kernel that faults or hangs takes the
// process's GPU context with it, and nothing else.
//
// Beside the result of a case, or in its place, NNNN.device.json says what a result file has no room for: the
// outcome, the findings, the approximate instructions.
#pragma once

#include <filesystem>
#include <string>

#include "gpu/device/cuda_session.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

// What is hosted: a registered variant, or a PTX file and its declaration.
struct HostedSubject {
  std::string name;
  std::string ptx, declare;
  gpu::CudaSettings cuda;
  double seconds = 10;  // that a kernel may run
};

// Runs the cases in the order of their names. An Error: no such subject, no device, or a file that cannot be
// read or written. Ends early when the context is lost: the cases behind it have no result.
Status host_on_cuda(const HostedSubject& hosted, const std::filesystem::path& cases,
                    const std::filesystem::path& results);

// What NNNN.device.json adds to a run; without one the run stays as it is.
void read_device_answer(const std::filesystem::path& results, std::size_t n, SubjectRun& run);

}  // namespace moe4::oracle
