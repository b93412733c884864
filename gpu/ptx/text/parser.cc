#include "gpu/ptx/text/parser.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "gpu/ptx/text/body_parser.h"
#include "gpu/ptx/text/cursor.h"
#include "gpu/ptx/text/variable_parser.h"

namespace moe4::ptx {
namespace {

class ModuleParser {
 public:
  ModuleParser(std::string_view text, ModuleSyntax* module) : text_(text), cursor_(text), module_(*module) {}

  bool run() {
    while (!cursor_.at_end()) {
      if (!item()) return false;
    }
    if (module_.target.empty()) return cursor_.fail("the module has no .target");
    return true;
  }
  const Error& error() const { return cursor_.error(); }

 private:
  bool item() {
    if (cursor_.accept(';')) return true;
    if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("expected a directive");
    const std::string_view word = cursor_.token().text;
    if (word == ".version") return version();
    if (word == ".target") return target();
    if (word == ".address_size") return address_size();
    if (word == ".file") return parse_file(cursor_, &module_);
    if (word == ".loc") {
      SourceLocation ignored;
      return parse_location(cursor_, &ignored);
    }
    if (word == ".section") return section();
    if (word == ".pragma" || word == ".alias") return skip_statement();
    if (word == ".visible" || word == ".weak" || word == ".common") {
      cursor_.advance();
      return true;
    }
    if (word == ".extern") {
      cursor_.advance();
      if (cursor_.at_word(".func")) return function(false);
      return variables(true);
    }
    if (word == ".entry") return function(true);
    if (word == ".func") return function(false);
    if (space_of_declaration(word)) return variables(false);
    return cursor_.fail("unknown directive");
  }

  bool version() {
    cursor_.advance();
    const std::string text(cursor_.token().text);
    const std::size_t dot = text.find('.');
    if (cursor_.token().kind != TokenKind::kNumber || dot == std::string::npos || text.size() > 8) {
      return cursor_.fail("malformed .version");
    }
    module_.version_major = std::atoi(text.c_str());
    module_.version_minor = std::atoi(text.c_str() + dot + 1);
    if (module_.version_major < 6 || module_.version_major > 9) {
      return cursor_.fail("PTX version outside 6.0 … 9.x");
    }
    cursor_.advance();
    return true;
  }

  bool target() {
    cursor_.advance();
    if (cursor_.token().kind != TokenKind::kWord) return cursor_.fail("malformed .target");
    module_.target = cursor_.token().text;
    cursor_.advance();
    while (cursor_.accept(',')) cursor_.advance();  // "debug", "texmode_…"
    return true;
  }

  bool address_size() {
    cursor_.advance();
    if (cursor_.token().text != "64") return cursor_.fail("only .address_size 64 is supported");
    cursor_.advance();
    return true;
  }

  bool section() {
    while (!cursor_.at('{')) {
      if (cursor_.at_end()) return cursor_.fail("unterminated .section");
      cursor_.advance();
    }
    int depth = 0;
    do {
      if (cursor_.at_end()) return cursor_.fail("unterminated .section");
      if (cursor_.at('{')) ++depth;
      if (cursor_.at('}')) --depth;
      cursor_.advance();
    } while (depth > 0);
    return true;
  }

  bool skip_statement() {
    while (!cursor_.at(';')) {
      if (cursor_.at_end()) return cursor_.fail("expected ';'");
      cursor_.advance();
    }
    return cursor_.expect(';');
  }

  bool variables(bool external) {
    std::vector<Variable> declared;
    const auto resolve = [this](std::string_view name) {
      const auto found = names_.find(name);
      return found == names_.end() ? kNoIndex : found->second;
    };
    if (!parse_variables(cursor_, resolve, &declared)) return false;
    for (Variable& variable : declared) {
      variable.dynamic = external && variable.space == Space::kShared;
      if (module_.variables.size() >= kMaxVariables) return cursor_.fail("too many variables");
      names_[variable.name] = static_cast<std::uint32_t>(module_.variables.size());
      module_.variables.push_back(std::move(variable));
    }
    return true;
  }

  bool function(bool entry) {
    FunctionSyntax function;
    function.entry = entry;
    function.line = cursor_.token().line;
    cursor_.advance();
    BodyParser body(text_, cursor_, names_, &function);
    if (!body.run()) return false;
    if (module_.functions.size() >= kMaxFunctions) return cursor_.fail("too many functions");
    module_.functions.push_back(std::move(function));
    return true;
  }

  static constexpr std::size_t kMaxVariables = 1u << 16, kMaxFunctions = 1u << 14;

  std::string_view text_;
  Cursor cursor_;
  ModuleSyntax& module_;
  std::unordered_map<std::string_view, std::uint32_t> names_;  // module variables
};

}  // namespace

bool parse_module(std::string_view text, ModuleSyntax* module, Error* error) {
  constexpr std::size_t kMaxText = std::size_t{1} << 28;
  if (text.size() > kMaxText) {
    if (error) *error = {0, "", "PTX text larger than 256 MiB"};
    return false;
  }
  ModuleParser parser(text, module);
  if (parser.run()) return true;
  if (error) *error = parser.error();
  return false;
}

}  // namespace moe4::ptx
