#include "oracle/subject/gpu/executor_subject.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "oracle/subject/nearest.h"

namespace moe4::oracle {
namespace {

// Two patterns that differ in every bit: what shows up in an output under one can't under the other.
constexpr std::byte kPoison{0xFF};
constexpr std::byte kOtherPoison{0x00};

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
    SubjectRun result = run_twice(data);
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

  // One launch from a fresh memory. False: result says why there is no output.
  bool launch_once(const CaseData& data, const ExpertLinearDims& dims, std::byte poison, SubjectRun& result) {
    const Placed placed = place(data, dims, result.output.bytes());
    if (!placed.launch) return true;
    gpu::LaunchSettings settings;
    settings.poison = poison;
    settings.schedule = data.line ? data.line->schedule : std::nullopt;
    settings.host_threads = settings_.host_threads;
    settings.instruction_budget = settings_.instruction_budget;
    const gpu::LaunchOutcome outcome = device_->launch(*placed.launch, settings);

    result.thread_instructions += outcome.counters.thread_instructions;
    for (const ptx::Finding& finding : outcome.findings) {
      const std::string check(ptx::name_of(finding.check));
      if (finding.check == ptx::Check::kBudget) {
        result.outcome = SubjectRun::Outcome::kTimeout;
        result.reason = ptx::to_string(finding);
        return false;
      }
      result.findings.push_back({check, ptx::to_string(finding)});
    }
    if (outcome.error) {
      result.outcome = outcome.unsupported ? SubjectRun::Outcome::kUnsupported : SubjectRun::Outcome::kError;
      result.reason = *outcome.error;
      return false;
    }
    if (!outcome.completed && result.findings.empty()) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = "the launch did not complete, and the device gave no reason";
      return false;
    }
    device_->read(placed.buffers.output, {result.output.data(), result.output.bytes()});
    result.unwritten = unwritten_elements(placed.buffers.output, result.output);
    result.inputs_unchanged = device_->inputs_unchanged();
    return true;
  }

  std::vector<bool> unwritten_elements(gpu::BufferId buffer, const Tensor& output) {
    const std::vector<bool> written = device_->written(buffer);
    if (written.empty()) return {};
    const std::size_t size = size_of(output.dtype());
    std::vector<bool> unwritten(static_cast<std::size_t>(output.elements()), false);
    for (std::size_t byte = 0; byte < written.size(); ++byte) {
      if (!written[byte]) unwritten[byte / size] = true;
    }
    return unwritten;
  }

  SubjectRun run_twice(const CaseData& data) {
    SubjectRun result;
    Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(data.inputs(), data.policy);
    if (!dims.ok()) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = dims.error().message();
      return result;
    }
    result.output = Tensor(data.latent_tokens.dtype(), {dims->tokens, dims->out});
    if (!launch_once(data, *dims, kPoison, result)) return result;

    SubjectRun second;
    second.output = Tensor(data.latent_tokens.dtype(), {dims->tokens, dims->out});
    if (!launch_once(data, *dims, kOtherPoison, second)) {
      second.findings.insert(second.findings.begin(), result.findings.begin(), result.findings.end());
      return second;
    }
    merge(second, result);
    return result;
  }

  // Adds what only the second run showed, and the elements in which the two outputs differ.
  static void merge(const SubjectRun& second, SubjectRun& result) {
    result.inputs_unchanged = result.inputs_unchanged && second.inputs_unchanged;
    result.thread_instructions += second.thread_instructions;
    for (const DeviceFinding& finding : second.findings) {
      const bool known = std::any_of(
          result.findings.begin(), result.findings.end(),
          [&](const DeviceFinding& f) { return f.check == finding.check && f.text == finding.text; });
      if (!known) result.findings.push_back(finding);
    }
    for (std::size_t i = 0; i < result.unwritten.size() && i < second.unwritten.size(); ++i) {
      if (second.unwritten[i]) result.unwritten[i] = true;
    }
    const std::size_t size = size_of(result.output.dtype());
    std::int64_t differing = 0, first = -1;
    for (std::int64_t i = 0; i < result.output.elements(); ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * size;
      const bool counted = result.unwritten.empty() || !result.unwritten[static_cast<std::size_t>(i)];
      if (!counted || std::memcmp(result.output.data() + at, second.output.data() + at, size) == 0) continue;
      if (first < 0) first = i;
      ++differing;
    }
    if (differing == 0) return;
    const std::int64_t out = result.output.dim(1);
    const std::string name(ptx::name_of(ptx::Check::kUninitialized));
    result.findings.push_back(
        {name,
         name + ": " + std::to_string(differing) + " outputs, first token " + std::to_string(first / out) +
             " output " + std::to_string(first % out) +
             ", change with the contents of memory that nothing wrote (two launches, two fill patterns)"});
  }

  gpu::Variant variant_;
  std::unique_ptr<gpu::Device> device_;
  Declaration declaration_;
  ExecutorSettings settings_;
};

}  // namespace

std::vector<std::string> executor_subject_names() {
  std::vector<std::string> names;
  for (const gpu::Variant& variant : gpu::variants()) {
    if (!variant.ptx.empty()) names.emplace_back(variant.name);
  }
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
