// A verdict in words, for whoever has to find the fault. The replay command is the caller's to add.
#pragma once

#include <string>

#include "oracle/judge/verdict.h"

namespace moe4::oracle {

// In this order: verdict and rule; counts; where; worst elements in hex and value, expected first; codes and
// scale behind the first of them, and its sum worked out if it is short; what the device saw; the fault that
// it matches, if the verdict has one. Lines end with '\n'.
std::string report_text(const CaseData& data, const Declaration& declaration, const Verdict& verdict);

// The groups that weigh most in output [output_row, out], a line each: slot, expert, p, group, scale, codes
// in the order of i. combine: the rows of the slots.
std::string operands_behind(const CaseData& data, std::int64_t output_row, std::int64_t out);

// What the verdict rests on beside the rule: the chip that was modelled, approximate instructions. May be
// empty.
std::string device_lines(const Verdict& verdict);

}  // namespace moe4::oracle
