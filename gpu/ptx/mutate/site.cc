#include "gpu/ptx/mutate/site.h"

#include <algorithm>
#include <utility>

#include "gpu/ptx/text/lexer.h"

namespace moe4::ptx {
namespace {

constexpr std::string_view kBlank = " \t\r\n\f\v";

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// From '@' to the opcode: the parser has read a guard there, so it can only be "@", "!", a name and blanks or
// comments between them.
std::string_view guard_before(std::string_view text, const char* opcode) {
  const std::size_t at = text.rfind('@', static_cast<std::size_t>(opcode - text.data()));
  return at == std::string_view::npos ? std::string_view() : between(text.data() + at, opcode);
}

}  // namespace

bool Site::has(std::string_view modifier) const {
  return std::find(statement.modifiers.begin(), statement.modifiers.end(), modifier) !=
         statement.modifiers.end();
}

std::string_view Site::modifier(std::size_t n) const {
  return n < statement.modifiers.size() ? statement.modifiers[n] : std::string_view();
}

Type Site::last_type() const {
  for (auto m = statement.modifiers.rbegin(); m != statement.modifiers.rend(); ++m) {
    if (const auto type = type_named(*m)) return *type;
  }
  return Type::kNone;
}

std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> pieces;
  Lexer lexer(list);
  const char *begin = nullptr, *end = nullptr;
  int depth = 0;
  for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
    if (depth == 0 && token.is(',')) {
      if (begin != nullptr) pieces.push_back(between(begin, end));
      begin = nullptr;
      continue;
    }
    if (token.is('{') || token.is('[') || token.is('(')) ++depth;
    if (token.is('}') || token.is(']') || token.is(')')) --depth;
    if (begin == nullptr) begin = token.text.data();
    end = token.text.data() + token.text.size();
  }
  if (begin != nullptr) pieces.push_back(between(begin, end));
  return pieces;
}

std::optional<Site> site_of(std::string_view text, const FunctionSyntax& function,
                            const Statement& statement) {
  Site site{function, statement, text, {}, {}, {}, {}};
  Lexer lexer(statement.text);
  site.opcode = lexer.next().text;
  site.operands = split_list(statement.text.substr(site.opcode.size()));
  if (site.operands.size() != statement.operands.size()) return std::nullopt;
  if (statement.guard != kNoIndex) {
    site.guard = guard_before(text, site.opcode.data());
    if (site.guard.empty()) return std::nullopt;
  }
  const char* end = text.data() + text.size();
  const char* semicolon = std::find(statement.text.data() + statement.text.size(), end, ';');
  if (semicolon == end) return std::nullopt;
  site.whole = between(site.guard.empty() ? site.opcode.data() : site.guard.data(), semicolon + 1);
  return site;
}

void Mutants::replace(Mutation kind, std::string_view piece, std::string replacement, std::string what) {
  const auto collapsed = [](std::string_view from) {
    std::string to;
    for (const char c : from) {
      const bool blank = kBlank.find(c) != std::string_view::npos;
      if (!blank) {
        to += c;
      } else if (!to.empty() && to.back() != ' ') {
        to += ' ';
      }
    }
    return to;
  };
  const auto offset = [this](const char* at) { return static_cast<std::size_t>(at - site_.text.data()); };
  Mutant mutant;
  mutant.kind = kind;
  mutant.line = site_.statement.line;
  mutant.name = std::string(name_of(kind)) + ":" + std::to_string(mutant.line) + ":" + std::move(what);
  mutant.begin = offset(piece.data());
  mutant.end = mutant.begin + piece.size();
  mutant.before = collapsed(site_.whole);
  const char* whole_end = site_.whole.data() + site_.whole.size();
  const std::string after = std::string(between(site_.whole.data(), piece.data())) + replacement +
                            std::string(between(piece.data() + piece.size(), whole_end));
  mutant.after = collapsed(after);
  mutant.replacement = std::move(replacement);
  list_.push_back(std::move(mutant));
}

void Mutants::operand(Mutation kind, std::size_t n, std::string value, std::string what) {
  replace(kind, site_.operands[n], std::move(value), "op" + std::to_string(n) + std::move(what));
}

void Mutants::modifier(Mutation kind, std::size_t n, std::string_view word, std::string what) {
  std::string opcode(site_.statement.base);
  for (std::size_t m = 0; m < site_.statement.modifiers.size(); ++m) {
    const std::string_view modifier = m == n ? word : site_.statement.modifiers[m];
    if (!modifier.empty()) opcode += "." + std::string(modifier);
  }
  replace(kind, site_.opcode, std::move(opcode), std::move(what));
}

void Mutants::drop(Mutation kind) { replace(kind, site_.whole, "", "drop " + std::string(site_.opcode)); }

void Mutants::instead(Mutation kind, const std::string& instruction, std::string what) {
  const char* end = site_.whole.data() + site_.whole.size() - 1;
  replace(kind, between(site_.opcode.data(), end), instruction, std::move(what));
}

void Mutants::computed(Mutation kind, std::string_view piece, std::string_view operation, std::int64_t by,
                       std::string what) {
  constexpr std::string_view kName = "moe4_mutant";  // shadows whatever an outer scope has of that name
  const char* end = site_.whole.data() + site_.whole.size();
  const std::string scope = "{ .reg .b32 " + std::string(kName) + "; " + std::string(operation) + " " +
                            std::string(kName) + ", " + std::string(piece) + ", " + std::to_string(by) +
                            "; " + std::string(between(site_.whole.data(), piece.data())) +
                            std::string(kName) + std::string(between(piece.data() + piece.size(), end)) +
                            " }";
  replace(kind, site_.whole, scope, std::move(what));
}

}  // namespace moe4::ptx
