#include "gpu/ptx/text/scope.h"

#include <algorithm>
#include <charconv>

namespace moe4::ptx {

const Name* Scopes::find(std::string_view name, std::vector<Register>* registers) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const std::size_t last = name.size() - digits;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
    // "r1<4>" and "r<14>" both may make r12: try every split into prefix and number.
    if (scope->ranges.empty()) continue;
    for (std::size_t length = last; length > 0 && length <= 10; --length) {
      const std::string_view number = name.substr(name.size() - length);
      if (number.size() > 1 && number[0] == '0') continue;
      const auto range = scope->ranges.find(name.substr(0, name.size() - length));
      if (range == scope->ranges.end()) continue;
      std::uint64_t value = 0;
      std::from_chars(number.data(), number.data() + number.size(), value);
      if (value >= range->second.count) continue;
      registers->push_back({name, range->second.type});
      const Name made{Name::Kind::kRegister, static_cast<std::uint32_t>(registers->size() - 1)};
      return &scope->names.emplace(name, made).first->second;
    }
  }
  return nullptr;
}

std::vector<std::pair<Scopes::Use, std::uint32_t>> Scopes::close() {
  std::vector<std::pair<Use, std::uint32_t>> resolved;
  Scope& inner = scopes_.back();
  std::vector<Use> open;
  for (const Use& use : inner.uses) {
    const auto label = inner.labels.find(use.name);
    if (label != inner.labels.end()) {
      resolved.emplace_back(use, label->second);
    } else {
      open.push_back(use);
    }
  }
  if (scopes_.size() > 1) {
    Scope& outer = scopes_[scopes_.size() - 2];
    outer.uses.insert(outer.uses.end(), open.begin(), open.end());
  }
  return resolved;
}

}  // namespace moe4::ptx
