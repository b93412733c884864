// A kernel on a GPU as a subject, beside the same kernel on the executor (VER-21).
//
// Each start of a child process (device_host.h) runs some cases on the GPU: a fault or a hang is a status of
// its case. With no GPU every run is SKIPPED, and says why.
#pragma once

#include <memory>
#include <string>

#include "gpu/device/cuda_session.h"
#include "oracle/subject/command_subject.h"
#include "oracle/subject/gpu/device_host.h"

namespace moe4::oracle {

struct CudaSubjectSettings {
  std::string program;  // this program, started with the word device-host
  CommandSettings child;
};

// "hopper" of a chip of capability 90; empty: no rule of ACC-14 is known for it.
std::string generation_of(int capability);

// The subject is named NAME/cuda. Its declaration is the kernel's, with the chip's generation where it
// declares tensor cores (VER-20). An Error: no such variant, or files that declare nothing valid.
Result<std::unique_ptr<Subject>> make_cuda_subject(const HostedSubject& hosted,
                                                   const CudaSubjectSettings& settings);

}  // namespace moe4::oracle
