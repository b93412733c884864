// A token stream with one token of look-ahead and the error that stopped it; base of the parser.
#pragma once

#include <string>
#include <string_view>

#include "gpu/ptx/ptx.h"
#include "gpu/ptx/text/lexer.h"

namespace moe4::ptx {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : lexer_(text), token_(lexer_.next()), ahead_(lexer_.next()) {}

  const Token& token() const { return token_; }
  const Token& ahead() const { return ahead_; }
  bool at(char c) const { return token_.is(c); }
  bool at_word(std::string_view word) const { return token_.is_word(word); }
  bool at_end() const { return token_.kind == TokenKind::kEnd; }

  void advance() {
    token_ = ahead_;
    ahead_ = lexer_.next();
  }
  bool accept(char c) {
    if (!at(c)) return false;
    advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!at_word(word)) return false;
    advance();
    return true;
  }
  bool expect(char c) {
    if (accept(c)) return true;
    return fail(std::string("expected '") + c + "'");
  }

  // Always false, so that a caller can return it. The first failure stays.
  bool fail(const std::string& message) { return fail_at(token_, message); }
  bool fail_at(const Token& token, const std::string& message) {
    if (failed_) return false;
    failed_ = true;
    error_.line = token.line;
    error_.instruction = std::string(token.text.substr(0, 80));
    error_.message = message + (token.kind == TokenKind::kEnd ? " at the end of the text" : "");
    return false;
  }
  bool failed() const { return failed_; }
  const Error& error() const { return error_; }

 private:
  Lexer lexer_;
  Token token_, ahead_;
  bool failed_ = false;
  Error error_;
};

}  // namespace moe4::ptx
