// One .entry or .func: header, directives and body.
#pragma once

#include <string_view>
#include <unordered_map>

#include "gpu/ptx/text/cursor.h"
#include "gpu/ptx/text/scope.h"
#include "gpu/ptx/text/syntax.h"

namespace moe4::ptx {

class BodyParser {
 public:
  using ModuleNames = std::unordered_map<std::string_view, std::uint32_t>;

  // Starts behind ".entry" or ".func".
  BodyParser(std::string_view text, Cursor& cursor, const ModuleNames& names, FunctionSyntax* function)
      : text_(text), cursor_(cursor), module_names_(names), function_(*function) {}

  bool run();

 private:
  bool header();
  bool directive();  // between ")" and "{"
  bool dimensions(Dim3* result);
  bool body();
  bool line_item();
  bool body_directive();
  bool registers();
  bool variables(bool external);
  bool pragma();
  bool targets(std::string_view label);
  bool label();
  bool statement();
  bool operand(Operand* result, bool call, int depth);
  bool word_operand(Operand* result, int depth);
  bool address(Operand* result, int depth);
  bool vector(Operand* result, char close, bool call, int depth);
  bool close_scope();
  void refuse(std::string message);

  const Name* find(std::string_view name) { return scopes_.find(name, &function_.registers); }

  std::string_view text_;
  Cursor& cursor_;
  const ModuleNames& module_names_;
  FunctionSyntax& function_;
  Scopes scopes_;
  SourceLocation location_;
  std::uint64_t used_bytes_mask_ = ~0ull;
};

}  // namespace moe4::ptx
