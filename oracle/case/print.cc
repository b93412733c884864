#include <fmt/format.h>

#include "oracle/case/case.h"
#include "oracle/case/index_list.h"
#include "oracle/case/words.h"

namespace moe4::oracle {

// CASE-5. The order is that of case_keys(); a test holds the two together.
std::string to_string(const Case& c) {
  std::string line =
      fmt::format("op={} weights={} tokens={} experts={} top_k={} in={} out={} dtype={}", name_of(c.op),
                  moe4::name_of(c.weights), c.tokens, c.experts, c.top_k, c.in, c.out, dtype_word(c.dtype));
  if (c.mixture) line += " mixture=" + dtype_word(*c.mixture);
  if (c.shared) line += " shared=" + dtype_word(*c.shared);
  if (c.ids_dtype != Dtype::kI32) line += " ids_dtype=" + dtype_word(c.ids_dtype);
  if (c.layout) line += " layout=" + *c.layout;
  const auto add_number = [&line](const char* key, const std::optional<std::int64_t>& number) {
    if (number) line += fmt::format(" {}={}", key, *number);
  };
  add_number("block_m", c.block_m);
  add_number("max_m", c.max_m);
  add_number("expected_m", c.expected_m);
  add_number("capacity", c.capacity);
  if (c.ep) line += fmt::format(" ep=rank({},{})", c.ep->rank, c.ep->ranks);
  line += fmt::format(" fill={} routing={}", name_of(c.fill), name_of(c.routing));
  if (c.scales) line += fmt::format(" scales=window({},{})", c.scales->lo, c.scales->hi);
  const auto add_list = [&line](const char* key, const std::vector<std::int64_t>& list) {
    if (!list.empty()) line += fmt::format(" {}={}", key, to_string_index_list(list));
  };
  add_list("route", c.route);
  const std::string policy = moe4::to_string(c.policy);
  if (!policy.empty()) line += " " + policy;
  line += fmt::format(" seed={:#x}", c.seed);
  if (c.hardware) line += " hardware=" + *c.hardware;
  if (c.schedule) line += fmt::format(" schedule={:#x}", *c.schedule);
  add_list("keep_tokens", c.keep_tokens);
  add_list("keep_outputs", c.keep_outputs);
  add_list("keep_groups", c.keep_groups);
  add_list("keep_codes", c.keep_codes);
  return line;
}

}  // namespace moe4::oracle
