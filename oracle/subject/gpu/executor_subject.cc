#include "oracle/subject/gpu/executor_subject.h"

#include <chrono>

#include "oracle/case/nearest.h"
#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "oracle/subject/gpu/device_run.h"
#include "oracle/subject/gpu/executor_tensor_core.h"
#include "reference/accumulate/accumulation.h"

namespace moe4::oracle {
namespace {

std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

struct Named {
  std::string_view name;
  const Tensor* tensor;
};

// The tensors of the operation by the names of docs/spec; the weights as the layout of the case has them.
std::vector<Named> inputs_of(const CaseData& data) {
  std::vector<Named> inputs;
  if (data.op == Op::kCombine) {
    inputs = {{"rows", &data.rows},
              {"mixture_weights", &data.mixture_weights},
              {"shared_output", &data.shared_output}};
    if (data.has_selected_experts) inputs.push_back({"selected_experts", &data.selected_experts});
    return inputs;
  }
  const bool packed = data.layout != nullptr;
  inputs = {{"latent_tokens", &data.latent_tokens},
            {"packed_weights", packed ? &data.packed.codes : &data.packed_weights},
            {data.weights == WeightFormat::kMxfp4 ? "scale_bytes" : "scales",
             packed ? &data.packed.scales : &data.scale_tensor()}};
  switch (data.op) {
    case Op::kExpertLinear:
      inputs.push_back({"selected_experts", &data.selected_experts});
      inputs.push_back({"mixture_weights", &data.mixture_weights});
      inputs.push_back({"shared_output", &data.shared_output});
      break;
    case Op::kIndexed:
      inputs.push_back({"sorted_ids", &data.sorted_ids});
      inputs.push_back({"expert_ids", &data.expert_ids});
      inputs.push_back({"num_tokens_padded", &data.num_tokens_padded});
      break;
    case Op::kGroupedContiguous:
      inputs.push_back({"m_indices", &data.m_indices});
      break;
    case Op::kGroupedMasked:
      inputs.push_back({"masked_m", &data.masked_m});
      break;
    case Op::kCombine:
      break;
  }
  return inputs;
}

// Precondition: data is valid.
gpu::LaunchShape shape_of(const CaseData& data, const OutputShape& output) {
  gpu::LaunchShape shape;
  shape.out = output.out;
  shape.in = in_of(data);
  if (data.op == Op::kExpertLinear || data.op == Op::kCombine) {
    shape.tokens = output.rows;
    shape.top_k = data.mixture_weights.dim(1);
  } else {
    shape.tokens = data.op == Op::kIndexed ? data.latent_tokens.dim(0) : output.rows;
  }
  if (data.op != Op::kCombine) shape.experts = data.scale_tensor().dim(0);
  if (data.op == Op::kIndexed) {
    shape.top_k = data.top_k;
    shape.block_m = data.block_m;
    shape.capacity = data.sorted_ids.dim(0);
  }
  if (data.op == Op::kGroupedMasked) shape.max_m = shape.experts == 0 ? 0 : output.rows / shape.experts;
  return shape;
}

struct Placed {
  gpu::BufferId output;
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
  Placed place(const CaseData& data, const OutputShape& shape, std::size_t output_bytes) {
    device_->reset();
    gpu::TensorBuffers buffers;
    for (const Named& input : inputs_of(data)) {
      buffers.emplace(input.name, device_->add_input(std::string(input.name), bytes_of(*input.tensor)));
    }
    Placed placed;
    placed.output = device_->add_output("output", output_bytes);
    buffers.emplace("output", placed.output);
    const gpu::LaunchShape launch_shape = shape_of(data, shape);
    if (variant_.workspace_bytes != nullptr) {
      buffers.emplace("workspace", device_->add_zeroed("workspace", variant_.workspace_bytes(launch_shape)));
    }
    placed.launch = variant_.plan(variant_, launch_shape, buffers);
    return placed;
  }

  // result.output has its shape; fills in everything else. The output is poisoned, not cleared: what a kernel
  // leaves alone shows, and so does a row that it should have left alone.
  void launch(const CaseData& data, const OutputShape& shape, SubjectRun& result) {
    const Placed placed = place(data, shape, result.output.bytes());
    if (!placed.launch) return;
    gpu::LaunchSettings settings;
    settings.schedule = data.line ? data.line->schedule : std::nullopt;
    settings.host_threads = settings_.host_threads;
    settings.instruction_budget = settings_.instruction_budget;
    settings.tensor_core = executor_tensor_core(data, declaration_, settings_.hardware);
    settings.printed = settings_.printed;
    settings.time_limit = std::chrono::duration<double>(settings_.time_limit);
    run_launch(*device_, *placed.launch, settings, placed.output, result);
  }

  SubjectRun run_on_device(const CaseData& data) {
    SubjectRun result;
    if (Status invalid = validate(data)) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = invalid->message();
      return result;
    }
    const OutputShape shape = output_shape(data);
    result.output = Tensor(shape.dtype, shape.shape);
    launch(data, shape, result);
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
  if (executor_tensor_core(settings.hardware) == nullptr) {
    return Error{"hardware", settings.hardware, "no generation of tensor cores has this name"};
  }
  Result<Declaration> declaration = parse_declaration(variant.declaration);
  if (!declaration.ok()) {
    const Error& error = declaration.error();
    return Error{std::string(variant.name) + ": " + error.field, error.value, error.rule};
  }
  return std::unique_ptr<Subject>(std::make_unique<ExecutorSubject>(
      variant, std::move(device), declared_on(std::move(*declaration), settings.chip), settings));
}

Declaration declared_on(Declaration declaration, const std::string& chip) {
  Accumulation& accumulation = declaration.arithmetic.accumulation;
  if (chip.empty() || accumulation.kind != Accumulation::Kind::kTensorCore) return declaration;
  if (const Result<Accumulation> own = parse_accumulation(chip); own.ok()) accumulation = *own;
  return declaration;
}

Result<std::unique_ptr<Subject>> make_executor_subject(std::string_view name,
                                                       const ExecutorSettings& settings) {
  return make_executor_subject(name, gpu::make_executor_device(), settings);
}

Result<std::unique_ptr<Subject>> make_executor_subject(std::string_view name,
                                                       std::unique_ptr<gpu::Device> device,
                                                       const ExecutorSettings& settings) {
  for (const gpu::Variant& variant : gpu::variants()) {
    if (variant.name == name) return make_executor_subject(variant, std::move(device), settings);
  }
  return Error{
      "subject", std::string(name),
      "no such kernel variant; the nearest known one is " + nearest_name(name, executor_subject_names())};
}

}  // namespace moe4::oracle
