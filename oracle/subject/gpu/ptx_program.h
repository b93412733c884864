// A subject whose kernel is PTX text that can be exchanged: what mutation needs of a subject.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/device/device.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

struct PtxProgram {
  std::string ptx;
  std::string entry;
  // May be called from several threads at once; the text must outlive the subject.
  std::function<Result<std::unique_ptr<Subject>>(std::string_view ptx, std::unique_ptr<gpu::Device> device)>
      make;
};

// A registered kernel variant. An Error if there is none of that name or it has no PTX.
Result<PtxProgram> kernel_program(std::string_view variant);

// PTX text with a declaration that has a `launch`; name is used in messages.
Result<PtxProgram> ptx_file_program(std::string ptx, std::string name, const Declaration& declaration);

}  // namespace moe4::oracle
