// One instruction: guard, opcode, operands.
#include <string>
#include <utility>

#include "gpu/ptx/text/body_parser.h"
#include "gpu/ptx/text/literal.h"

namespace moe4::ptx {
namespace {

constexpr std::size_t kMaxStatements = 1u << 22, kMaxRegisters = 1u << 22, kMaxItems = 1024;

std::vector<std::string_view> pieces_of(std::string_view opcode) {
  std::vector<std::string_view> pieces;
  while (!opcode.empty()) {
    const std::size_t dot = opcode.find('.');
    pieces.push_back(opcode.substr(0, dot));
    opcode = dot == std::string_view::npos ? std::string_view() : opcode.substr(dot + 1);
  }
  return pieces;
}

}  // namespace

bool BodyParser::statement() {
  if (function_.statements.size() >= kMaxStatements || function_.registers.size() >= kMaxRegisters) {
    return cursor_.fail("function too large");
  }
  Statement statement;
  statement.location = location_;
  if (cursor_.accept('@')) {
    statement.guard_negated = cursor_.accept('!');
    const Name* name = find(cursor_.token().text);
    if (!name || name->kind != Name::Kind::kRegister ||
        function_.registers[name->index].type != Type::kPred) {
      return cursor_.fail("the guard is no predicate register");
    }
    statement.guard = name->index;
    cursor_.advance();
  }
  if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected an instruction");
  statement.line = cursor_.token().line;
  const char* begin = cursor_.token().text.data();
  const std::vector<std::string_view> pieces = pieces_of(cursor_.token().text);
  statement.base = pieces[0];
  statement.modifiers.assign(pieces.begin() + 1, pieces.end());
  cursor_.advance();
  const bool call = statement.base == "call";
  function_.statements.push_back(std::move(statement));
  if (!cursor_.at(';')) {
    do {
      Operand operand;
      if (!this->operand(&operand, call, 0)) return false;
      Statement& current = function_.statements.back();
      if (operand.kind == OperandKind::kName) {
        scopes_.use_label({operand.text, function_.statements.size() - 1, current.operands.size()});
      }
      current.operands.push_back(std::move(operand));
      if (current.operands.size() > kMaxItems) return cursor_.fail("too many operands");
    } while (cursor_.accept(','));
  }
  Statement& current = function_.statements.back();
  const char* end = cursor_.token().text.data();
  if (end == nullptr) end = text_.data() + text_.size();
  current.text = std::string_view(begin, static_cast<std::size_t>(end - begin));
  current.used_bytes_mask = std::exchange(used_bytes_mask_, ~0ull);
  return cursor_.expect(';');
}

bool BodyParser::vector(Operand* result, char close, bool call, int depth) {
  result->kind = OperandKind::kVector;
  while (!cursor_.at(close)) {
    Operand item;
    if (!operand(&item, call, depth + 1)) return false;
    result->items.push_back(std::move(item));
    if (result->items.size() > kMaxItems) return cursor_.fail("vector too long");
    if (!cursor_.accept(',')) break;
  }
  return cursor_.expect(close);
}

bool BodyParser::operand(Operand* result, bool call, int depth) {
  if (depth > 4) return cursor_.fail("operand nested too deeply");
  if (cursor_.accept('{')) return vector(result, '}', call, depth);
  if (call && cursor_.accept('(')) return vector(result, ')', call, depth);
  if (cursor_.accept('[')) return address(result, depth);
  if (cursor_.at('!') && cursor_.ahead().kind == TokenKind::kWord) {
    cursor_.advance();
    if (!word_operand(result, depth)) return false;
    result->negated = true;
    return true;
  }
  if (cursor_.token().kind == TokenKind::kWord && !cursor_.at_word("WARP_SZ"))
    return word_operand(result, depth);
  Literal literal;
  if (!parse_constant(cursor_, &literal)) return false;
  using Kind = Literal::Kind;
  result->kind = literal.kind == Kind::kInteger  ? OperandKind::kInteger
                 : literal.kind == Kind::kSingle ? OperandKind::kSingle
                                                 : OperandKind::kDouble;
  result->value = literal.value;
  result->bits = literal.bits;
  return true;
}

bool BodyParser::word_operand(Operand* result, int depth) {
  const std::string_view word = cursor_.token().text;
  result->text = word;
  cursor_.advance();
  if (word == "_") {
    result->kind = OperandKind::kSink;
  } else if (const Name* name = find(word)) {
    result->kind = name->kind == Name::Kind::kRegister ? OperandKind::kRegister : OperandKind::kVariable;
    result->index = name->index;
  } else if (const auto global = module_names_.find(word); global != module_names_.end()) {
    result->kind = OperandKind::kVariable;
    result->index = global->second + kModuleVariables;
  } else {
    result->kind = word[0] == '%' ? OperandKind::kSpecial : OperandKind::kName;
  }
  if (result->kind == OperandKind::kVariable && (cursor_.at('+') || cursor_.at('-'))) {
    const bool minus = cursor_.at('-');
    cursor_.advance();
    Literal literal;
    if (!parse_constant(cursor_, &literal)) return false;
    result->value =
        minus ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(literal.value)) : literal.value;
  }
  if (cursor_.accept('|')) {
    Operand second;
    if (!operand(&second, false, depth + 1)) return false;
    if (second.kind == OperandKind::kRegister) {
      result->paired = second.index;
    } else if (second.kind == OperandKind::kSink) {
      result->paired = kSinkPair;
    } else {
      return cursor_.fail("expected a predicate register after '|'");
    }
  }
  return true;
}

bool BodyParser::address(Operand* result, int depth) {
  result->kind = OperandKind::kAddress;
  Operand base;
  if (!operand(&base, false, depth + 1)) return false;
  if (base.kind == OperandKind::kVariable) std::swap(result->value, base.value);
  if (cursor_.at('+') || cursor_.at('-')) {
    const bool minus = cursor_.at('-');
    cursor_.advance();
    Literal literal;
    if (!parse_constant(cursor_, &literal)) return false;
    const auto offset = static_cast<std::uint64_t>(literal.value);
    result->value =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(result->value) + (minus ? 0 - offset : offset));
  }
  result->items.push_back(std::move(base));
  while (cursor_.accept(',')) {
    Operand item;
    if (!operand(&item, false, depth + 1)) return false;
    result->items.push_back(std::move(item));
    if (result->items.size() > kMaxItems) return cursor_.fail("too many coordinates");
  }
  return cursor_.expect(']');
}

}  // namespace moe4::ptx
