#include "oracle/subject/gpu/ptx_program.h"

#include "oracle/case/nearest.h"
#include "oracle/subject/gpu/executor_subject.h"

namespace moe4::oracle {

Result<PtxProgram> kernel_program(std::string_view name) {
  for (const gpu::Variant& variant : gpu::variants()) {
    if (variant.name != name) continue;
    if (variant.ptx.empty()) {
      return Error{"subject", std::string(name), "this build has no PTX of it: no CUDA compiler"};
    }
    PtxProgram program;
    program.ptx = std::string(variant.ptx);
    program.entry = std::string(variant.name);
    program.make = [variant](std::string_view ptx, std::unique_ptr<gpu::Device> device) {
      gpu::Variant edited = variant;
      edited.ptx = ptx;
      return make_executor_subject(edited, std::move(device));
    };
    return program;
  }
  return Error{"subject", std::string(name),
               "a kernel with PTX text; the nearest one is " + nearest_name(name, executor_subject_names())};
}

}  // namespace moe4::oracle
