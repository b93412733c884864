// Nested { } scopes of a function: registers, variables and labels may be declared again inside.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu/ptx/text/syntax.h"

namespace moe4::ptx {

struct Name {
  enum class Kind { kRegister, kVariable } kind = Kind::kRegister;
  std::uint32_t index = 0;
};

class Scopes {
 public:
  void push() { scopes_.emplace_back(); }
  void pop() { scopes_.pop_back(); }
  std::size_t depth() const { return scopes_.size(); }

  // A place where a label is used: resolved when the scope that declares it closes.
  struct Use {
    std::string_view name;
    std::size_t statement = 0;
    std::size_t operand = 0;  // kTargets + i: target i of .branchtargets number `statement`
  };
  static constexpr std::size_t kTargets = std::size_t{1} << 32;

  bool declare(std::string_view name, Name what) { return scopes_.back().names.emplace(name, what).second; }
  bool declare_label(std::string_view name, std::uint32_t label) {
    return scopes_.back().labels.emplace(name, label).second;
  }
  void use_label(Use use) { scopes_.back().uses.push_back(use); }

  // r<n>: registers r0 … r(n-1), each made when it is first named.
  void declare_range(std::string_view prefix, std::uint64_t count, Type type) {
    scopes_.back().ranges[prefix] = {count, type};
  }

  const Name* find(std::string_view name, std::vector<Register>* registers);

  // Labels used in the innermost scope and declared there; the other uses move outwards.
  std::vector<std::pair<Use, std::uint32_t>> close();

 private:
  struct Range {
    std::uint64_t count = 0;
    Type type = Type::kNone;
  };
  struct Scope {
    std::unordered_map<std::string_view, Name> names;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::vector<Use> uses;
  };
  std::vector<Scope> scopes_;
};

}  // namespace moe4::ptx
