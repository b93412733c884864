// Which outputs were written, against which must be and which may not be (VER-7, VER-15).
#pragma once

#include <cstdint>

#include "oracle/judge/compare.h"

namespace moe4::oracle {

struct WrittenCheck {
  std::int64_t unwritten = 0;  // outputs of counted rows that were not written
  std::int64_t stray = 0;      // outputs that were written in rows that may not be
  Status malformed;            // what the subject says of its rows does not fit the output
};

WrittenCheck check_written(const CaseData& data, const Due& due, const SubjectRun& run);

}  // namespace moe4::oracle
