#include "gpu/ptx/decode/decoder.h"

namespace moe4::ptx {

bool Modifiers::take(std::string_view name) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!taken_[i] && all_[i] == name) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

bool Modifiers::take_any(std::initializer_list<std::string_view> names) {
  return !take_one_of(names).empty();
}

std::string_view Modifiers::take_one_of(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (take(name)) return name;
  }
  return {};
}

Type Modifiers::take_type() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (taken_[i]) continue;
    if (const auto type = type_named(all_[i])) {
      taken_[i] = true;
      return *type;
    }
  }
  return Type::kNone;
}

std::string_view Modifiers::untaken() const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!taken_[i]) return all_[i];
  }
  return {};
}

}  // namespace moe4::ptx
