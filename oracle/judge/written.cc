#include "oracle/judge/written.h"

#include "oracle/case/output_rows.h"

namespace moe4::oracle {

WrittenCheck check_written(const CaseData& data, const Due& due, const SubjectRun& run) {
  WrittenCheck check;
  const OutputShape shape = output_shape(data);
  if (!run.written.empty() && static_cast<std::int64_t>(run.written.size()) != shape.rows) {
    check.malformed = Error{"written", std::to_string(run.written.size()),
                            "FILE-18: one a row of the output, " + std::to_string(shape.rows)};
    return check;
  }
  // VER-15: kernels of the grouped operations store whole tiles, so padding rows may hold anything. Rows that
  // no id of `indexed` names are the caller's.
  const bool padding_is_free = data.op != Op::kIndexed;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const bool counts = due.counts(row);
    if (!counts && padding_is_free) continue;
    if (!run.written.empty()) {
      const bool written = run.written[static_cast<std::size_t>(row)] != 0;
      if (counts && !written) check.unwritten += shape.out;
      if (!counts && written) check.stray += shape.out;
    }
    if (run.unwritten.empty()) continue;
    for (std::int64_t o = 0; o < shape.out; ++o) {
      const bool unwritten = run.unwritten[static_cast<std::size_t>(row * shape.out + o)];
      if (counts && unwritten) ++check.unwritten;
      if (!counts && !unwritten) ++check.stray;
    }
  }
  return check;
}

}  // namespace moe4::oracle
