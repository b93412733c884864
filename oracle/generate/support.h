// The support of a shrunk case: what keep_* keeps (DATA-11).
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle {

class Support {
 public:
  explicit Support(const Case& c);

  bool all_columns() const { return columns_.empty(); }
  bool token(std::int64_t t) const { return kept(tokens_, t); }
  bool output(std::int64_t o) const { return kept(outputs_, o); }
  bool column(std::int64_t i) const { return kept(columns_, i); }
  bool group(std::int64_t g) const { return kept(groups_, g); }

 private:
  static bool kept(const std::vector<bool>& mask, std::int64_t index) {
    return mask.empty() || mask[static_cast<std::size_t>(index)];
  }

  std::vector<bool> tokens_, outputs_, columns_, groups_;  // empty: all
};

}  // namespace moe4::oracle
