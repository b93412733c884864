#include <ostream>

#include "tests/support/problems/draw_rows.h"

namespace slow_model {
namespace {

template <class T>
void print(std::ostream& stream, const char* name, const std::vector<T>& elements) {
  stream << "\n  " << name << ":";
  for (const T element : elements) stream << " " << std::int64_t{element};
}

template <class T>
void print_hex(std::ostream& stream, const char* name, const std::vector<T>& elements) {
  stream << "\n  " << name << ":" << std::hex;
  for (const T element : elements) stream << " " << std::uint64_t{element};
  stream << std::dec;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const RowsProblem& problem) {
  static constexpr const char* kOps[] = {"indexed", "grouped_contiguous", "grouped_masked"};
  static constexpr const char* kScaleNan[] = {"ocp", "formula", "inf"};
  const bool int4 = problem.weights == WeightFormat::kInt4;
  stream << "op=" << kOps[static_cast<int>(problem.op)] << " weights=" << (int4 ? "int4" : "mxfp4")
         << " token rows=" << problem.token_rows << " experts=" << problem.experts << " in=" << problem.in()
         << " out=" << problem.out << " scale_nan=" << kScaleNan[static_cast<int>(problem.policy.scale_nan)]
         << " scale_zero=" << (problem.policy.scale_zero == ScaleZero::kExact ? "exact" : "flush");
  switch (problem.op) {
    case RowsOp::kIndexed:
      stream << " n=" << problem.num_tokens_padded << " top_k=" << problem.top_k
             << " block_m=" << problem.block_m << " valid_shape_m=" << problem.valid_shape_m;
      print(stream, "sorted_ids", problem.sorted_ids);
      print(stream, "expert_ids", problem.expert_ids);
      break;
    case RowsOp::kGroupedContiguous:
      print(stream, "m_indices", problem.m_indices);
      break;
    case RowsOp::kGroupedMasked:
      stream << " max_m=" << problem.max_m << " expected_m=" << problem.expected_m;
      print(stream, "masked_m", problem.masked_m);
      break;
  }
  print_hex(stream, "latent_tokens", problem.latent_tokens);
  if (int4) {
    print_hex(stream, "packed_weights", problem.packed_words);
    print_hex(stream, "scales", problem.scales);
  } else {
    print_hex(stream, "packed_weights", problem.packed_weights);
    print_hex(stream, "scale_bytes", problem.scale_bytes);
  }
  return stream;
}

}  // namespace slow_model
