#include "oracle/subject/expression.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>

namespace moe4::oracle {
namespace {

constexpr std::size_t kMaxText = 1000;
constexpr int kMaxDepth = 50;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string at(std::size_t position, std::string_view rule) {
  return "position " + std::to_string(position + 1) + ": " + std::string(rule);
}

using Wide = __int128;

Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

bool fits(Wide value) {
  return value >= std::numeric_limits<std::int64_t>::min() &&
         value <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

// Recursive descent; the first error stays.
class Expression::Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> letters) : text_(text), letters_(letters) {}

  Result<Expression> run() {
    if (text_.size() > kMaxText)
      return Error{"", std::string(text_.substr(0, 40)) + "…", "at most 1000 characters"};
    sum();
    skip();
    if (!failed_ && next_ != text_.size()) fail(next_, "an operator is expected");
    if (failed_) return Error{"", std::string(text_), *failed_};
    Expression result;
    result.text_ = text_;
    result.steps_ = std::move(steps_);
    return result;
  }

 private:
  void skip() {
    while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\t')) ++next_;
  }
  bool accept(char c) {
    skip();
    if (next_ >= text_.size() || text_[next_] != c) return false;
    ++next_;
    return true;
  }
  void fail(std::size_t position, std::string_view rule) {
    if (!failed_) failed_ = at(position, rule);
  }
  void push(Op op, std::size_t position) {
    if (!failed_) steps_.push_back({op, position, 0, {}});
  }

  void sum() {
    if (++depth_ > kMaxDepth) return fail(next_, "brackets are nested 50 deep at most");
    product();
    while (!failed_) {
      const std::size_t here = next_;
      if (accept('+')) {
        product();
        push(Op::kAdd, here);
      } else if (accept('-')) {
        product();
        push(Op::kSub, here);
      } else {
        break;
      }
    }
    --depth_;
  }

  void product() {
    sign();
    while (!failed_) {
      skip();
      const std::size_t here = next_;
      const Op op = accept('*') ? Op::kMul : accept('/') ? Op::kDiv : accept('%') ? Op::kMod : Op::kNumber;
      if (op == Op::kNumber) return;
      sign();
      push(op, here);
    }
  }

  void sign() {
    skip();
    const std::size_t here = next_;
    const bool negative = accept('-');
    factor();
    if (negative) push(Op::kNegate, here);
  }

  void factor() {
    if (failed_) return;
    skip();
    const std::size_t here = next_;
    if (accept('(')) {
      sum();
      if (!accept(')')) fail(next_, "')' is expected");
    } else if (next_ < text_.size() && is_digit(text_[next_])) {
      number();
    } else if (next_ < text_.size() && is_letter(text_[next_])) {
      word();
    } else {
      fail(here, "a number, a letter or '(' is expected");
    }
  }

  void number() {
    const std::size_t here = next_;
    while (next_ < text_.size() && is_digit(text_[next_])) ++next_;
    Step step{Op::kNumber, here, 0, {}};
    const auto read = std::from_chars(text_.data() + here, text_.data() + next_, step.value);
    if (read.ec != std::errc()) return fail(here, "numbers are below 2^63");
    steps_.push_back(std::move(step));
  }

  void word() {
    const std::size_t here = next_;
    while (next_ < text_.size() && (is_letter(text_[next_]) || is_digit(text_[next_]))) ++next_;
    const std::string name(text_.substr(here, next_ - here));
    if (accept('(')) return call(name, here);
    if (std::find(letters_.begin(), letters_.end(), name) == letters_.end()) {
      std::string known;
      for (const std::string& letter : letters_) known += (known.empty() ? "" : ", ") + letter;
      return fail(here, "'" + name + "' is no letter of the case; there are " + known);
    }
    steps_.push_back({Op::kLetter, here, 0, name});
  }

  void call(const std::string& name, std::size_t here) {
    const bool many = name == "min" || name == "max";
    if (!many && name != "ceil" && name != "floor") {
      return fail(here, "'" + name + "' is no function; there are ceil, floor, min, max");
    }
    sum();
    if (!many) push(name == "ceil" ? Op::kCeil : Op::kFloor, here);
    int count = 1;
    while (!failed_ && many && accept(',')) {
      sum();
      push(name == "min" ? Op::kMin : Op::kMax, here);
      ++count;
    }
    if (!accept(')')) return fail(next_, "')' is expected");
    if (many && count < 2) fail(here, "'" + name + "' takes two arguments or more");
  }

  std::string_view text_;
  std::span<const std::string> letters_;
  std::size_t next_ = 0;
  int depth_ = 0;
  std::optional<std::string> failed_;
  std::vector<Step> steps_;
};

Result<Expression> Expression::parse(std::string_view text, std::span<const std::string> letters) {
  return Parser(text, letters).run();
}

Expression Expression::constant(std::int64_t value) {
  Expression result;
  result.text_ = std::to_string(value);
  result.steps_ = {Step{Op::kNumber, 0, value, {}}};
  return result;
}

Error Expression::error(std::size_t position, std::string_view rule) const {
  return {"", text_, at(position, rule)};
}

Result<Expression::Ratio> Expression::evaluate(const Letters& letters) const {
  std::vector<Ratio> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::kNumber) {
      stack.push_back({step.value, 1});
      continue;
    }
    if (step.op == Op::kLetter) {
      const auto found = letters.find(step.letter);
      if (found == letters.end()) return error(step.position, "the case has no " + step.letter);
      stack.push_back({found->second, 1});
      continue;
    }
    const Ratio b = stack.back();
    stack.pop_back();
    Ratio a = b;
    if (step.op != Op::kNegate && step.op != Op::kCeil && step.op != Op::kFloor) {
      a = stack.back();
      stack.pop_back();
    }
    // Products of two 64-bit numbers, and sums of two such, fit: |value| < 2^127.
    Wide over = 0, under = 1;
    switch (step.op) {
      case Op::kAdd:
      case Op::kSub: {
        const Wide right = Wide{b.over} * a.under;
        over = Wide{a.over} * b.under + (step.op == Op::kAdd ? right : -right);
        under = Wide{a.under} * b.under;
        break;
      }
      case Op::kMul:
        over = Wide{a.over} * b.over;
        under = Wide{a.under} * b.under;
        break;
      case Op::kDiv:
        if (b.over == 0) return error(step.position, "division by zero");
        over = Wide{a.over} * b.under;
        under = Wide{a.under} * b.over;
        break;
      case Op::kMod:
        if (b.over == 0) return error(step.position, "division by zero");
        if (a.under != 1 || b.under != 1) return error(step.position, "'%' takes whole numbers");
        over = Wide{a.over} - Wide{b.over} * floor_div(a.over, b.over);
        break;
      case Op::kNegate:
        over = -Wide{b.over};
        under = b.under;
        break;
      case Op::kFloor:
        over = floor_div(b.over, b.under);
        break;
      case Op::kCeil:
        over = -floor_div(-Wide{b.over}, b.under);
        break;
      case Op::kMin:
      case Op::kMax: {
        const bool less = Wide{a.over} * b.under < Wide{b.over} * a.under;
        const Ratio& chosen = less == (step.op == Op::kMin) ? a : b;
        over = chosen.over;
        under = chosen.under;
        break;
      }
      case Op::kNumber:
      case Op::kLetter:
        break;
    }
    if (under < 0) {
      over = -over;
      under = -under;
    }
    Wide x = over < 0 ? -over : over, y = under;
    while (y != 0) {
      const Wide rest = x % y;
      x = y;
      y = rest;
    }
    if (x > 1) {
      over /= x;
      under /= x;
    }
    if (!fits(over) || !fits(under)) return error(step.position, "a number leaves 64 bits");
    stack.push_back({static_cast<std::int64_t>(over), static_cast<std::int64_t>(under)});
  }
  return stack.back();
}

Result<std::int64_t> Expression::whole(const Letters& letters) const {
  const Result<Ratio> value = evaluate(letters);
  if (!value.ok()) return value.error();
  if (value->under != 1) {
    return Error{"", text_,
                 "a whole number, but this is " + std::to_string(value->over) + "/" +
                     std::to_string(value->under) + " (ceil and floor round)"};
  }
  return value->over;
}

Result<double> Expression::number(const Letters& letters) const {
  const Result<Ratio> value = evaluate(letters);
  if (!value.ok()) return value.error();
  return static_cast<double>(value->over) / static_cast<double>(value->under);
}

}  // namespace moe4::oracle
