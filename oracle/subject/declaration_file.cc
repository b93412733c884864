#include "oracle/subject/declaration_file.h"

#include "oracle/report/write_file.h"

namespace moe4::oracle {

Result<Declaration> read_declaration(const std::string& path) {
  Result<std::string> json = read_file(path);
  if (!json.ok()) return json.error();
  Result<Declaration> declaration = parse_declaration(*json);
  if (declaration.ok()) return declaration;
  const Error& error = declaration.error();
  return Error{path + ": " + error.field, error.value, error.rule};
}

}  // namespace moe4::oracle
