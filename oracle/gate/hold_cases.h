// Which passed cases of a gate are held against further runs of their subject (VER-18, VER-19).
#pragma once

namespace moe4::oracle {

// Of each operation and weight format one exact case and one other, or so many for each routing; with more
// rounds, in each round.
enum class HoldCases { kNone, kFew, kEachRouting };

}  // namespace moe4::oracle
