// Errors as values, raised: moe4.InputError, a ValueError with the text of Error::message() and its three
// fields.
#pragma once

#include <utility>

#include "reference/status.h"

namespace moe4::python {

struct Refused {
  Error error;
};

inline void check(const Status& status) {
  if (status) throw Refused{*status};
}

template <class T>
T take(Result<T> result) {
  if (!result.ok()) throw Refused{result.error()};
  return std::move(result).value();
}

}  // namespace moe4::python
