// Arithmetic over a case's letters, for launches that a declaration describes: "ceil(T/4) * ceil(O/32)".
//
//   sum     = product { ("+" | "-") product }
//   product = sign { ("*" | "/" | "%") sign }
//   sign    = [ "-" ] factor
//   factor  = number | letter | "(" sum ")" | ("ceil" | "floor") "(" sum ")" | ("min" | "max") "(" sum, sum …
//   ")"
//
// Numbers are ratios of 64-bit integers, exact; what leaves that range is an error. "/" is true division, so
// a grid of O/64 blocks needs ceil or floor unless O is a multiple of 64. a % b is a - b*floor(a/b).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle {

using Letters = std::map<std::string, std::int64_t, std::less<>>;

class Expression {
 public:
  Expression() = default;  // the number 0

  // Errors name the position (from 1) in the text: a word that is none of `letters`, a missing bracket, …
  static Result<Expression> parse(std::string_view text, std::span<const std::string> letters);
  static Expression constant(std::int64_t value);

  // The value as an integer. An Error if it is none, if a divisor is zero, or if a number is out of range.
  Result<std::int64_t> whole(const Letters& letters) const;
  // Rounded to a double where the ratio is no double.
  Result<double> number(const Letters& letters) const;

  const std::string& text() const { return text_; }

  friend bool operator==(const Expression& a, const Expression& b) { return a.text_ == b.text_; }

 private:
  enum class Op : std::uint8_t {
    kNumber,
    kLetter,
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kNegate,
    kCeil,
    kFloor,
    kMin,
    kMax
  };
  struct Step {
    Op op = Op::kNumber;
    std::size_t position = 0;
    std::int64_t value = 0;  // kNumber
    std::string letter;      // kLetter
  };
  struct Ratio {
    std::int64_t over = 0, under = 1;
  };
  class Parser;

  Result<Ratio> evaluate(const Letters& letters) const;
  Error error(std::size_t position, std::string_view rule) const;

  std::string text_ = "0";
  std::vector<Step> steps_ = {Step{}};  // postfix
};

}  // namespace moe4::oracle
