#include "oracle/subject/child/command_words.h"

namespace moe4::oracle {
namespace {

constexpr std::string_view kCases = "{cases}";
constexpr std::string_view kResults = "{results}";

std::string replaced(std::string word, std::string_view name, const std::string& by) {
  for (std::size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += by.size()) {
    word.replace(at, name.size(), by);
  }
  return word;
}

}  // namespace

Result<std::vector<std::string>> command_words(std::string_view command) {
  std::vector<std::string> words;
  bool open = false;  // is there a word to add to?
  char quote = 0;
  for (std::size_t n = 0; n < command.size(); ++n) {
    const char c = command[n];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && blank) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (++n == command.size())
        return Error{"command", std::string(command), "a backslash has a character after it"};
      words.back() += command[n];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return Error{"command", std::string(command), "every quote is closed"};
  for (const std::string_view name : {kCases, kResults}) {
    if (command.find(name) == std::string_view::npos) {
      return Error{"command", std::string(command),
                   "has " + std::string(name) + " in it (docs/command_subject.md)"};
    }
  }
  return words;
}

std::vector<std::string> with_folders(std::vector<std::string> words, const std::string& cases,
                                      const std::string& results) {
  for (std::string& word : words)
    word = replaced(replaced(std::move(word), kCases, cases), kResults, results);
  return words;
}

}  // namespace moe4::oracle
