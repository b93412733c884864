#include "oracle/subject/gpu/executor_subject.h"

#include <chrono>

#include "oracle/case/nearest.h"
#include "oracle/subject/gpu/device_run.h"

namespace moe4::oracle {
namespace {

std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

struct Placed {
  gpu::ExpertLinearBuffers buffers;
  std::optional<gpu::KernelLaunch> launch;
};

class ExecutorSubject : public Subject {
 public:
  ExecutorSubject(const gpu::Variant& variant, std::unique_ptr<gpu::Device> device, Declaration declaration,
                  const ExecutorSettings& settings)
      : variant_(variant),
        device_(std::move(device)),
        declaration_(std::move(declaration)),
        settings_(settings) {}

  const Declaration& declaration() const override { return declaration_; }

  SubjectRun run(const CaseData& data) override {
    const auto start = std::chrono::steady_clock::now();
    SubjectRun result = run_on_device(data);
    device_->reset();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  Placed place(const CaseData& data, const ExpertLinearDims& dims, std::size_t output_bytes) {
    device_->reset();
    Placed placed;
    placed.buffers.latent_tokens = device_->add_input("latent_tokens", bytes_of(data.latent_tokens));
    placed.buffers.packed_weights = device_->add_input("packed_weights", bytes_of(data.packed_weights));
    placed.buffers.scale_bytes = device_->add_input("scale_bytes", bytes_of(data.scale_bytes));
    placed.buffers.selected_experts = device_->add_input("selected_experts", bytes_of(data.selected_experts));
    placed.buffers.mixture_weights = device_->add_input("mixture_weights", bytes_of(data.mixture_weights));
    placed.buffers.shared_output = device_->add_input("shared_output", bytes_of(data.shared_output));
    placed.buffers.output = device_->add_output("output", output_bytes);
    const gpu::ExpertLinearShape shape{dims.tokens, dims.experts, dims.in, dims.out, dims.top_k};
    placed.launch = variant_.plan(variant_, shape, placed.buffers);
    return placed;
  }

  // result.output has its shape; fills in everything else.
  void launch(const CaseData& data, const ExpertLinearDims& dims, SubjectRun& result) {
    const Placed placed = place(data, dims, result.output.bytes());
    if (!placed.launch) return;
    gpu::LaunchSettings settings;
    settings.schedule = data.line ? data.line->schedule : std::nullopt;
    settings.host_threads = settings_.host_threads;
    settings.instruction_budget = settings_.instruction_budget;
    run_launch(*device_, *placed.launch, settings, placed.buffers.output, result);
  }

  SubjectRun run_on_device(const CaseData& data) {
    SubjectRun result;
    Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(data.inputs(), data.policy);
    if (!dims.ok()) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = dims.error().message();
      return result;
    }
    result.output = Tensor(data.latent_tokens.dtype(), {dims->tokens, dims->out});
    launch(data, *dims, result);
    return result;
  }

  gpu::Variant variant_;
  std::unique_ptr<gpu::Device> device_;
  Declaration declaration_;
  ExecutorSettings settings_;
};

}  // namespace

std::vector<std::string> executor_subject_names() {
  std::vector<std::string> names;
  for (const gpu::Variant& variant : gpu::variants()) names.emplace_back(variant.name);
  return names;
}

Result<std::unique_ptr<Subject>> make_executor_subject(const gpu::Variant& variant,
                                                       std::unique_ptr<gpu::Device> device,
                                                       const ExecutorSettings& settings) {
  Result<Declaration> declaration = parse_declaration(variant.declaration);
  if (!declaration.ok()) {
    const Error& error = declaration.error();
    return Error{std::string(variant.name) + ": " + error.field, error.value, error.rule};
  }
  return std::unique_ptr<Subject>(
      std::make_unique<ExecutorSubject>(variant, std::move(device), std::move(*declaration), settings));
}

Result<std::unique_ptr<Subject>> make_executor_subject(std::string_view name,
                                                       const ExecutorSettings& settings) {
  for (const gpu::Variant& variant : gpu::variants()) {
    if (variant.name == name) return make_executor_subject(variant, gpu::make_executor_device(), settings);
  }
  return Error{
      "subject", std::string(name),
      "no such kernel variant; the nearest known one is " + nearest_name(name, executor_subject_names())};
}

}  // namespace moe4::oracle
