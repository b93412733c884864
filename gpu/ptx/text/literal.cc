#include "gpu/ptx/text/literal.h"

#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

namespace moe4::ptx {
namespace {

std::optional<std::uint64_t> digits(std::string_view text, unsigned base) {
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    unsigned digit = 99;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base || value > (std::numeric_limits<std::uint64_t>::max() - digit) / base)
      return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

// Precedence of a binary operator, 0 when the token is none.
int precedence(const Token& token) {
  if (token.kind != TokenKind::kPunctuation) return 0;
  const std::string_view t = token.text;
  if (t == "||") return 1;
  if (t == "&&") return 2;
  if (t == "|") return 3;
  if (t == "^") return 4;
  if (t == "&") return 5;
  if (t == "==" || t == "!=") return 6;
  if (t == "<" || t == ">" || t == "<=" || t == ">=") return 7;
  if (t == "<<" || t == ">>") return 8;
  if (t == "+" || t == "-") return 9;
  if (t == "*" || t == "/" || t == "%") return 10;
  return 0;
}

bool apply(Cursor& cursor, std::string_view op, std::int64_t a, std::int64_t b, std::int64_t* result) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  if (op == "/" || op == "%") {
    if (b == 0) return cursor.fail("division by zero in a constant expression");
    if (b == -1) {
      *result = op == "/" ? static_cast<std::int64_t>(0 - ua) : 0;
    } else {
      *result = op == "/" ? a / b : a % b;
    }
    return true;
  }
  std::uint64_t r = 0;
  if (op == "||") r = (a != 0 || b != 0);
  if (op == "&&") r = (a != 0 && b != 0);
  if (op == "|") r = ua | ub;
  if (op == "^") r = ua ^ ub;
  if (op == "&") r = ua & ub;
  if (op == "==") r = a == b;
  if (op == "!=") r = a != b;
  if (op == "<") r = a < b;
  if (op == ">") r = a > b;
  if (op == "<=") r = a <= b;
  if (op == ">=") r = a >= b;
  if (op == "<<") r = ub > 63 ? 0 : ua << ub;
  if (op == ">>") r = static_cast<std::uint64_t>(ub > 63 ? (a < 0 ? -1 : 0) : a >> ub);
  if (op == "+") r = ua + ub;
  if (op == "-") r = ua - ub;
  if (op == "*") r = ua * ub;
  *result = static_cast<std::int64_t>(r);
  return true;
}

constexpr int kMaxDepth = 64;

bool parse_primary(Cursor& cursor, Literal* result, int depth) {
  if (depth > kMaxDepth) return cursor.fail("constant expression nested too deeply");
  for (const char sign : {'-', '+', '~', '!'}) {
    if (!cursor.accept(sign)) continue;
    if (!parse_primary(cursor, result, depth + 1)) return false;
    if (result->kind == Literal::Kind::kInteger) {
      const auto u = static_cast<std::uint64_t>(result->value);
      if (sign == '-') result->value = static_cast<std::int64_t>(0 - u);
      if (sign == '~') result->value = static_cast<std::int64_t>(~u);
      if (sign == '!') result->value = u == 0;
      return true;
    }
    if (sign == '~' || sign == '!') return cursor.fail("integer operator on a floating-point number");
    if (sign == '-') result->bits ^= result->kind == Literal::Kind::kSingle ? 1ull << 31 : 1ull << 63;
    return true;
  }
  if (cursor.accept('(')) {
    // A cast, (.u64) or (.s64), changes nothing at 64 bits.
    if (cursor.at_word(".u64") || cursor.at_word(".s64")) {
      cursor.advance();
      return cursor.expect(')') && parse_primary(cursor, result, depth + 1);
    }
    return parse_constant(cursor, result, depth + 1) && cursor.expect(')');
  }
  if (cursor.accept_word("WARP_SZ")) {
    *result = {Literal::Kind::kInteger, 32, 0};
    return true;
  }
  if (cursor.token().kind != TokenKind::kNumber) return cursor.fail("expected a number");
  const std::optional<Literal> literal = literal_from(cursor.token().text);
  if (!literal) return cursor.fail("malformed number");
  *result = *literal;
  cursor.advance();
  return true;
}

bool parse_binary(Cursor& cursor, Literal* left, int least, int depth) {
  if (!parse_primary(cursor, left, depth)) return false;
  while (const int level = precedence(cursor.token())) {
    if (level < least) return true;
    if (depth > kMaxDepth) return cursor.fail("constant expression nested too deeply");
    const std::string_view op = cursor.token().text;
    cursor.advance();
    Literal right;
    if (!parse_binary(cursor, &right, level + 1, depth + 1)) return false;
    if (left->kind != Literal::Kind::kInteger || right.kind != Literal::Kind::kInteger) {
      return cursor.fail("operator on a floating-point number in a constant expression");
    }
    if (!apply(cursor, op, left->value, right.value, &left->value)) return false;
  }
  return true;
}

}  // namespace

std::optional<Literal> literal_from(std::string_view text) {
  using Kind = Literal::Kind;
  const auto integer = [](std::optional<std::uint64_t> value) -> std::optional<Literal> {
    if (!value) return std::nullopt;
    return Literal{Kind::kInteger, static_cast<std::int64_t>(*value), 0};
  };
  if (text.size() > 64) return std::nullopt;
  if (text.size() > 2 && text[0] == '0') {
    const char c = text[1];
    if (c == 'f' || c == 'F' || c == 'd' || c == 'D') {
      const bool single = c == 'f' || c == 'F';
      const auto bits = text.size() == (single ? 10u : 18u) ? digits(text.substr(2), 16) : std::nullopt;
      if (!bits) return std::nullopt;
      return Literal{single ? Kind::kSingle : Kind::kDouble, 0, *bits};
    }
    if (c == 'x' || c == 'X') return integer(digits(text.substr(2), 16));
    if (c == 'b' || c == 'B') return integer(digits(text.substr(2), 2));
  }
  if (text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Literal{Kind::kDouble, 0, std::bit_cast<std::uint64_t>(value)};
  }
  if (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') return integer(digits(text, 8));
  return integer(digits(text, 10));
}

bool parse_constant(Cursor& cursor, Literal* result, int depth) {
  return parse_binary(cursor, result, 1, depth);
}

}  // namespace moe4::ptx
