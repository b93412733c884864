// Any bytes are a case or a result, or an error that names a rule; and what was read can be written and read
// again.
#include <cstdlib>

#include "oracle/case/norm.h"
#include "oracle/file/case_from.h"

namespace {

using namespace moe4;          // NOLINT
using namespace moe4::oracle;  // NOLINT

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void require_rule(const Result<T>& result) {
  require(result.ok() || !result.error().rule.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Result<SafeTensors> file = parse_safetensors(bytes);
  require_rule(file);
  if (!file) return 0;
  std::size_t held = 0;
  for (const auto& [name, tensor] : file->tensors) held += tensor.bytes();
  require(held <= size);
  require_rule(result_from(*file));
  const Result<CaseData> read = case_from(std::move(*file));
  require_rule(read);
  // A case that was accepted is one that the reference accepts.
  if (read) require(!validate(*read));
  return 0;
}
