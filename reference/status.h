// Errors as values. Nothing in moe4's libraries prints, throws across an API or aborts on bad input:
// a function that can refuse its input returns Status or Result<T>, and on an error has written nothing.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace moe4 {

// One refusal: which field, what value it had, and which rule it breaks (with the rule's id where
// docs/spec has one, e.g. "VAL-3: in is a multiple of 32").
struct Error {
  std::string field;
  std::string value;
  std::string rule;

  // "scale_bytes: value [1,2,3]: VAL-4: ...", the one wording that the command line, tests and users see.
  std::string message() const;

  friend bool operator==(const Error&, const Error&) = default;
};

// Empty means success.
using Status = std::optional<Error>;

// Either a value or an Error. Test with ok(); value() of an error is undefined behaviour, like *nullopt.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace moe4
