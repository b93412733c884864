#include "gpu/ptx/text/lexer.h"

#include <algorithm>
#include <cstddef>

namespace moe4::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_start(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool is_word_part(char c) { return is_word_start(c) || is_digit(c); }

}  // namespace

void Lexer::skip_blanks() {
  bool line_start = at_ == 0 || text_[at_ - 1] == '\n';
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
      line_start = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      const std::size_t stop = end == std::string_view::npos ? text_.size() : end + 2;
      line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                           text_.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
      at_ = stop;
    } else if (c == '#' && line_start) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

Token Lexer::token(TokenKind kind, std::size_t length) {
  const Token result{kind, text_.substr(at_, length), line_};
  at_ += length;
  return result;
}

Token Lexer::next() {
  skip_blanks();
  if (at_ >= text_.size()) return {TokenKind::kEnd, {}, line_};
  const char c = text_[at_];
  std::size_t length = 1;
  const auto peek = [&](std::size_t ahead) { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; };

  if (is_word_start(c)) {
    // "a::b" is one word; "label:" is a word and a colon.
    while (is_word_part(peek(length)) ||
           (peek(length) == ':' && peek(length + 1) == ':' && is_word_part(peek(length + 2)))) {
      length += peek(length) == ':' ? 2 : 1;
    }
    return token(TokenKind::kWord, length);
  }
  if (is_digit(c)) {
    while (is_word_part(peek(length)) ||
           ((peek(length) == '-' || peek(length) == '+') && c != '0' && is_digit(peek(length + 1)) &&
            (peek(length - 1) == 'e' || peek(length - 1) == 'E'))) {
      ++length;
    }
    return token(TokenKind::kNumber, length);
  }
  if (c == '"') {
    while (at_ + length < text_.size() && text_[at_ + length] != '"' && text_[at_ + length] != '\n') {
      length += text_[at_ + length] == '\\' && at_ + length + 1 < text_.size() ? 2 : 1;
    }
    length = std::min(length + 1, text_.size() - at_);
    return token(TokenKind::kString, length);
  }
  if ((c == '<' || c == '>' || c == '=' || c == '!' || c == '&' || c == '|') && peek(1) != '\0') {
    const char d = peek(1);
    const bool pair = (d == '=' && c != '&' && c != '|') || (d == c && c != '=' && c != '!');
    if (pair) length = 2;
  }
  return token(TokenKind::kPunctuation, length);
}

}  // namespace moe4::ptx
