// The words of a case line that stand for one of a few things: operations, fills, routings,
// dtypes, layouts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle {

std::optional<Fill> fill_from_name(std::string_view name);
std::optional<Routing> routing_from_name(std::string_view name);

std::string dtype_word(Dtype dtype);                          // "bf16", "i32", ...
std::optional<Dtype> dtype_from_word(std::string_view word);  // lower case only (CASE-1)

std::vector<std::string> fill_words();
std::vector<std::string> routing_words();
std::vector<std::string> op_words();
std::vector<std::string> weight_words();  // mxfp4 int4
std::vector<std::string> layout_words();
std::vector<std::string> float_words();     // bf16 f16 f32 f64
std::vector<std::string> id_words();        // i32 i64
std::vector<std::string> hardware_words();  // volta … blackwell

// The keys of a case line in the order of the canonical form (CASE-5), policies included.
std::vector<std::string> case_keys();

}  // namespace moe4::oracle
