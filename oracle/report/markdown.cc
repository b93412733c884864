#include "oracle/report/markdown.h"

#include "oracle/report/table.h"

namespace moe4::oracle {

std::string gate_markdown(const GateReport& report) {
  // A fence of four: no report of a failure holds one.
  const auto fenced = [](const std::string& text) { return "````\n" + text + "````\n"; };
  std::string text = "# moe4 gate, tier " + report.tier + "\n\n" + gate_summary(report) + "\n";
  text += fenced(gate_table(report));
  const std::string failures = gate_failures(report);
  if (!failures.empty()) text += "\n## What is wrong\n\n" + fenced(failures);
  return text;
}

}  // namespace moe4::oracle
