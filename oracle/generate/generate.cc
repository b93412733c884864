#include "oracle/generate/generate.h"

#include <fmt/format.h>

#include <array>
#include <new>
#include <vector>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/route.h"
#include "oracle/generate/store.h"
#include "oracle/generate/support.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kPackedGroup = 16;                      // bytes (FMT-4)
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 15;  // elements

// DATA-5: what is written, in bytes; the weights of experts that no slot selects stay unmapped.
Status check_size(const Case& c, std::int64_t written_experts) {
  const auto size = [](Dtype dtype) { return static_cast<__int128>(size_of(dtype)); };
  const __int128 tokens = c.tokens;
  __int128 bytes = tokens * c.in * size(c.dtype) + tokens * c.out * size(c.shared_dtype());
  bytes += tokens * c.top_k * (size(c.mixture_dtype()) + size(c.ids_dtype));
  bytes += static_cast<__int128>(written_experts) * c.out * (c.in / kGroupSize) * (kPackedGroup + 1);
  if (bytes <= (__int128{1} << 33)) return {};
  return Error{"case", to_string(c), "DATA-5: the data that is written has at most 2^33 bytes"};
}

void write_tokens(const Case& c, const FillData& fill, const Support& support, Tensor& tokens) {
#pragma omp parallel for schedule(static) if (c.tokens * c.in > kWorthThreads)
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    if (!support.token(t)) continue;
    for (std::int64_t i = 0; i < c.in; ++i) {
      if (support.column(i)) store_float(tokens, t * c.in + i, fill.token(t, i));
    }
  }
}

void write_shared(const Case& c, const FillData& fill, const Support& support, Tensor& shared) {
#pragma omp parallel for schedule(static) if (c.tokens * c.out > kWorthThreads)
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    if (!support.token(t)) continue;
    for (std::int64_t o = 0; o < c.out; ++o) {
      if (support.output(o)) store_float(shared, t * c.out + o, fill.shared(t, o));
    }
  }
}

void write_mixture(const Case& c, const FillData& fill, const std::vector<std::int64_t>& ids,
                   Tensor& mixture) {
  std::vector<ExactValue> p(static_cast<std::size_t>(c.top_k));
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    fill.mixture(t, p);
    for (std::int64_t j = 0; j < c.top_k; ++j) {
      // DATA-10: what stands beside an absent slot has no effect, so it is NaN.
      const bool absent = ids[static_cast<std::size_t>(t * c.top_k + j)] < 0;
      store_float(mixture, t * c.top_k + j, absent ? ExactValue::nan() : p[static_cast<std::size_t>(j)]);
    }
  }
}

// DATA-11 on one row.
void restrict_row(const Support& support, bool keep_row, std::span<std::uint8_t> codes,
                  std::span<std::uint8_t> scales) {
  if (keep_row && support.all_columns()) return;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!keep_row || !support.column(static_cast<std::int64_t>(i))) codes[i] = 0;
  }
  for (std::size_t g = 0; g < scales.size(); ++g) {
    if (!keep_row || !support.group(static_cast<std::int64_t>(g))) scales[g] = 127;
  }
}

void write_weights(const Case& c, const FillData& fill, const Support& support,
                   const std::vector<std::int64_t>& experts, Tensor& packed, Tensor& scale_bytes) {
  const std::int64_t groups = c.in / kGroupSize;
  const std::int64_t rows = static_cast<std::int64_t>(experts.size()) * c.out;
#pragma omp parallel if (rows * c.in > kWorthThreads)
  {
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(c.in));
#pragma omp for schedule(static)
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::int64_t e = experts[static_cast<std::size_t>(n / c.out)];
      const std::int64_t o = n % c.out;
      const std::int64_t row = e * c.out + o;
      const std::span<std::uint8_t> scales = scale_bytes.as<std::uint8_t>().subspan(
          static_cast<std::size_t>(row * groups), static_cast<std::size_t>(groups));
      fill.row(e, o, codes, scales);
      restrict_row(support, support.output(o), codes, scales);
      std::uint8_t* bytes = packed.as<std::uint8_t>().data() + row * groups * kPackedGroup;
      for (std::size_t b = 0; b < codes.size() / 2; ++b) {
        bytes[b] = static_cast<std::uint8_t>(codes[2 * b] | (codes[2 * b + 1] << 4));  // FMT-3
      }
    }
  }
}

// DATA-9, poison: an expert that no slot selects is NaN throughout.
void write_poison(const Case& c, const std::vector<std::int64_t>& used, Tensor& packed, Tensor& scale_bytes) {
  const std::int64_t scales_per_expert = c.out * (c.in / kGroupSize);
  std::size_t next = 0;
  for (std::int64_t e = 0; e < c.experts; ++e) {
    if (next < used.size() && used[next] == e) {
      ++next;
      continue;
    }
    std::uint8_t* scales = scale_bytes.as<std::uint8_t>().data() + e * scales_per_expert;
    std::uint8_t* codes = packed.as<std::uint8_t>().data() + e * scales_per_expert * kPackedGroup;
    std::fill(scales, scales + scales_per_expert, std::uint8_t{0xFF});
    std::fill(codes, codes + scales_per_expert * kPackedGroup, std::uint8_t{0x77});
  }
}

Result<CaseData> generate_valid(const Case& c, const FillData& fill) {
  const std::vector<std::int64_t> ids = selected_experts(c);
  const std::vector<std::int64_t> used = used_experts(ids);
  const bool poison = c.routing == Routing::kPoison;
  const auto used_count = static_cast<std::int64_t>(used.size());
  if (Status status = check_size(c, poison ? c.experts : used_count)) return *status;

  CaseData data;
  data.line = c;
  data.policy = c.policy;
  data.latent_tokens = Tensor(c.dtype, {c.tokens, c.in});
  data.packed_weights = Tensor(Dtype::kU8, {c.experts, c.out, c.in / kGroupSize, kPackedGroup});
  data.scale_bytes = Tensor(Dtype::kU8, {c.experts, c.out, c.in / kGroupSize});
  data.selected_experts = Tensor(c.ids_dtype, {c.tokens, c.top_k});
  data.mixture_weights = Tensor(c.mixture_dtype(), {c.tokens, c.top_k});
  data.shared_output = Tensor(c.shared_dtype(), {c.tokens, c.out});

  const Support support(c);
  for (std::size_t n = 0; n < ids.size(); ++n) {
    store_id(data.selected_experts, static_cast<std::int64_t>(n), ids[n]);
  }
  write_tokens(c, fill, support, data.latent_tokens);
  write_mixture(c, fill, ids, data.mixture_weights);
  write_shared(c, fill, support, data.shared_output);
  write_weights(c, fill, support, used, data.packed_weights, data.scale_bytes);
  if (poison) write_poison(c, used, data.packed_weights, data.scale_bytes);

  if (c.fill != Fill::kExact8 && c.fill != Fill::kExact24) return data;
  data.proof = prove_exact(data, c.fill == Fill::kExact8 ? 8 : 24);
  if (data.proof->proved) return data;
  return Error{"case", to_string(c),
               fmt::format("DATA-33: no room for an exact fill: {} units, limit {}",
                           data.proof->largest_units, data.proof->limit_units)};
}

}  // namespace

Result<CaseData> generate(const Case& c) {
  if (Status status = validate_case(c)) return *status;
  Result<std::unique_ptr<FillData>> fill = make_fill(c);
  if (!fill) return fill.error();
  try {
    return generate_valid(c, **fill);
  } catch (const std::bad_alloc&) {
    return Error{"case", to_string(c), "DATA-5: this machine has no memory for the tensors of the case"};
  }
}

}  // namespace moe4::oracle
