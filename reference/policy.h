// The named deviations from the norm that kernels in use are known to have (docs/spec/corners.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4 {

enum class ScaleNan { kOcp, kFormula, kInf };  // COR-1: scale byte 255
enum class ScaleZero { kExact, kFlush };       // COR-2: scale byte 0
enum class ZeroCompare { kAny, kStrict };      // COR-3: comparison only
enum class Ids { kError, kAbsent };            // COR-5: id -1
enum class SkipZeroP { kNo, kYes };            // COR-6: p = 0

// The default is the norm.
struct Policy {
  ScaleNan scale_nan = ScaleNan::kOcp;
  ScaleZero scale_zero = ScaleZero::kExact;
  ZeroCompare zero = ZeroCompare::kAny;
  Ids ids = Ids::kError;
  SkipZeroP skip_zero_p = SkipZeroP::kNo;

  friend bool operator==(const Policy&, const Policy&) = default;
};

// Sets one policy from "scale_nan=formula". An unknown name or value is an Error that lists the known ones.
Status set_policy(Policy& policy, std::string_view assignment);

// The policies that differ from the default, "scale_nan=formula skip_zero_p=yes"; empty for the norm.
std::string to_string(const Policy& policy);

// The inverse of to_string: blank-separated assignments.
Result<Policy> parse_policy(std::string_view text);

// The table of docs/spec/corners.md: name, default, all values. For help texts and `moe4 list policies`.
struct PolicyInfo {
  std::string_view name;
  std::string_view default_value;
  std::string_view values;  // blank-separated
  std::string_view meaning;
};
std::vector<PolicyInfo> policies();

}  // namespace moe4
