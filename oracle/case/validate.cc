#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "oracle/case/case.h"
#include "oracle/case/validate_op.h"
#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

Error refuse(std::string field, std::int64_t value, std::string rule) {
  return {std::move(field), std::to_string(value), std::move(rule)};
}

// CASE-6, CASE-7.
Status check_dims(const Case& c) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;
  const std::array<std::pair<const char*, std::int64_t>, 5> dims = {
      {{"tokens", c.tokens}, {"experts", c.experts}, {"top_k", c.top_k}, {"in", c.in}, {"out", c.out}}};
  for (const auto& [name, value] : dims) {
    if (value < 0 || value > kLimit) return refuse(name, value, "CASE-6: in 0..2^40");
  }
  if (c.in < 32 || c.in % 32 != 0) return refuse("in", c.in, "CASE-6: a multiple of 32, at least 32");
  if (c.top_k > 0 && c.experts == 0) return refuse("experts", c.experts, "CASE-7: top_k > 0 needs an expert");
  const std::array<Shape, 6> shapes = {Shape{c.tokens, c.in},
                                       Shape{c.experts, c.out, c.in / 32, 16},
                                       Shape{c.experts, c.out, c.in / 32},
                                       Shape{c.tokens, c.top_k},
                                       Shape{c.tokens, c.out},
                                       Shape{c.tokens, c.top_k, c.out}};
  for (const Shape& shape : shapes) {
    const auto count = element_count(shape);
    if (!count || *count > (std::int64_t{1} << 58)) {
      return Error{"case", moe4::to_string(shape), "CASE-6: a tensor has at most 2^58 elements"};
    }
  }
  return {};
}

Status check_dtypes(const Case& c) {
  const auto refuse_dtype = [](const char* field, Dtype dtype, const char* rule) {
    return Error{field, dtype_word(dtype), rule};
  };
  constexpr const char* kFloat = "CASE-2: one of bf16 f16 f32 f64";
  if (!is_float(c.dtype)) return refuse_dtype("dtype", c.dtype, kFloat);
  if (!is_float(c.mixture_dtype())) return refuse_dtype("mixture", c.mixture_dtype(), kFloat);
  if (!is_float(c.shared_dtype())) return refuse_dtype("shared", c.shared_dtype(), kFloat);
  if (c.ids_dtype != Dtype::kI32 && c.ids_dtype != Dtype::kI64) {
    return refuse_dtype("ids_dtype", c.ids_dtype, "CASE-2: one of i32 i64");
  }
  if (c.ids_dtype == Dtype::kI32 && c.experts > (std::int64_t{1} << 31)) {
    return refuse("experts", c.experts, "CASE-6: ids of i32 name at most 2^31 experts");
  }
  return {};
}

Status check_list(const char* field, const std::vector<std::int64_t>& list, std::int64_t limit,
                  const char* rule) {
  for (std::size_t n = 0; n < list.size(); ++n) {
    if (list[n] < 0 || list[n] >= limit) return refuse(field, list[n], rule);
    if (n > 0 && list[n] <= list[n - 1]) return refuse(field, list[n], "CASE-4: lists ascend");
  }
  return {};
}

// How many experts a token may choose from.
std::int64_t eligible(const Case& c) {
  const std::int64_t all = c.route.empty() ? c.experts : static_cast<std::int64_t>(c.route.size());
  const auto chosen = [&c](std::int64_t e) {
    return c.route.empty() || std::binary_search(c.route.begin(), c.route.end(), e);
  };
  if (c.routing == Routing::kPoison && c.route.empty()) return (c.experts + 1) / 2;
  if (c.routing != Routing::kEmpty || c.experts == 0) return all;
  std::vector<std::int64_t> never = {0, c.experts / 2, c.experts - 1};
  never.erase(std::unique(never.begin(), never.end()), never.end());
  return all - std::count_if(never.begin(), never.end(), chosen);
}

// CASE-8.
Status check_routing(const Case& c) {
  if (c.tokens == 0 || c.top_k == 0) return {};
  const std::string routing(name_of(c.routing));
  const std::int64_t n = eligible(c);
  const bool repeats = c.routing == Routing::kOne || c.routing == Routing::kDuplicate;
  if (n < 1) {
    return refuse("experts", c.experts,
                  fmt::format("CASE-8: routing={} leaves no expert to choose", routing));
  }
  if (!repeats && c.top_k > n) {
    return refuse("top_k", c.top_k,
                  fmt::format("CASE-8: routing={} draws distinct experts and here has {}", routing, n));
  }
  if (c.routing == Routing::kDuplicate && c.top_k < 2) {
    return refuse("top_k", c.top_k, "CASE-8: routing=duplicate needs top_k >= 2");
  }
  if (c.routing == Routing::kBoundary && c.tokens < 7) {
    return refuse("tokens", c.tokens, "CASE-8: routing=boundary needs tokens >= 7, the shortest run");
  }
  if (c.routing == Routing::kPoison && n == c.experts) {
    return refuse("experts", c.experts, "CASE-8: routing=poison needs an expert that is not selected");
  }
  return {};
}

// CASE-9.
Status check_scales(const Case& c) {
  if (!c.scales) return {};
  const std::string text = fmt::format("window({},{})", c.scales->lo, c.scales->hi);
  if (c.scales->lo > c.scales->hi) return Error{"scales", text, "CASE-9: lo <= hi"};
  if (c.scales->lo == 255) return Error{"scales", text, "CASE-9: byte 255 is never drawn, so lo <= 254"};
  const bool windowed = c.fill == Fill::kExact8 || c.fill == Fill::kExact24 || c.fill == Fill::kBits;
  if (!windowed) {
    return Error{"scales", text, "CASE-9: only the fills exact8, exact24 and bits take a window"};
  }
  if (c.weights == WeightFormat::kInt4) {
    const int least = c.fill == Fill::kBits ? 0 : 1;
    if (c.scales->lo > 250 || c.scales->hi < least) {
      return Error{
          "scales", text,
          fmt::format("CASE-9: int4 scales of fill={} have exponent fields {}..250", name_of(c.fill), least)};
    }
  }
  return {};
}

}  // namespace

Status validate_case(const Case& c) {
  if (Status status = check_dims(c)) return status;
  if (Status status = check_dtypes(c)) return status;
  if (Status status = check_op(c)) return status;
  if (Status status = check_scales(c)) return status;
  if (Status status = check_list("route", c.route, c.experts, "CASE-10: an expert, 0..experts-1")) {
    return status;
  }
  if (Status status = check_routing(c)) return status;
  constexpr const char* kKeep = "CASE-11: inside the case";
  if (Status status = check_list("keep_tokens", c.keep_tokens, c.tokens, kKeep)) return status;
  if (Status status = check_list("keep_outputs", c.keep_outputs, c.out, kKeep)) return status;
  if (Status status = check_list("keep_groups", c.keep_groups, c.in / 32, kKeep)) return status;
  return check_list("keep_codes", c.keep_codes, c.in, kKeep);
}

}  // namespace moe4::oracle
