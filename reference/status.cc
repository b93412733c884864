#include "reference/status.h"

namespace moe4 {

std::string Error::message() const {
  std::string text = field;
  if (!value.empty()) text += ": value " + value;
  text += ": " + rule;
  return text;
}

}  // namespace moe4
