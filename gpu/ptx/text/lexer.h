// Tokens of PTX text. A word keeps its dots and "::" ("ld.global.v4.u32", "%tid.x", ".reg"); comments and
// preprocessor lines are skipped; every token knows its line.
#pragma once

#include <cstdint>
#include <string_view>

namespace moe4::ptx {

enum class TokenKind : std::uint8_t { kWord, kNumber, kString, kPunctuation, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  int line = 0;

  bool is(char punctuation) const {
    return kind == TokenKind::kPunctuation && text.size() == 1 && text[0] == punctuation;
  }
  bool is_word(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();

 private:
  void skip_blanks();
  Token token(TokenKind kind, std::size_t length);

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace moe4::ptx
