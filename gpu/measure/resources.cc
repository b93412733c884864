#include "gpu/measure/resources.h"

#include <charconv>
#include <string>

namespace moe4::gpu {
namespace {

// The number that stands before `words`; 0: they are not there.
int number_before(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(text.data() + begin, text.data() + at, value);
  return value;
}

}  // namespace

std::optional<EntryResources> resources_of(std::string_view log, std::string_view entry) {
  const std::string head = "Compiling entry function '" + std::string(entry) + "'";
  std::size_t begin = log.find(head);
  if (begin == std::string_view::npos) return std::nullopt;
  begin += head.size();
  const std::string_view own = log.substr(begin, log.find("Compiling entry function", begin) - begin);
  EntryResources r;
  r.registers = number_before(own, " registers");
  r.stack = number_before(own, " bytes stack frame");
  r.spill_stores = number_before(own, " bytes spill stores");
  r.spill_loads = number_before(own, " bytes spill loads");
  r.barriers = number_before(own, " barriers");
  r.static_shared = number_before(own, " bytes smem");
  return r;
}

}  // namespace moe4::gpu
