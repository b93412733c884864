#include "gpu/ptx/text/variable_parser.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "gpu/ptx/text/literal.h"

namespace moe4::ptx {
namespace {

constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 30;

// The pieces of ".shared.align" and the like: a word may hold several directives.
struct Words {
  std::vector<std::string_view> pieces;
  explicit Words(std::string_view word) {
    while (!word.empty()) {
      if (word[0] == '.') word.remove_prefix(1);
      const std::size_t dot = word.find('.');
      pieces.push_back(word.substr(0, dot));
      word = dot == std::string_view::npos ? std::string_view() : word.substr(dot);
    }
  }
};

bool parse_number(Cursor& cursor, std::uint64_t limit, std::uint64_t* value) {
  Literal literal;
  if (!parse_constant(cursor, &literal)) return false;
  if (literal.kind != Literal::Kind::kInteger || static_cast<std::uint64_t>(literal.value) > limit) {
    return cursor.fail("number out of range");
  }
  *value = static_cast<std::uint64_t>(literal.value);
  return true;
}

// The part of a declaration in front of the name.
struct Specifier {
  Space space = Space::kGlobal;
  std::uint32_t align = 0;
  unsigned vector = 1;
  Type type = Type::kNone;
};

bool parse_specifier(Cursor& cursor, Specifier* specifier) {
  while (cursor.token().kind == TokenKind::kWord && cursor.token().text[0] == '.') {
    const Words words(cursor.token().text);
    cursor.advance();
    for (const std::string_view piece : words.pieces) {
      if (piece == "align") {
        std::uint64_t align = 0;
        if (!parse_number(cursor, 1u << 20, &align)) return false;
        if (!std::has_single_bit(align)) return cursor.fail("alignment is not a power of two");
        specifier->align = std::max(specifier->align, static_cast<std::uint32_t>(align));
      } else if (piece == "attribute") {
        while (!cursor.at(')')) {
          if (cursor.at_end()) return cursor.fail("unterminated .attribute");
          cursor.advance();
        }
        cursor.advance();
      } else if (piece == "ptr") {
        // .ptr .global .align n describes the pointee.
        while (cursor.token().kind == TokenKind::kWord && cursor.token().text[0] == '.') {
          const bool align = cursor.at_word(".align");
          cursor.advance();
          std::uint64_t ignored = 0;
          if (align && !parse_number(cursor, 1u << 20, &ignored)) return false;
        }
      } else if (piece == "v2" || piece == "v4") {
        specifier->vector = piece == "v2" ? 2 : 4;
      } else if (const auto space = space_of_declaration(std::string(".").append(piece))) {
        specifier->space = *space;
      } else if (const auto type = type_named(piece)) {
        specifier->type = *type;
      } else if (piece == "texref" || piece == "samplerref" || piece == "surfref") {
        specifier->type = Type::kB64;
      } else {
        return cursor.fail("unknown word ." + std::string(piece.substr(0, 40)) + " in a declaration");
      }
    }
  }
  if (bytes_of(specifier->type) == 0) return cursor.fail("declaration without a type");
  return true;
}

void append_bytes(std::uint64_t value, unsigned bytes, std::vector<std::uint8_t>* to) {
  for (unsigned i = 0; i < bytes; ++i) to->push_back(static_cast<std::uint8_t>(i < 8 ? value >> (8 * i) : 0));
}

bool parse_element(Cursor& cursor, const ResolveVariable& resolve, Type type, Variable* variable) {
  const unsigned bytes = bytes_of(type);
  if (cursor.token().kind == TokenKind::kWord && !cursor.at_word("WARP_SZ")) {
    Variable::Address address;
    address.at = variable->bytes_init.size();
    address.generic = cursor.at_word("generic");
    if (address.generic) {
      cursor.advance();
      if (!cursor.expect('(')) return false;
    }
    address.variable = resolve(cursor.token().text);
    cursor.advance();
    if (address.generic && !cursor.expect(')')) return false;
    if (cursor.accept('+')) {
      Literal addend;
      if (!parse_constant(cursor, &addend)) return false;
      address.addend = addend.value;
    }
    variable->addresses.push_back(address);
    append_bytes(0, bytes, &variable->bytes_init);
    return true;
  }
  Literal literal;
  if (!parse_constant(cursor, &literal)) return false;
  std::uint64_t value = static_cast<std::uint64_t>(literal.value);
  if (literal.kind != Literal::Kind::kInteger) {
    value = literal.bits;
    if (literal.kind == Literal::Kind::kDouble && type == Type::kF32) {
      value = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(literal.bits)));
    }
  } else if (type == Type::kF32) {
    value = std::bit_cast<std::uint32_t>(static_cast<float>(literal.value));
  } else if (type == Type::kF64) {
    value = std::bit_cast<std::uint64_t>(static_cast<double>(literal.value));
  }
  append_bytes(value, bytes, &variable->bytes_init);
  return true;
}

// `inner` is the number of elements below this brace level per item, outermost dimension first.
bool parse_initialiser(Cursor& cursor, const ResolveVariable& resolve, Type type,
                       const std::vector<std::uint64_t>& dimensions, std::size_t level, Variable* variable) {
  if (!cursor.accept('{')) return parse_element(cursor, resolve, type, variable);
  if (level > dimensions.size()) return cursor.fail("initialiser has too many braces");
  std::uint64_t item = bytes_of(type);
  for (std::size_t i = level + 1; i < dimensions.size(); ++i) item *= dimensions[i];
  const std::size_t start = variable->bytes_init.size();
  std::uint64_t count = 0;
  while (!cursor.at('}')) {
    if (!parse_initialiser(cursor, resolve, type, dimensions, level + 1, variable)) return false;
    ++count;
    const std::uint64_t due =
        level + 1 < dimensions.size() ? start + count * item : variable->bytes_init.size();
    if (due > variable->bytes || variable->bytes_init.size() > variable->bytes) {
      return cursor.fail("initialiser longer than the variable");
    }
    if (variable->bytes_init.size() < due) variable->bytes_init.resize(due);
    if (!cursor.accept(',')) break;
  }
  return cursor.expect('}');
}

bool parse_one(Cursor& cursor, const ResolveVariable& resolve, const Specifier& specifier,
               Variable* variable) {
  if (cursor.token().kind != TokenKind::kWord) return cursor.fail("expected a name");
  variable->name = cursor.token().text;
  variable->space = specifier.space;
  cursor.advance();
  const unsigned element = bytes_of(specifier.type) * specifier.vector;
  std::uint64_t bytes = element;
  std::vector<std::uint64_t> dimensions;
  bool open_ended = false;
  while (cursor.accept('[')) {
    std::uint64_t count = 0;
    if (cursor.at(']')) {
      open_ended = true;
    } else if (!parse_number(cursor, kMaxVariableBytes, &count)) {
      return false;
    }
    if (!cursor.expect(']')) return false;
    bytes *= count;
    if (bytes > kMaxVariableBytes) return cursor.fail("variable larger than 1 GiB");
    dimensions.push_back(count);
  }
  variable->bytes = bytes;
  variable->align = specifier.align != 0 ? specifier.align : element;
  if (cursor.accept('=')) {
    if (open_ended) {
      variable->bytes = kMaxVariableBytes;
    }
    if (!parse_initialiser(cursor, resolve, specifier.type, dimensions, 0, variable)) return false;
    if (open_ended) variable->bytes = variable->bytes_init.size();
    if (variable->bytes_init.size() > variable->bytes)
      return cursor.fail("initialiser longer than the variable");
  }
  return true;
}

}  // namespace

std::optional<Space> space_of_declaration(std::string_view word) {
  const std::string_view first = word.substr(0, word.find('.', 1));
  if (first == ".shared") return Space::kShared;
  if (first == ".global") return Space::kGlobal;
  if (first == ".const") return Space::kConst;
  if (first == ".local") return Space::kLocal;
  if (first == ".param") return Space::kParam;
  if (first == ".tex") return Space::kGlobal;
  return std::nullopt;
}

bool parse_variables(Cursor& cursor, const ResolveVariable& resolve, std::vector<Variable>* variables) {
  Specifier specifier;
  if (!parse_specifier(cursor, &specifier)) return false;
  do {
    Variable variable;
    if (!parse_one(cursor, resolve, specifier, &variable)) return false;
    variables->push_back(std::move(variable));
  } while (cursor.accept(','));
  return cursor.expect(';');
}

bool parse_parameters(Cursor& cursor, std::vector<Variable>* parameters) {
  if (!cursor.expect('(')) return false;
  if (cursor.accept(')')) return true;
  do {
    Specifier specifier;
    if (!parse_specifier(cursor, &specifier)) return false;
    Variable variable;
    if (!parse_one(
            cursor, [](std::string_view) { return kNoIndex; }, specifier, &variable))
      return false;
    if (cursor.at('[')) return cursor.fail("malformed parameter");
    // ".reg" parameters (old ABI) are not in the list of spaces and fail above.
    variable.space = Space::kParam;
    parameters->push_back(std::move(variable));
    if (parameters->size() > 4096) return cursor.fail("more than 4096 parameters");
  } while (cursor.accept(','));
  return cursor.expect(')');
}

bool parse_file(Cursor& cursor, ModuleSyntax* module) {
  cursor.advance();
  std::uint64_t number = 0;
  if (!parse_number(cursor, 0x7fffffff, &number)) return false;
  if (cursor.token().kind != TokenKind::kString || cursor.token().text.size() < 2) {
    return cursor.fail("expected a file name");
  }
  const std::string_view quoted = cursor.token().text;
  module->files.emplace_back(static_cast<std::uint32_t>(number), quoted.substr(1, quoted.size() - 2));
  cursor.advance();
  while (cursor.accept(',')) {
    std::uint64_t ignored = 0;
    if (!parse_number(cursor, ~0ull, &ignored)) return false;
  }
  return true;
}

bool parse_location(Cursor& cursor, SourceLocation* location) {
  cursor.advance();
  const auto triple = [&](std::uint64_t* file, std::uint64_t* line) {
    std::uint64_t column = 0;
    return parse_number(cursor, 0x7fffffff, file) && parse_number(cursor, 0x7fffffff, line) &&
           parse_number(cursor, 0x7fffffff, &column);
  };
  std::uint64_t file = 0, line = 0;
  if (!triple(&file, &line)) return false;
  *location = {static_cast<std::uint32_t>(file), static_cast<int>(line)};
  while (cursor.accept(',')) {
    if (cursor.accept_word("function_name")) {
      cursor.advance();
      std::uint64_t ignored = 0;
      if (cursor.accept('+') && !parse_number(cursor, ~0ull, &ignored)) return false;
    } else if (cursor.accept_word("inlined_at")) {
      if (!triple(&file, &line)) return false;
    } else {
      return cursor.fail("malformed .loc");
    }
  }
  return true;
}

}  // namespace moe4::ptx
