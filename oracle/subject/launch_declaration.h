// How a PTX entry is launched for a case: the object `launch` of a declaration (docs/ptx_subject.md).
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "oracle/subject/expression.h"
#include "reference/status.h"

namespace moe4::oracle {

// The letters that expressions of every launch may use, and the tensors that arguments may name. A case has
// those of its operation.
const std::vector<std::string>& launch_letters();
const std::vector<std::string>& launch_tensors();

enum class ScalarType { kU8, kU16, kU32, kS32, kU64, kS64, kF32, kF64 };
std::string_view name_of(ScalarType type);  // "u8", ...
std::uint32_t size_of(ScalarType type);

// A pointer to a tensor of the case.
struct TensorArgument {
  std::string tensor;
  friend bool operator==(const TensorArgument&, const TensorArgument&) = default;
};

// A pointer to memory that only the kernel uses.
struct WorkspaceArgument {
  std::string workspace;
  friend bool operator==(const WorkspaceArgument&, const WorkspaceArgument&) = default;
};

struct ScalarArgument {
  Expression value;
  ScalarType type = ScalarType::kS32;
  friend bool operator==(const ScalarArgument&, const ScalarArgument&) = default;
};

enum class MapSwizzle { kUnswizzled, k32B, k64B, k128B };
enum class MapFill { kZero, kNan };

// A tensor map (128 bytes by value). Dimension 0 is the fastest; strides are bytes, of dimensions 1 and up.
struct TensorMapArgument {
  std::string tensor;
  std::uint32_t element_bytes = 2;
  std::vector<Expression> dims, strides, box;
  MapSwizzle swizzle = MapSwizzle::kUnswizzled;
  MapFill fill = MapFill::kZero;
  friend bool operator==(const TensorMapArgument&, const TensorMapArgument&) = default;
};

using LaunchArgument = std::variant<TensorArgument, WorkspaceArgument, ScalarArgument, TensorMapArgument>;

struct Workspace {
  std::string name;
  Expression bytes;
  bool zeroed = false;
  friend bool operator==(const Workspace&, const Workspace&) = default;
};

struct LaunchDeclaration {
  std::string entry;
  std::array<Expression, 3> grid, block, cluster;
  Expression dynamic_shared;
  // Blocks that the kernel needs to run at once, since they wait for each other; a grid of more is refused.
  std::optional<std::int64_t> coresident_blocks;
  bool output_zeroed = false;  // else the kernel has to write every output
  std::vector<Workspace> workspaces;
  std::vector<LaunchArgument> arguments;

  friend bool operator==(const LaunchDeclaration&, const LaunchDeclaration&) = default;
};

// Strict: each Error names the field ("declaration.launch.grid[1]"), its value and the rule.
Result<LaunchDeclaration> parse_launch(const nlohmann::ordered_json& json);

// parse_launch gives the same again.
nlohmann::ordered_json launch_to_json(const LaunchDeclaration& launch);

}  // namespace moe4::oracle
