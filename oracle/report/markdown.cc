#include "oracle/report/markdown.h"

#include "oracle/report/table.h"

namespace moe4::oracle {

std::string gate_markdown(const GateReport& report) {
  // A fence of four: no report of a failure holds one.
  const auto fenced = [](const std::string& text) { return "````\n" + text + "````\n"; };
  std::string text = "# moe4 gate, tier " + report.tier + "\n\n" + gate_summary(report) + "\n";
  text += fenced(gate_table(report));
  const std::pair<const char*, std::string> parts[] = {{"Against the baseline", gate_baseline(report)},
                                                       {"What is wrong", gate_failures(report)},
                                                       {"Known faults", gate_known(report)}};
  for (const auto& [title, part] : parts) {
    if (!part.empty()) text += std::string("\n## ") + title + "\n\n" + fenced(part);
  }
  return text;
}

}  // namespace moe4::oracle
