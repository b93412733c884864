#include "oracle/subject/gpu/launch_plan.h"

#include <bit>
#include <limits>
#include <map>
#include <span>

#include "oracle/case/output_rows.h"
#include "oracle/subject/launch_values.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kMostBlocks = 0x7fffffff, kMostBlocksYz = 65535, kMostThreads = 1024,
                       kMostCluster = 16;
constexpr std::int64_t kMostShared = 227 * 1024;  // a block of sm_90 may have
constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 40;

ptx::MapElement element_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kU8:
      return ptx::MapElement::kU8;
    case Dtype::kI32:
      return ptx::MapElement::kS32;
    case Dtype::kI64:
      return ptx::MapElement::kS64;
    case Dtype::kBF16:
      return ptx::MapElement::kBF16;
    case Dtype::kF16:
      return ptx::MapElement::kF16;
    case Dtype::kF32:
      return ptx::MapElement::kF32;
    case Dtype::kF64:
      return ptx::MapElement::kF64;
  }
  return ptx::MapElement::kBits;
}

class Planner {
 public:
  Planner(const LaunchDeclaration& declaration, const CaseData& data, gpu::Device& device)
      : declaration_(declaration), data_(data), device_(device), letters_(letters_of(data)) {}

  Result<LaunchPlan> run(std::uint64_t output_bytes) {
    LaunchPlan plan;
    gpu::KernelLaunch launch;
    launch.entry = declaration_.entry;
    bool empty = false;
    if (Status status = grid(launch.grid, empty)) return *status;
    if (Status status = block(launch.block)) return *status;
    if (Status status = cluster(launch.cluster)) return *status;
    launch.cooperative = declaration_.coresident_blocks.has_value();
    std::int64_t shared = 0;
    if (Status status = value("dynamic_shared", declaration_.dynamic_shared, 0, kMostShared, shared)) {
      return *status;
    }
    launch.dynamic_shared_bytes = static_cast<std::uint32_t>(shared);
    plan.output = declaration_.output_zeroed ? device_.add_zeroed("output", output_bytes)
                                             : device_.add_output("output", output_bytes);
    buffers_["output"] = plan.output;
    if (Status status = workspaces()) return *status;
    for (std::size_t n = 0; n < declaration_.arguments.size(); ++n) {
      gpu::Argument argument;
      if (Status status = this->argument(n, argument)) return *status;
      launch.arguments.push_back(argument);
    }
    if (!empty) plan.launch = std::move(launch);
    return plan;
  }

 private:
  static Error refused(const std::string& field, const Error& error) {
    return {"declaration.launch." + field, error.value, error.rule};
  }

  Status value(const std::string& field, const Expression& expression, std::int64_t least, std::int64_t most,
               std::int64_t& to) const {
    const Result<std::int64_t> whole = expression.whole(letters_);
    if (!whole.ok()) return refused(field, whole.error());
    if (*whole < least || *whole > most) {
      return Error{"declaration.launch." + field, expression.text() + " = " + std::to_string(*whole),
                   std::to_string(least) + " to " + std::to_string(most)};
    }
    to = *whole;
    return {};
  }

  Status dimensions(const std::string& name, const std::array<Expression, 3>& expressions, std::int64_t least,
                    const std::array<std::int64_t, 3>& most, std::array<std::int64_t, 3>& to) const {
    for (std::size_t n = 0; n < 3; ++n) {
      if (Status status =
              value(name + "[" + std::to_string(n) + "]", expressions[n], least, most[n], to[n])) {
        return status;
      }
    }
    return {};
  }

  Status grid(ptx::Dim3& to, bool& empty) const {
    std::array<std::int64_t, 3> d{};
    if (Status status =
            dimensions("grid", declaration_.grid, 0, {kMostBlocks, kMostBlocksYz, kMostBlocksYz}, d)) {
      return status;
    }
    empty = d[0] == 0 || d[1] == 0 || d[2] == 0;
    to = {static_cast<std::uint32_t>(d[0]), static_cast<std::uint32_t>(d[1]),
          static_cast<std::uint32_t>(d[2])};
    const auto blocks = static_cast<unsigned __int128>(d[0]) * static_cast<unsigned __int128>(d[1] * d[2]);
    if (declaration_.coresident_blocks &&
        blocks > static_cast<unsigned __int128>(*declaration_.coresident_blocks)) {
      return Error{"declaration.launch.grid",
                   std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]),
                   "at most coresident_blocks = " + std::to_string(*declaration_.coresident_blocks) +
                       " blocks, since they wait for each other"};
    }
    return {};
  }

  Status block(ptx::Dim3& to) const {
    std::array<std::int64_t, 3> d{};
    if (Status status = dimensions("block", declaration_.block, 1, {kMostThreads, kMostThreads, 64}, d))
      return status;
    if (d[0] * d[1] * d[2] > kMostThreads) {
      return Error{"declaration.launch.block", std::to_string(d[0] * d[1] * d[2]) + " threads", "1 to 1024"};
    }
    to = {static_cast<std::uint32_t>(d[0]), static_cast<std::uint32_t>(d[1]),
          static_cast<std::uint32_t>(d[2])};
    return {};
  }

  // One block is what a launch without clusters has, so that the entry may ask for its own.
  Status cluster(std::optional<ptx::Dim3>& to) const {
    std::array<std::int64_t, 3> d{};
    if (Status status =
            dimensions("cluster", declaration_.cluster, 1, {kMostCluster, kMostCluster, kMostCluster}, d))
      return status;
    if (d[0] * d[1] * d[2] > kMostCluster) {
      return Error{"declaration.launch.cluster", std::to_string(d[0] * d[1] * d[2]) + " blocks", "1 to 16"};
    }
    if (d == std::array<std::int64_t, 3>{1, 1, 1}) return {};
    to = {static_cast<std::uint32_t>(d[0]), static_cast<std::uint32_t>(d[1]),
          static_cast<std::uint32_t>(d[2])};
    return {};
  }

  Status workspaces() {
    for (const Workspace& workspace : declaration_.workspaces) {
      std::int64_t bytes = 0;
      if (Status status =
              value("workspaces." + workspace.name + ".bytes", workspace.bytes, 0, kMostWorkspace, bytes)) {
        return status;
      }
      const auto size = static_cast<std::uint64_t>(bytes);
      workspaces_[workspace.name] = workspace.zeroed ? device_.add_zeroed(workspace.name, size)
                                                     : device_.add_output(workspace.name, size);
    }
    return {};
  }

  Status buffer_of(const std::string& field, const std::string& tensor, gpu::BufferId& to) {
    const auto placed = buffers_.find(tensor);
    if (placed != buffers_.end()) {
      to = placed->second;
      return {};
    }
    const Tensor* input = tensor_of(data_, tensor);
    if (input == nullptr) return Error{field, tensor, "a tensor of the case's operation"};
    to = device_.add_input(tensor, std::span<const std::byte>(input->data(), input->bytes()));
    buffers_[tensor] = to;
    return {};
  }

  Status scalar(const std::string& field, const ScalarArgument& argument, gpu::Argument& to) const {
    using Kind = gpu::Argument::Kind;
    if (argument.type == ScalarType::kF32 || argument.type == ScalarType::kF64) {
      const Result<double> number = argument.value.number(letters_);
      if (!number.ok()) return refused(field, number.error());
      const bool single = argument.type == ScalarType::kF32;
      to.kind = single ? Kind::kF32 : Kind::kU64;
      to.bits = single ? std::bit_cast<std::uint32_t>(static_cast<float>(*number))
                       : std::bit_cast<std::uint64_t>(*number);
      return {};
    }
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const int bits = 8 * static_cast<int>(size_of(argument.type));
    const bool is_signed = argument.type == ScalarType::kS32 || argument.type == ScalarType::kS64;
    const std::int64_t most = bits == 64 ? kMost : (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    const std::int64_t least = !is_signed ? 0 : bits == 64 ? kLeast : -most - 1;
    std::int64_t whole = 0;
    if (Status status = value(field, argument.value, least, most, whole)) return status;
    to.kind = bits == 8 ? Kind::kU8 : bits == 16 ? Kind::kU16 : bits == 32 ? Kind::kU32 : Kind::kU64;
    to.bits = static_cast<std::uint64_t>(whole);
    return {};
  }

  Status argument(std::size_t n, gpu::Argument& to) {
    const std::string field = "arguments[" + std::to_string(n) + "]";
    const LaunchArgument& argument = declaration_.arguments[n];
    to.kind = gpu::Argument::Kind::kBuffer;
    if (const auto* tensor = std::get_if<TensorArgument>(&argument)) {
      return buffer_of("declaration.launch." + field + ".tensor", tensor->tensor, to.buffer);
    }
    if (const auto* workspace = std::get_if<WorkspaceArgument>(&argument)) {
      to.buffer = workspaces_.at(workspace->workspace);
      return {};
    }
    if (const auto* given = std::get_if<ScalarArgument>(&argument)) {
      return scalar(field + ".scalar", *given, to);
    }
    to.kind = gpu::Argument::Kind::kTensorMap;
    return tensor_map(field + ".tensor_map", std::get<TensorMapArgument>(argument), to);
  }

  Status tensor_map(const std::string& field, const TensorMapArgument& given, gpu::Argument& to) {
    if (Status status = buffer_of("declaration.launch." + field + ".tensor", given.tensor, to.buffer))
      return status;
    ptx::TensorMap& map = to.map;
    map.element_bytes = given.element_bytes;
    map.rank = static_cast<std::uint32_t>(given.dims.size());
    map.swizzle = static_cast<ptx::Swizzle>(given.swizzle);
    map.strides[0] = given.element_bytes;
    // A reduction needs to know what it adds: the elements of the tensor, where the map has their size.
    const Tensor* input = tensor_of(data_, given.tensor);
    const Dtype dtype = input != nullptr ? input->dtype() : output_shape(data_).dtype;
    if (size_of(dtype) == given.element_bytes) map.element = element_of(dtype);
    for (std::size_t n = 0; n < given.dims.size(); ++n) {
      const std::string index = "[" + std::to_string(n) + "]";
      std::int64_t dim = 0, box = 0, stride = 0;
      if (Status status = value(field + ".dims" + index, given.dims[n], 1, std::int64_t{1} << 32, dim))
        return status;
      if (Status status = value(field + ".box" + index, given.box[n], 1, 256, box)) return status;
      map.dims[n] = static_cast<std::uint64_t>(dim);
      map.box[n] = static_cast<std::uint32_t>(box);
      if (n == 0) continue;
      const std::string before = "[" + std::to_string(n - 1) + "]";
      if (Status status =
              value(field + ".strides" + before, given.strides[n - 1], 16, std::int64_t{1} << 40, stride)) {
        return status;
      }
      map.strides[n] = static_cast<std::uint64_t>(stride);
    }
    const std::string problem = problem_of(map);
    if (!problem.empty()) return Error{"declaration.launch." + field, given.tensor, problem};
    return {};
  }

  const LaunchDeclaration& declaration_;
  const CaseData& data_;
  gpu::Device& device_;
  Letters letters_;
  std::map<std::string, gpu::BufferId> buffers_, workspaces_;
};

}  // namespace

Result<LaunchPlan> plan_launch(const LaunchDeclaration& declaration, const CaseData& data,
                               std::uint64_t output_bytes, gpu::Device& device) {
  return Planner(declaration, data, device).run(output_bytes);
}

std::string unsupported_in(const LaunchDeclaration& declaration) {
  for (const LaunchArgument& argument : declaration.arguments) {
    const auto* map = std::get_if<TensorMapArgument>(&argument);
    if (map != nullptr && map->fill == MapFill::kNan)
      return "tensor maps that fill with NaN are not supported";
  }
  return "";
}

}  // namespace moe4::oracle
