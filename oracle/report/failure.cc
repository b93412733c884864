#include "oracle/report/failure.h"

#include <algorithm>
#include <cctype>

#include "oracle/judge/report_text.h"

namespace moe4::oracle {

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./=+,:@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string replay_command(const Case& line, std::string_view selector) {
  return "moe4 run " + shell_word(to_string(line)) + " " + std::string(selector);
}

std::string failure_block(const CaseData& data, const Declaration& declaration, const Verdict& verdict,
                          std::string_view replay) {
  std::string text = std::string(replay) + "\n" + report_text(data, declaration, verdict);
  if (text.back() != '\n') text += "\n";
  return text + std::string(replay) + "\n";
}

}  // namespace moe4::oracle
