#include "oracle/generate/support.h"

namespace moe4::oracle {
namespace {

std::vector<bool> mask_of(const std::vector<std::int64_t>& kept, std::int64_t size) {
  if (kept.empty()) return {};
  std::vector<bool> mask(static_cast<std::size_t>(size), false);
  for (const std::int64_t index : kept) mask[static_cast<std::size_t>(index)] = true;
  return mask;
}

}  // namespace

Support::Support(const Case& c)
    : tokens_(mask_of(c.keep_tokens, c.tokens)), outputs_(mask_of(c.keep_outputs, c.out)) {
  if (c.keep_groups.empty() && c.keep_codes.empty()) return;
  const std::vector<bool> groups = mask_of(c.keep_groups, c.in / 32);
  const std::vector<bool> codes = mask_of(c.keep_codes, c.in);
  columns_.resize(static_cast<std::size_t>(c.in));
  groups_.resize(static_cast<std::size_t>(c.in / 32));
  for (std::int64_t i = 0; i < c.in; ++i) {
    const bool keep = kept(groups, i / 32) && kept(codes, i);
    columns_[static_cast<std::size_t>(i)] = keep;
    if (keep) groups_[static_cast<std::size_t>(i / 32)] = true;
  }
}

}  // namespace moe4::oracle
