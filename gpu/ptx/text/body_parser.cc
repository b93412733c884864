#include "gpu/ptx/text/body_parser.h"

#include <string>
#include <utility>

#include "gpu/ptx/text/literal.h"
#include "gpu/ptx/text/variable_parser.h"

namespace moe4::ptx {
namespace {

constexpr std::size_t kMaxScopes = 64;
constexpr std::size_t kMaxRegisters = 1u << 22;

// ".reg.b16" -> ".reg", rest ".b16".
std::string_view first_piece(std::string_view word) { return word.substr(0, word.find('.', 1)); }

}  // namespace

void BodyParser::refuse(std::string message) {
  function_.unsupported.push_back(
      {cursor_.token().line, std::string(cursor_.token().text), std::move(message)});
}

bool BodyParser::run() {
  if (!header()) return false;
  while (!cursor_.at('{')) {
    if (cursor_.accept(';')) return true;  // a prototype
    if (!directive()) return false;
  }
  function_.defined = true;
  return body();
}

bool BodyParser::header() {
  scopes_.push();
  const auto declare = [&](std::vector<Variable> parsed, std::vector<std::uint32_t>* list) {
    for (Variable& variable : parsed) {
      const auto index = static_cast<std::uint32_t>(function_.variables.size());
      scopes_.declare(variable.name, {Name::Kind::kVariable, index});
      list->push_back(index);
      function_.variables.push_back(std::move(variable));
    }
  };
  if (cursor_.at('(')) {
    std::vector<Variable> results;
    if (!parse_parameters(cursor_, &results)) return false;
    declare(std::move(results), &function_.results);
  }
  if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected the name of a function");
  function_.name = cursor_.token().text;
  cursor_.advance();
  if (cursor_.at('(')) {
    std::vector<Variable> parameters;
    if (!parse_parameters(cursor_, &parameters)) return false;
    declare(std::move(parameters), &function_.parameters);
  }
  return true;
}

bool BodyParser::dimensions(Dim3* result) {
  for (std::uint32_t* part : {&result->x, &result->y, &result->z}) {
    Literal literal;
    if (!parse_constant(cursor_, &literal)) return false;
    if (literal.value < 1 || literal.value > 0x7fffffff) return cursor_.fail("dimension out of range");
    *part = static_cast<std::uint32_t>(literal.value);
    if (!cursor_.accept(',')) return true;
  }
  return true;
}

bool BodyParser::directive() {
  const std::string_view word = cursor_.token().text;
  if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected a directive or '{'");
  if (word == ".pragma") return pragma();
  if (word == ".noreturn" || word == ".explicitcluster") {
    cursor_.advance();
    return true;
  }
  Dim3 dims;
  if (word == ".maxntid" || word == ".reqntid") {
    cursor_.advance();
    if (!dimensions(&dims)) return false;
    (word == ".maxntid" ? function_.max_block : function_.required_block) = dims;
    return true;
  }
  if (word == ".maxclusterrank") {
    cursor_.advance();
    if (!dimensions(&dims)) return false;
    function_.max_cluster_blocks = dims.x;
    return true;
  }
  if (word == ".minnctapersm" || word == ".maxnctapersm" || word == ".maxnreg" || word == ".abi_preserve" ||
      word == ".abi_preserve_control") {
    cursor_.advance();
    return dimensions(&dims);
  }
  if (word == ".reqnctapercluster") {
    cursor_.advance();
    if (!dimensions(&dims)) return false;
    function_.required_cluster = dims;
    return true;
  }
  return cursor_.fail("unknown directive of a function");
}

bool BodyParser::body() {
  do {
    if (cursor_.at_end()) return cursor_.fail("expected '}'");
    if (cursor_.accept('{')) {
      if (scopes_.depth() >= kMaxScopes) return cursor_.fail("scopes nested too deeply");
      scopes_.push();
    } else if (cursor_.accept('}')) {
      if (!close_scope()) return false;
    } else if (!line_item()) {
      return false;
    }
  } while (scopes_.depth() > 1);
  return close_scope();
}

bool BodyParser::close_scope() {
  for (const auto& [use, label] : scopes_.close()) {
    if (use.operand >= Scopes::kTargets) {
      function_.branch_targets[use.statement].targets[use.operand - Scopes::kTargets] = label;
    } else {
      Operand& operand = function_.statements[use.statement].operands[use.operand];
      operand.kind = OperandKind::kLabel;
      operand.index = label;
    }
  }
  scopes_.pop();
  return true;
}

bool BodyParser::line_item() {
  if (cursor_.accept(';')) return true;
  if (cursor_.at('@')) return statement();
  if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected an instruction");
  if (cursor_.ahead().is(':')) return label();
  if (cursor_.token().text[0] == '.') return body_directive();
  return statement();
}

bool BodyParser::label() {
  const Token at = cursor_.token();
  const std::string_view name = at.text;
  cursor_.advance();
  cursor_.advance();
  if (cursor_.at_word(".branchtargets")) return targets(name);
  if (cursor_.at_word(".callprototype") || cursor_.at_word(".calltargets")) {
    while (!cursor_.at(';')) {
      if (cursor_.at_end()) return cursor_.fail("expected ';'");
      cursor_.advance();
    }
    return true;
  }
  if (!scopes_.declare_label(name, static_cast<std::uint32_t>(function_.labels.size()))) {
    return cursor_.fail_at(at, "label declared twice");
  }
  function_.labels.push_back(static_cast<std::uint32_t>(function_.statements.size()));
  return true;
}

bool BodyParser::targets(std::string_view name) {
  cursor_.advance();
  BranchTargets list;
  list.label = static_cast<std::uint32_t>(function_.labels.size());
  if (!scopes_.declare_label(name, list.label)) return cursor_.fail("label declared twice");
  function_.labels.push_back(kNoIndex);
  do {
    if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected a label");
    scopes_.use_label(
        {cursor_.token().text, function_.branch_targets.size(), Scopes::kTargets + list.targets.size()});
    list.targets.push_back(kNoIndex);
    cursor_.advance();
  } while (cursor_.accept(','));
  function_.branch_targets.push_back(std::move(list));
  return cursor_.expect(';');
}

bool BodyParser::body_directive() {
  const std::string_view word = cursor_.token().text;
  if (word == ".loc") return parse_location(cursor_, &location_);
  if (word == ".pragma") return pragma();
  if (first_piece(word) == ".reg") return registers();
  if (word == ".extern") {
    cursor_.advance();
    return variables(true);
  }
  if (space_of_declaration(word)) return variables(false);
  return cursor_.fail("unknown directive in a function body");
}

bool BodyParser::pragma() {
  cursor_.advance();
  do {
    if (cursor_.token().kind != TokenKind::kString) return cursor_.fail("expected a string");
    std::string_view text = cursor_.token().text;
    text = text.substr(1, text.size() > 1 ? text.size() - 2 : 0);
    constexpr std::string_view kUsed = "used_bytes_mask ";
    if (text.starts_with(kUsed)) {
      const auto literal = literal_from(text.substr(kUsed.size()));
      if (!literal || literal->kind != Literal::Kind::kInteger)
        return cursor_.fail("malformed used_bytes_mask");
      used_bytes_mask_ = static_cast<std::uint64_t>(literal->value);
    }
    cursor_.advance();
  } while (cursor_.accept(','));
  return cursor_.expect(';');
}

bool BodyParser::registers() {
  std::string_view word = cursor_.token().text;
  cursor_.advance();
  word.remove_prefix(4);  // ".reg"
  if (word.empty()) {
    if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected a type");
    word = cursor_.token().text;
    cursor_.advance();
  }
  const auto type = type_named(word.substr(1));
  if (!type || (bytes_of(*type) == 0 && *type != Type::kPred))
    return cursor_.fail("unknown type of a register");
  do {
    if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected the name of a register");
    const std::string_view name = cursor_.token().text;
    cursor_.advance();
    if (cursor_.accept('<')) {
      if (cursor_.token().kind != TokenKind::kNumber) return cursor_.fail("expected a number");
      const auto literal = literal_from(cursor_.token().text);
      if (!literal || literal->value < 0) return cursor_.fail("malformed number of registers");
      cursor_.advance();
      scopes_.declare_range(name, static_cast<std::uint64_t>(literal->value), *type);
      if (!cursor_.expect('>')) return false;
      continue;
    }
    if (!scopes_.declare(name,
                         {Name::Kind::kRegister, static_cast<std::uint32_t>(function_.registers.size())})) {
      return cursor_.fail("register declared twice");
    }
    function_.registers.push_back({name, *type});
  } while (cursor_.accept(','));
  return cursor_.expect(';');
}

bool BodyParser::variables(bool external) {
  std::vector<Variable> declared;
  if (!parse_variables(
          cursor_, [](std::string_view) { return kNoIndex; }, &declared))
    return false;
  for (Variable& variable : declared) {
    if (variable.space == Space::kParam) variable.space = Space::kFrame;
    variable.dynamic = external && variable.space == Space::kShared;
    const auto index = static_cast<std::uint32_t>(function_.variables.size());
    if (!scopes_.declare(variable.name, {Name::Kind::kVariable, index})) {
      return cursor_.fail("variable declared twice");
    }
    function_.variables.push_back(std::move(variable));
  }
  if (function_.variables.size() > kMaxRegisters) return cursor_.fail("too many variables");
  return true;
}

}  // namespace moe4::ptx
