#include <iomanip>
#include <ostream>
#include <string>

#include "tests/support/problems/generators.h"

namespace slow_model {
namespace {

template <class T>
void print(std::ostream& stream, const char* name, const char* dtype, int hex_digits,
           const std::vector<T>& elements) {
  stream << "\n  " << name << " " << dtype << ":" << std::hex << std::setfill('0');
  for (const T element : elements) {
    stream << " " << std::setw(hex_digits) << std::uint64_t{element};
  }
  stream << std::dec;
}

void print(std::ostream& stream, const char* name, const FloatTensor& tensor) {
  print(stream, name, tensor.format.name, tensor.format.width() / 4, tensor.bits);
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Problem& problem) {
  static constexpr const char* kScaleNan[] = {"ocp", "formula", "inf"};
  const Policy& policy = problem.policy;
  stream << "weights=" << (problem.weights == WeightFormat::kInt4 ? "int4" : "mxfp4")
         << " tokens=" << problem.tokens << " experts=" << problem.experts << " in=" << problem.in()
         << " out=" << problem.out << " top_k=" << problem.top_k
         << " scale_nan=" << kScaleNan[static_cast<int>(policy.scale_nan)]
         << " scale_zero=" << (policy.scale_zero == ScaleZero::kExact ? "exact" : "flush")
         << " zero=" << (policy.zero == ZeroCompare::kAny ? "any" : "strict")
         << " ids=" << (policy.ids == Ids::kError ? "error" : "absent")
         << " skip_zero_p=" << (policy.skip_zero_p == SkipZeroP::kNo ? "no" : "yes");
  print(stream, "latent_tokens", problem.latent_tokens);
  if (problem.weights == WeightFormat::kInt4) {
    print(stream, "packed_weights", "I32", 8, problem.packed_words);
    print(stream, "scales", "BF16", 4, problem.scales);
  } else {
    print(stream, "packed_weights", "U8", 2, problem.packed_weights);
    print(stream, "scale_bytes", "U8", 2, problem.scale_bytes);
  }
  stream << "\n  selected_experts " << (problem.wide_ids ? "I64" : "I32") << ":";
  for (const std::int64_t id : problem.selected_experts) {
    stream << " " << id;
  }
  print(stream, "mixture_weights", problem.mixture_weights);
  print(stream, "shared_output", problem.shared_output);
  return stream;
}

}  // namespace slow_model
