#include "oracle/generate/weights.h"

#include <algorithm>

#include "reference/formats/packed_codes.h"
#include "reference/formats/packed_words.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kWorthThreads = std::int64_t{1} << 15;  // elements

// What a code and a scale of no effect are, and what may not be read.
struct Blank {
  std::uint8_t zero_code;
  std::uint16_t one;  // as a scale
  std::uint8_t poison_byte;
  std::uint16_t poison_scale;
};

Blank blank_of(WeightFormat format) {
  if (format == WeightFormat::kMxfp4) return {0, 127, 0x77, 0xFF};
  return {8, 0x3F80, 0x77, 0x7FFF};
}

// DATA-11 on one row.
void restrict_row(const Support& support, bool keep_row, const Blank& blank, std::span<std::uint8_t> codes,
                  std::span<std::uint16_t> scales) {
  if (keep_row && support.all_columns()) return;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!keep_row || !support.column(static_cast<std::int64_t>(i))) codes[i] = blank.zero_code;
  }
  for (std::size_t g = 0; g < scales.size(); ++g) {
    if (!keep_row || !support.group(static_cast<std::int64_t>(g))) scales[g] = blank.one;
  }
}

void pack_mxfp4(std::span<const std::uint8_t> codes, std::uint8_t* bytes) {
  for (std::size_t b = 0; b < codes.size() / 2; ++b) {
    bytes[b] = static_cast<std::uint8_t>(codes[2 * b] | (codes[2 * b + 1] << 4));  // FMT-3
  }
}

void pack_int4(std::span<const std::uint8_t> codes, std::int32_t* words) {
  for (std::size_t w = 0; w < codes.size() / kCodesPerWord; ++w) {
    std::uint32_t word = 0;
    for (std::size_t n = 0; n < kCodesPerWord; ++n) {
      word |= std::uint32_t{codes[w * kCodesPerWord + n]} << (4 * n);  // INT-2
    }
    words[w] = static_cast<std::int32_t>(word);
  }
}

// row: e·O + o.
void store_row(CaseData& data, std::int64_t row, std::span<const std::uint8_t> codes,
               std::span<const std::uint16_t> scales) {
  const auto groups = static_cast<std::int64_t>(scales.size());
  if (data.weights == WeightFormat::kMxfp4) {
    std::uint8_t* bytes = data.scale_bytes.as<std::uint8_t>().data() + row * groups;
    for (std::size_t g = 0; g < scales.size(); ++g) bytes[g] = static_cast<std::uint8_t>(scales[g]);
    pack_mxfp4(codes, data.packed_weights.as<std::uint8_t>().data() + row * groups * kGroupBytes);
  } else {
    std::copy(scales.begin(), scales.end(), data.scales.as<std::uint16_t>().data() + row * groups);
    pack_int4(codes, data.packed_weights.as<std::int32_t>().data() + row * groups * kGroupWords);
  }
}

// DATA-9, poison: an expert that no slot selects is NaN throughout.
void write_poison(const Case& c, const std::vector<std::int64_t>& used, CaseData& data) {
  const Blank blank = blank_of(c.weights);
  const std::int64_t groups = c.out * (c.in / kGroupSize);
  const std::int64_t code_bytes = groups * kGroupSize / 2;
  for (std::int64_t e = 0; e < c.local_experts(); ++e) {
    if (std::binary_search(used.begin(), used.end(), e)) continue;
    std::byte* codes = data.packed_weights.data() + e * code_bytes;
    std::fill(codes, codes + code_bytes, std::byte{blank.poison_byte});
    if (c.weights == WeightFormat::kMxfp4) {
      std::uint8_t* bytes = data.scale_bytes.as<std::uint8_t>().data() + e * groups;
      std::fill(bytes, bytes + groups, static_cast<std::uint8_t>(blank.poison_scale));
    } else {
      std::uint16_t* scales = data.scales.as<std::uint16_t>().data() + e * groups;
      std::fill(scales, scales + groups, blank.poison_scale);
    }
  }
}

}  // namespace

void write_weights(const Case& c, const FillData& fill, const Support& support,
                   const std::vector<std::int64_t>& experts, CaseData& data) {
  const std::int64_t groups = c.in / kGroupSize;
  const WeightLayout& logical = *logical_layout(name_of(c.weights));
  const WeightExtent extent{c.local_experts(), c.out, c.in};
  data.packed_weights = Tensor(logical.code_dtype, logical.code_shape(extent));
  data.scale_tensor() = Tensor(logical.scale_dtype, logical.scale_shape(extent));

  const Blank blank = blank_of(c.weights);
  const std::int64_t rows = static_cast<std::int64_t>(experts.size()) * c.out;
#pragma omp parallel if (rows * c.in > kWorthThreads)
  {
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(c.in));
    std::vector<std::uint16_t> scales(static_cast<std::size_t>(groups));
#pragma omp for schedule(static)
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::int64_t e = experts[static_cast<std::size_t>(n / c.out)];
      const std::int64_t o = n % c.out;
      fill.row(c.first_expert() + e, o, codes, scales);
      restrict_row(support, support.output(o), blank, codes, scales);
      store_row(data, e * c.out + o, codes, scales);
    }
  }
  if (c.routing == Routing::kPoison) write_poison(c, experts, data);
}

}  // namespace moe4::oracle
