#include "oracle/cli/subjects.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "oracle/case/nearest.h"
#include "oracle/cli/interrupt.h"
#include "oracle/cli/number_options.h"
#include "oracle/report/failure.h"
#include "oracle/subject/child/command_words.h"
#include "oracle/subject/command_subject.h"
#include "oracle/subject/declaration_file.h"
#include "oracle/subject/gpu/cuda_subject.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle::cli {

std::vector<std::string> kernel_names() { return executor_subject_names(); }

std::vector<std::string> subject_names() {
  std::vector<std::string> names = {"reference"};
  for (std::string& name : kernel_names()) names.push_back(std::move(name));
  return names;
}

Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const std::vector<std::string>& names) {
  const std::vector<std::string> known = subject_names();
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<std::string> opened;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Error{
          "subject", name,
          "unknown; the nearest known one is " + nearest_name(name, known) + " (moe4 list subjects)"};
    }
    if (std::find(opened.begin(), opened.end(), name) != opened.end()) continue;
    opened.push_back(name);
    if (name == "reference") {
      subjects.push_back(make_reference_subject());
      continue;
    }
    Result<std::unique_ptr<Subject>> subject = make_executor_subject(name);
    if (!subject.ok()) return subject.error();
    subjects.push_back(std::move(*subject));
  }
  return subjects;
}

void add_subject_options(CLI::App& command, SubjectOptions& options) {
  command
      .add_option("--subject", options.names,
                  "A subject by name (moe4 list subjects); repeatable; default: every kernel")
      ->take_all();
  command.add_option("--ptx", options.ptx, "A PTX file as a subject, with --declare (docs/ptx_subject.md)");
  command.add_option(
      "--command", options.command,
      "A program as a subject, with --declare: 'prog {cases} {results}' (docs/command_subject.md)");
  command.add_option("--plugin", options.plugin,
                     "A shared library as a subject, with --declare (docs/plugin.md)");
  command.add_option("--declare", options.declare,
                     "The declaration of --ptx, --command or --plugin: a JSON file");
  command
      .add_option(
          "--device", options.device,
          "Where kernels and --ptx run: executor, cuda, or all: the executor, and a GPU if there is one "
          "(docs/cuda.md); default executor")
      ->check(CLI::IsMember({"executor", "cuda", "all"}));
  add_cuda_options(command, options.cuda);
  command
      .add_option("--limit-time", options.limit_time,
                  "A program, plug-in or GPU is stopped after so many seconds without a result; default 60")
      ->check(seconds());
  command.add_option("--limit-memory", options.limit_memory, "MiB that it may use; default 8192")
      ->check(CLI::PositiveNumber);
  command.add_option("--limit-output", options.limit_output, "MiB that it may write; default 4096")
      ->check(CLI::PositiveNumber);
  command.add_option("--batch", options.batch, "Cases that a start of it gets; default 32")
      ->check(CLI::PositiveNumber);
}

void add_cuda_options(CLI::App& command, gpu::CudaSettings& cuda) {
  command.add_option("--cuda-driver", cuda.driver,
                     "The CUDA driver's library; default $MOE4_CUDA_DRIVER, else libcuda.so.1");
  command.add_option("--cuda-device", cuda.ordinal, "Which GPU of it; default 0")
      ->check(CLI::NonNegativeNumber);
}

namespace {

// What selects a program on a command line, with what is not as by default.
std::string selector_of(const SubjectOptions& o, const std::string& what) {
  const SubjectOptions usual;
  std::string text = what + " --declare " + shell_word(o.declare);
  if (o.limit_time != usual.limit_time) text += fmt::format(" --limit-time {:g}", o.limit_time);
  if (o.limit_memory != usual.limit_memory) text += fmt::format(" --limit-memory {}", o.limit_memory);
  if (o.limit_output != usual.limit_output) text += fmt::format(" --limit-output {}", o.limit_output);
  return text;
}

CommandSettings settings_of(const SubjectOptions& o) {
  CommandSettings settings;
  settings.limits.time = std::chrono::duration<double>(o.limit_time);
  settings.limits.memory = static_cast<std::uint64_t>(o.limit_memory) << 20;
  settings.limits.output = static_cast<std::uint64_t>(o.limit_output) << 20;
  settings.batch = o.batch;
  settings.stop = [] { return interrupted(); };
  return settings;
}

Result<std::unique_ptr<Subject>> open_command(const SubjectOptions& o) {
  Result<std::vector<std::string>> words = command_words(o.command);
  if (!words.ok()) return words.error();
  Result<Declaration> declaration = read_declaration(o.declare);
  if (!declaration.ok()) return declaration.error();
  return make_command_subject(std::move(*words), *declaration,
                              selector_of(o, "--command " + shell_word(o.command)), settings_of(o));
}

Result<std::string> own_program(const std::string& option, const std::string& value) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{option, value, "needs /proc/self/exe: " + error.message()};
  return self.string();
}

// Kernels by name, and a PTX file, on a GPU.
Result<std::vector<std::unique_ptr<Subject>>> open_on_cuda(const SubjectOptions& o) {
  if (!o.command.empty() || !o.plugin.empty()) {
    return Error{"device", "cuda",
                 "goes with kernels by name and with --ptx; a program or plug-in drives its own device"};
  }
  std::vector<std::string> names = o.names;
  if (names.empty() && o.ptx.empty()) names = kernel_names();
  const Result<std::string> self = own_program("device", "cuda");
  if (!self.ok()) return self.error();
  const CudaSubjectSettings settings{*self, settings_of(o)};
  std::vector<HostedSubject> hosted;
  for (const std::string& name : names) {
    if (name == "reference") return Error{"subject", name, "the reference runs on no device"};
    hosted.push_back({name, "", "", o.cuda});
  }
  if (!o.ptx.empty()) hosted.push_back({"", o.ptx, o.declare, o.cuda});
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const HostedSubject& each : hosted) {
    Result<std::unique_ptr<Subject>> subject = make_cuda_subject(each, settings);
    if (!subject.ok()) return subject.error();
    subjects.push_back(std::move(*subject));
  }
  return subjects;
}

// The library runs in another process of this very program.
Result<std::unique_ptr<Subject>> open_plugin(const SubjectOptions& o) {
  Result<Declaration> declaration = read_declaration(o.declare);
  if (!declaration.ok()) return declaration.error();
  std::error_code error;
  const std::filesystem::path library = std::filesystem::absolute(o.plugin, error);
  if (error || !std::filesystem::is_regular_file(library, error)) {
    return Error{"plugin", o.plugin, "is a file: a shared library (docs/plugin.md)"};
  }
  const Result<std::string> self = own_program("plugin", o.plugin);
  if (!self.ok()) return self.error();
  CommandSettings settings = settings_of(o);
  settings.packed = false;
  settings.environment = {"OMP_WAIT_POLICY=passive"};  // idle threads of it sleep: ours want the cores
  std::vector<std::string> words = {*self, "plugin-host", library.string(), "{cases}", "{results}"};
  if (declaration->deterministic) words.emplace_back("--deterministic");
  return make_command_subject(std::move(words), *declaration,
                              selector_of(o, "--plugin " + shell_word(o.plugin)), settings);
}

Status unfit(const SubjectOptions& options) {
  const std::pair<const char*, const std::string&> kinds[] = {
      {"ptx", options.ptx}, {"command", options.command}, {"plugin", options.plugin}};
  std::string given;
  for (const auto& [name, value] : kinds) {
    if (value.empty()) continue;
    if (!given.empty())
      return Error{name, value, "one of --ptx, --command, --plugin at a time: --declare speaks of one"};
    given = name;
    if (options.declare.empty()) return Error{name, value, "goes with --declare FILE"};
  }
  if (given.empty() && !options.declare.empty()) {
    return Error{"declare", options.declare, "goes with --ptx FILE, --command CMD or --plugin LIB"};
  }
  return {};
}

// Kernels and a PTX file on the executor, programs, plug-ins.
Result<std::vector<std::unique_ptr<Subject>>> open_without_gpu(const SubjectOptions& options) {
  const bool foreign = !options.ptx.empty() || !options.command.empty() || !options.plugin.empty();
  Result<std::vector<std::unique_ptr<Subject>>> subjects =
      open_subjects(options.names.empty() && !foreign ? kernel_names() : options.names);
  if (!subjects.ok() || !foreign) return subjects;
  ExecutorSettings settings;
  settings.printed = options.printed;
  Result<std::unique_ptr<Subject>> subject = !options.ptx.empty()
                                                 ? open_ptx_subject(options.ptx, options.declare, settings)
                                             : !options.command.empty() ? open_command(options)
                                                                        : open_plugin(options);
  if (!subject.ok()) return subject.error();
  subjects->push_back(std::move(*subject));
  return subjects;
}

}  // namespace

Result<std::vector<std::unique_ptr<Subject>>> open_subjects(const SubjectOptions& options) {
  if (Status status = unfit(options)) return *status;
  if (options.device == "cuda") return open_on_cuda(options);
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_without_gpu(options);
  if (!subjects.ok() || options.device == "executor" || !gpu_left_out(options).empty()) return subjects;
  Result<std::vector<std::unique_ptr<Subject>>> there = open_on_cuda(options);
  if (!there.ok()) return there.error();
  std::move(there->begin(), there->end(), std::back_inserter(*subjects));
  return subjects;
}

std::string gpu_left_out(const SubjectOptions& options) {
  return options.device == "all" ? gpu::open_cuda(options.cuda, false).error : "";
}

}  // namespace moe4::oracle::cli
