// Which subjects a command judges: --subject NAME, and one of --ptx FILE, --command CMD, --plugin LIB with
// --declare FILE; kernels on the executor or, with --device cuda, on a GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device/cuda_session.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle::cli {

// "reference" and then every registered kernel variant.
std::vector<std::string> subject_names();

// The registered kernel variants, in the order of the registry: what the gate judges by default.
std::vector<std::string> kernel_names();

struct SubjectOptions {
  std::vector<std::string> names;
  std::string ptx, command, plugin, declare;
  std::string device = "executor";
  gpu::CudaSettings cuda;
  std::function<void(std::string_view)> printed = {};  // gets what the kernel of `ptx` prints
  // Of a program (ChildLimits), and how many cases a start gets.
  double limit_time = 60;
  std::int64_t limit_memory = 8192, limit_output = 4096, batch = 32;

  bool empty() const {
    return names.empty() && ptx.empty() && command.empty() && plugin.empty() && declare.empty();
  }
};

void add_subject_options(CLI::App& command, SubjectOptions& options);
// --cuda-driver and --cuda-device alone.
void add_cuda_options(CLI::App& command, gpu::CudaSettings& cuda);

// The subjects of the given names, each once. An unknown name is an Error with the nearest known one.
Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const std::vector<std::string>& names);

// All that the options name, in their order; every kernel when they name nothing.
Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const SubjectOptions& options);

// --device all: why no GPU is among them; empty: one is, or none was asked for.
std::string gpu_left_out(const SubjectOptions& options);

}  // namespace moe4::oracle::cli
