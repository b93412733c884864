#include "oracle/subject/gpu/ptx_subject.h"

#include <chrono>

#include "gpu/ptx/ptx.h"
#include "oracle/case/nearest.h"
#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "oracle/report/failure.h"
#include "oracle/report/write_file.h"
#include "oracle/subject/declaration_file.h"
#include "oracle/subject/gpu/device_run.h"
#include "oracle/subject/gpu/executor_tensor_core.h"
#include "oracle/subject/gpu/launch_plan.h"
#include "oracle/subject/gpu/ptx_program.h"
#include "oracle/subject/launch_values.h"

namespace moe4::oracle {
namespace {

bool declares_tensor_core(const Declaration& declaration) {
  return declaration.any_accumulation ||
         declaration.arithmetic.accumulation.kind == Accumulation::Kind::kTensorCore;
}

class PtxSubject : public Subject {
 public:
  PtxSubject(std::string_view ptx, std::string name, const Declaration& declaration,
             std::unique_ptr<gpu::Device> device, const ExecutorSettings& settings, std::string selector)
      : ptx_(ptx),
        name_(std::move(name)),
        declaration_(declaration),
        device_(std::move(device)),
        settings_(settings),
        selector_(std::move(selector)) {}

  // For a subject that owns its text.
  void own(std::shared_ptr<const std::string> text) { text_ = std::move(text); }

  const Declaration& declaration() const override { return declaration_; }
  std::string selector() const override { return selector_.empty() ? Subject::selector() : selector_; }

  SubjectRun run(const CaseData& data) override {
    const auto start = std::chrono::steady_clock::now();
    SubjectRun result = run_on_device(data);
    device_->reset();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  SubjectRun run_on_device(const CaseData& data) {
    SubjectRun result;
    const auto refuse = [&](SubjectRun::Outcome outcome, std::string reason) {
      result.outcome = outcome;
      result.reason = std::move(reason);
      return result;
    };
    if (const Status status = validate(data)) return refuse(SubjectRun::Outcome::kError, status->message());
    const std::string unsupported = unsupported_in(*declaration_.launch);
    if (!unsupported.empty()) return refuse(SubjectRun::Outcome::kUnsupported, unsupported);
    const OutputShape due = output_shape(data);
    result.output = Tensor(due.dtype, due.shape);
    device_->reset();
    Result<LaunchPlan> plan = plan_launch(*declaration_.launch, data, result.output.bytes(), *device_);
    if (!plan.ok()) return refuse(SubjectRun::Outcome::kError, plan.error().message());
    if (!plan->launch) {  // nothing runs, so nothing is written unless the output comes as zeros
      const auto elements = static_cast<std::size_t>(result.output.elements());
      if (!declaration_.launch->output_zeroed) result.unwritten.assign(elements, true);
      return result;
    }
    plan->launch->ptx = ptx_;
    plan->launch->module_name = name_;
    gpu::LaunchSettings settings;
    settings.schedule = data.line ? data.line->schedule : std::nullopt;
    settings.host_threads = settings_.host_threads;
    settings.instruction_budget = settings_.instruction_budget;
    settings.tensor_core = executor_tensor_core(data, declaration_, settings_.hardware);
    settings.printed = settings_.printed;
    settings.time_limit = std::chrono::duration<double>(settings_.time_limit);
    run_launch(*device_, *plan->launch, settings, plan->output, result);
    if (declaration_.launch->output_zeroed) result.unwritten.clear();
    return result;
  }

  std::shared_ptr<const std::string> text_;
  std::string_view ptx_;
  std::string name_;
  Declaration declaration_;
  std::unique_ptr<gpu::Device> device_;
  ExecutorSettings settings_;
  std::string selector_;
};

std::uint32_t parameter_bytes(const LaunchArgument& argument) {
  if (const auto* scalar = std::get_if<ScalarArgument>(&argument)) return size_of(scalar->type);
  return std::holds_alternative<TensorMapArgument>(argument) ? 128 : 8;
}

Status fits(const ptx::EntryInfo& entry, const LaunchDeclaration& launch) {
  const std::string field = "declaration.launch.arguments";
  if (entry.parameters.size() != launch.arguments.size()) {
    return Error{field, std::to_string(launch.arguments.size()) + " arguments",
                 "the entry " + entry.name + " takes " + std::to_string(entry.parameters.size())};
  }
  for (std::size_t n = 0; n < launch.arguments.size(); ++n) {
    const std::uint32_t bytes = parameter_bytes(launch.arguments[n]);
    if (bytes != entry.parameters[n].size) {
      return Error{
          field + "[" + std::to_string(n) + "]", std::to_string(bytes) + " bytes",
          "the parameter " + entry.parameters[n].name + " has " + std::to_string(entry.parameters[n].size)};
    }
  }
  return {};
}

Status check(std::string_view ptx, const std::string& name, const Declaration& declaration) {
  if (!declaration.launch) {
    return Error{"declaration.launch", "", "required for a PTX file (docs/ptx_subject.md), but missing"};
  }
  ptx::Error error;
  const std::optional<ptx::Module> module = ptx::Module::parse(ptx, name, &error);
  if (!module) {
    return Error{name + ":" + std::to_string(error.line), error.instruction, error.message};
  }
  std::vector<std::string> known;
  for (const ptx::EntryInfo& entry : module->entries()) {
    if (entry.name == declaration.launch->entry) {
      if (entry.needs_tensor_core && !declares_tensor_core(declaration)) {
        return Error{
            "declaration.accumulation", std::string(name_of(declaration.arithmetic.accumulation)),
            "the generation of a tensor core (ACC-1), or any: the entry multiplies matrices, and the chip "
            "decides the bits"};
      }
      if (declaration.bits_declared && !entry.approximate.empty()) {
        const ptx::Error& first = entry.approximate.front();
        return Error{"declaration.bits", "declared",
                     "VER-17: the ISA leaves the bits open of " + first.instruction + ", line " +
                         std::to_string(first.line)};
      }
      return fits(entry, *declaration.launch);
    }
    known.push_back(entry.name);
  }
  return Error{
      "declaration.launch.entry", declaration.launch->entry,
      "an entry of " + name +
          (known.empty() ? ", which has none"
                         : "; the nearest one is " + nearest_name(declaration.launch->entry, known))};
}

}  // namespace

Result<std::unique_ptr<Subject>> make_ptx_subject(std::string_view ptx, std::string name,
                                                  const Declaration& declaration,
                                                  std::unique_ptr<gpu::Device> device,
                                                  const ExecutorSettings& settings, std::string selector) {
  if (Status status = check(ptx, name, declaration)) return *status;
  return std::unique_ptr<Subject>(std::make_unique<PtxSubject>(
      ptx, std::move(name), declaration, std::move(device), settings, std::move(selector)));
}

Result<std::unique_ptr<Subject>> open_ptx_subject(const std::string& ptx_path,
                                                  const std::string& declaration_path,
                                                  const ExecutorSettings& settings) {
  return open_ptx_subject(ptx_path, declaration_path, gpu::make_executor_device(), settings);
}

Result<std::unique_ptr<Subject>> open_ptx_subject(const std::string& ptx_path,
                                                  const std::string& declaration_path,
                                                  std::unique_ptr<gpu::Device> device,
                                                  const ExecutorSettings& settings) {
  Result<std::string> text = read_file(ptx_path);
  if (!text.ok()) return text.error();
  Result<Declaration> declaration = read_declaration(declaration_path);
  if (!declaration.ok()) return declaration.error();
  auto owned = std::make_shared<const std::string>(std::move(*text));
  if (Status status = check(*owned, ptx_path, *declaration)) return *status;
  auto subject = std::make_unique<PtxSubject>(
      *owned, ptx_path, declared_on(std::move(*declaration), settings.chip), std::move(device), settings,
      "--ptx " + shell_word(ptx_path) + " --declare " + shell_word(declaration_path));
  subject->own(std::move(owned));
  return std::unique_ptr<Subject>(std::move(subject));
}

Result<PtxProgram> ptx_file_program(std::string ptx, std::string name, const Declaration& declaration) {
  if (Status status = check(ptx, name, declaration)) return *status;
  PtxProgram program;
  program.ptx = std::move(ptx);
  program.entry = declaration.launch->entry;
  program.make = [name, declaration](std::string_view text, std::unique_ptr<gpu::Device> device) {
    // Not checked again: what a mutant breaks shows when it is launched.
    return Result<std::unique_ptr<Subject>>(
        std::make_unique<PtxSubject>(text, name, declaration, std::move(device), ExecutorSettings{}, ""));
  };
  return program;
}

}  // namespace moe4::oracle
