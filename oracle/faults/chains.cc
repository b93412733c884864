#include "oracle/faults/chains.h"

#include <algorithm>
#include <vector>

#include "reference/profile/float_ops.h"

namespace moe4::oracle {
namespace {

std::vector<double> token_values(const CaseData& data, std::int64_t source) {
  const FloatFormat format = format_of(data.latent_tokens.dtype());
  std::vector<double> x;
  for (std::int64_t i = 0; i < in_of(data); ++i) {
    x.push_back(nearest<double>(decode_float(format, token_bits(data, source, i))));
  }
  return x;
}

// Row `out` of an expert.
std::vector<double> weight_values(const WeightReader& reader, std::int64_t expert, std::int64_t out,
                                  std::int64_t groups) {
  std::vector<double> w;
  for (std::int64_t g = 0; g < groups; ++g) {
    const WeightGroup group = reader.group(expert, out, g);
    for (int k = 0; k < kGroupSize; ++k) w.push_back(nearest<double>(group[k]));
  }
  return w;
}

float dot_of(const ChainKernel& kernel, const ChainPlan& plan, const std::vector<double>& w,
             const std::vector<double>& x) {
  std::vector<float> sums;
  for (const std::vector<std::int32_t>& chain : plan.chains) {
    float c = 0;
    for (const std::int32_t i : chain) {
      const double p = w[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
      c = kernel.fma ? kernel.fma(i, c, p) : add_once(c, p);
    }
    sums.push_back(c);
  }
  for (const auto& [into, from] : plan.joins) {
    sums[static_cast<std::size_t>(into)] += sums[static_cast<std::size_t>(from)];
  }
  return sums[0];
}

}  // namespace

void run_chains(const Scene& scene, const ChainKernel& kernel, SubjectRun& run) {
  const CaseData& data = scene.data();
  if (scene.shape().dtype == Dtype::kF64) return;
  ChainPlan plan = plan_chains(kernel.order, scene.in());
  if (kernel.edit) kernel.edit(plan);
  const FloatFormat format = format_of(scene.shape().dtype);
  const WeightReader reader(data.expert_weights(), data.policy);
  for (const OutputRow& row : scene.rows()) {
    if (row.slots.empty()) continue;
    const std::vector<double> x = token_values(data, row.source);
    std::vector<Slot> slots = row.slots;
    if (kernel.slots_backwards) std::reverse(slots.begin(), slots.end());
    for (std::int64_t o = 0; o < scene.shape().out; ++o) {
      const std::int64_t index = row.row * scene.shape().out + o;
      float sum = 0;
      if (data.op == Op::kExpertLinear) {
        const FloatFormat shared = format_of(data.shared_output.dtype());
        sum = nearest<float>(decode_float(shared, output_bits(data.shared_output, index)));
      }
      for (const Slot& slot : slots) {
        const float d = dot_of(kernel, plan, weight_values(reader, slot.expert, o, scene.groups()), x);
        sum = add_once(sum, static_cast<double>(nearest<float>(slot.p)) * static_cast<double>(d));
      }
      set_output_bits(run.output, index, round_to(format, exact_value(sum)));
    }
  }
}

}  // namespace moe4::oracle
