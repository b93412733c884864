// PTX text that somebody else compiled, launched as its declaration says (docs/ptx_subject.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpu/device/device.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

// An Error if the text does not parse, the declaration has no launch, or the two do not fit: no such entry,
// another number of parameters, or one of another size. What the executor cannot run makes every case
// UNSUPPORTED. The text must outlive the subject; `name` stands in messages; `selector` is what selects this
// subject on a command line.
Result<std::unique_ptr<Subject>> make_ptx_subject(std::string_view ptx, std::string name,
                                                  const Declaration& declaration,
                                                  std::unique_ptr<gpu::Device> device,
                                                  const ExecutorSettings& settings = {},
                                                  std::string selector = "");

// The same from two files, with a text of its own; on the executor, or on a device of the caller's choice.
Result<std::unique_ptr<Subject>> open_ptx_subject(const std::string& ptx_path,
                                                  const std::string& declaration_path,
                                                  const ExecutorSettings& settings = {});
Result<std::unique_ptr<Subject>> open_ptx_subject(const std::string& ptx_path,
                                                  const std::string& declaration_path,
                                                  std::unique_ptr<gpu::Device> device,
                                                  const ExecutorSettings& settings);

}  // namespace moe4::oracle
