#include "oracle/report/html.h"

#include <fmt/core.h>

#include "oracle/report/failure.h"
#include "oracle/report/html_picture.h"
#include "oracle/report/printable.h"
#include "oracle/report/table.h"

namespace moe4::oracle {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --text: #1c2128; --dim: #57606a; --page: #ffffff; --box: #f6f8fa; --line: #d0d7de;
        --good: #1a7f37; --bad: #cf222e; --weak: #9a6700; --frame: #0550ae; --right: #e7ecf1; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --dim: #9198a1; --page: #0d1117; --box: #161b22; --line: #3d444d;
          --good: #3fb950; --bad: #ff6a5f; --weak: #d29922; --frame: #79c0ff; --right: #21262d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.75rem, 3vw, 2rem); max-width: 76rem; background: var(--page);
       color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .35rem 0; } .dim { color: var(--dim); }
code, pre { font: 12.5px/1.45 ui-monospace, monospace; } code { overflow-wrap: anywhere; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .75rem; margin: .5rem 0;
      overflow-x: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--dim); font-weight: 600; font-size: .85rem; }
.status { display: inline-block; padding: 0 .5rem; border-radius: 1rem; border: 1px solid currentColor; font-size: .8rem;
          font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .weak { color: var(--weak); }
article { border: 1px solid var(--line); border-radius: 6px; padding: .75rem .9rem; margin: .75rem 0; }
article > header { display: flex; gap: .6rem; align-items: baseline; flex-wrap: wrap; margin-bottom: .35rem; }
ul { margin: .35rem 0; padding-left: 1.2rem; } summary { cursor: pointer; color: var(--dim); margin-top: .5rem; }
figure { margin: .6rem 0; } figcaption { color: var(--dim); font-size: .85rem; }
svg { display: block; max-width: none; } svg text { fill: var(--dim); font: 10px ui-monospace, monospace; }
svg .right { fill: var(--right); } svg .wrong { fill: var(--bad); }
svg .cluster { fill: none; stroke: var(--frame); stroke-width: 1.5; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .7em; vertical-align: -.08em; }
.key.right { background: var(--right); } .key.wrong { background: var(--bad); }
.key.cluster { border: 1.5px solid var(--frame); }
)css";

const char* class_of(VerdictStatus status) {
  if (!is_red(status)) return status == VerdictStatus::kPassed ? "good" : "dim";
  return exit_code_of(status) == ExitCode::kUnmet ? "weak" : "bad";
}

std::string badge(std::string_view text, const char* look) {
  return fmt::format("<span class=\"status {}\">{}</span>", look, escape_markup(text));
}

std::string list_of(const std::vector<std::string>& lines) {
  std::string text = "<ul>";
  for (const std::string& line : lines) text += "<li>" + escape_markup(line) + "</li>";
  return text + "</ul>\n";
}

std::string row(const Tally& tally) {
  const auto percent = [](const std::optional<double>& share) {
    return share ? fmt::format("{:.1f} %", 100 * *share) : std::string("–");
  };
  std::string status = badge(name_of(tally.status), class_of(tally.status));
  if (tally.red > 0) status += fmt::format(" {} red", tally.red);
  if (tally.known > 0) status += fmt::format(" {} known", tally.known);
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{} of {}</td><td>{}</td><td>{}</td><td>{} / "
      "{}</td><td>{:.3g}</td><td>{:.1f} "
      "s</td></tr>\n",
      escape_markup(tally.subject), status, tally.ran, tally.listed, tally.unsupported,
      tally.coverage.count(), percent(tally.all.share()), percent(tally.real_bf16.share()), tally.max_ulp,
      tally.seconds);
}

std::string table(const GateReport& report) {
  std::string text =
      "<div "
      "class=\"scroll\"><table><thead><tr><th>subject</th><th>verdict</th><th>ran</th><th>unsupported</th>"
      "<th>pairs covered</th><th>one right value: all / real BF16</th><th>max "
      "ulp</th><th>time</th></tr></thead>"
      "<tbody>\n";
  for (const Tally& tally : report.tallies) text += row(tally);
  return text + "</tbody></table></div>\n";
}

std::string figure(const Picture& picture) {
  if (picture.empty()) return "";
  std::string scale;
  if (picture.row_step > 1 || picture.output_step > 1) {
    scale = fmt::format(" A cell is {} {}s by {} outputs; the darker, the more of them are wrong.",
                        picture.row_step, escape_markup(picture.row_name), picture.output_step);
  }
  return "<figure><div class=\"scroll\">" + picture_svg(picture) + "</div><figcaption>" +
         fmt::format("{} {}s down, {} outputs across:", picture.rows, escape_markup(picture.row_name),
                     picture.outputs) +
         "<span class=\"key right\"></span>right<span class=\"key wrong\"></span>wrong<span class=\"key "
         "cluster\"></span>cluster." +
         scale + "</figcaption></figure>\n";
}

std::string article(const CaseResult& result) {
  const Verdict& v = result.verdict;
  std::string text = "<article><header>" + badge(name_of(v.status), class_of(v.status)) + "<h3>" +
                     escape_markup(result.subject) + "</h3></header>\n<p><code>" +
                     escape_markup(to_string(result.line)) + "</code></p>\n<p>" + escape_markup(v.reason) +
                     "</p>\n";
  if (!v.rule.empty()) text += "<p class=\"dim\">" + escape_markup(v.rule) + "</p>\n";
  text += figure(v.picture);
  if (!v.where.empty()) text += list_of(v.where);
  return text + "<details><summary>The whole report</summary><pre>" + escape_markup(result.failure) +
         "</pre></details></article>\n";
}

std::string failures(const GateReport& report) {
  constexpr int kMost = 20;  // articles a subject
  std::string text;
  for (const Tally& tally : report.tallies) {
    int shown = 0;
    std::string more;
    for (const CaseResult& result : tally.results) {
      if (!is_red(result)) continue;
      if (++shown <= kMost) {
        text += article(result);
      } else {
        more += escape_markup(replay_command(result.line, result.selector)) + "\n";
      }
    }
    if (!more.empty()) {
      text += fmt::format("<details><summary>{} more failures of {}</summary><pre>{}</pre></details>\n",
                          shown - kMost, escape_markup(tally.subject), more);
    }
  }
  return text;
}

std::string section(const char* title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", title, body);
}

std::string preformatted(const std::string& text) {
  return text.empty() ? "" : "<pre>" + escape_markup(text) + "</pre>\n";
}

std::string conditions(const GateReport& report) {
  std::vector<std::string> all = report.unmet();
  for (const Tally& tally : report.tallies) {
    for (const std::string& sentence : tally.unmet) all.push_back(tally.subject + ": " + sentence);
  }
  return all.empty() ? "" : list_of(all);
}

}  // namespace

std::string gate_html(const GateReport& report) {
  const ExitCode code = report.exit_code();
  const char* look = code == ExitCode::kPassed ? "good" : code == ExitCode::kUnmet ? "weak" : "bad";
  const std::string summary = gate_summary(report);
  const std::size_t colon = summary.find(':');
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n<title>moe4 gate: " +
      escape_markup(summary.substr(0, colon)) + "</title><style>" + kStyle + "</style></head>\n<body>\n";
  text += "<h1>moe4 gate, tier " + escape_markup(report.tier) + "</h1>\n<p>" +
          badge(summary.substr(0, colon), look) +
          escape_markup(colon == std::string::npos ? "" : summary.substr(colon + 1)) + "</p>\n";
  text += table(report);
  text += section("Conditions that are not met", conditions(report));
  text += section("Against the baseline", preformatted(gate_baseline(report)));
  text += section("What is wrong", failures(report));
  text += section("Known faults", preformatted(gate_known(report)));
  return text + "</body></html>\n";
}

}  // namespace moe4::oracle
