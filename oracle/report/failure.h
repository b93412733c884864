// What is printed for a red verdict.
#pragma once

#include <string>
#include <string_view>

#include "oracle/judge/verdict.h"

namespace moe4::oracle {

// "moe4 run 'CASE LINE' --subject NAME": what a user types to see this again (Subject::selector).
std::string replay_command(const Case& line, std::string_view selector);

// A word of a POSIX shell command line: quoted if it must be.
std::string shell_word(std::string_view text);

// The verdict's explanation (oracle/judge/report_text.h) between the replay command as first and as last
// line.
std::string failure_block(const CaseData& data, const Declaration& declaration, const Verdict& verdict,
                          std::string_view replay);

}  // namespace moe4::oracle
