#include <atomic>
#include <cstring>
#include <utility>

#include "gpu/ptx/decode/decoder.h"
#include "gpu/ptx/decode/registers.h"
#include "gpu/ptx/program/program.h"
#include "gpu/ptx/text/parser.h"

namespace moe4::ptx {
namespace {

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

// Places .const and .global variables one behind the other, with their initial bytes.
void lay_out(const ModuleSyntax& syntax, ModuleLayout* layout, Program* program) {
  layout->variable_offsets.assign(syntax.variables.size(), 0);
  const auto data_of = [&](Space space) -> ModuleData* {
    return space == Space::kConst    ? &program->constants
           : space == Space::kGlobal ? &program->globals
                                     : nullptr;
  };
  for (std::size_t i = 0; i < syntax.variables.size(); ++i) {
    const Variable& variable = syntax.variables[i];
    ModuleData* data = data_of(variable.space);
    if (data == nullptr) continue;
    const std::uint64_t at = align_up(data->bytes, variable.align);
    layout->variable_offsets[i] = at;
    data->bytes = at + variable.bytes;
  }
  for (std::size_t i = 0; i < syntax.variables.size(); ++i) {
    const Variable& variable = syntax.variables[i];
    ModuleData* data = data_of(variable.space);
    if (data == nullptr || variable.bytes_init.empty()) continue;
    ModuleData::Piece piece{layout->variable_offsets[i], variable.bytes_init};
    for (const Variable::Address& address : variable.addresses) {
      if (address.variable == kNoIndex) continue;  // a function: refused where the variable is used
      const Variable& pointee = syntax.variables[address.variable];
      std::uint64_t value =
          layout->variable_offsets[address.variable] + static_cast<std::uint64_t>(address.addend);
      if (pointee.space == Space::kGlobal) value += kGlobalsWindow;
      if (pointee.space == Space::kConst && address.generic) value += kConstWindow;
      if (pointee.space == Space::kShared) value += kSharedBase + (address.generic ? kSharedWindow : 0);
      const std::size_t bytes = std::min<std::size_t>(8, piece.bytes.size() - address.at);
      std::memcpy(piece.bytes.data() + address.at, &value, bytes);
    }
    data->pieces.push_back(std::move(piece));
  }
}

bool fail(Error* error, std::string message) {
  if (error != nullptr) *error = {0, "", std::move(message)};
  return false;
}

bool build(std::string_view text, std::string name, Program* program, Error* error) {
  ModuleSyntax syntax;
  if (!parse_module(text, &syntax, error)) return false;
  static std::atomic<std::uint64_t> next_id{1};
  program->id = next_id.fetch_add(1);
  program->name = std::move(name);
  program->target = syntax.target;
  for (auto& [number, path] : syntax.files) {
    if (number >= 1u << 20) continue;
    if (program->files.size() <= number) program->files.resize(number + 1);
    program->files[number] = std::move(path);
  }
  ModuleLayout layout;
  lay_out(syntax, &layout, program);
  for (std::uint32_t i = 0; i < syntax.functions.size(); ++i) {
    if (syntax.functions[i].defined && !syntax.functions[i].entry)
      layout.functions[syntax.functions[i].name] = i;
  }
  if (program->constants.bytes > (1u << 26) || program->globals.bytes > (std::uint64_t{1} << 31)) {
    return fail(error, "the module's variables are larger than 64 MiB (const) or 2 GiB (global)");
  }
  for (const FunctionSyntax& function : syntax.functions) {
    if (!function.entry || !function.defined) continue;
    Function decoded;
    decoded.info.name = function.name;
    decoded.info.required_block = function.required_block;
    decoded.info.max_block = function.max_block;
    decoded.info.required_cluster = function.required_cluster;
    decoded.info.max_cluster_blocks = function.max_cluster_blocks;
    Decoder decoder(syntax, layout, function, &decoded);
    decoder.run();
    if (decoded.info.unsupported.empty() && !place_registers(decoder.registers(), &decoded)) {
      decoded.info.unsupported.push_back(
          {function.line, "", "more than 4 MiB of registers a warp, or 65536 predicates"});
    }
    if (!decoded.info.unsupported.empty()) {
      // Nothing of it will run.
      decoded.code.clear();
      decoded.constants.clear();
    }
    program->functions.push_back(std::move(decoded));
  }
  return true;
}

}  // namespace

const Function* Program::find(std::string_view entry) const {
  for (const Function& function : functions) {
    if (function.info.name == entry) return &function;
  }
  return nullptr;
}

std::optional<Module> Module::parse(std::string_view text, std::string name, Error* error) {
  // The tree refers to the text, and both are gone when this returns.
  const std::string copy(text);
  auto program = std::make_shared<Program>();
  if (!build(copy, std::move(name), program.get(), error)) return std::nullopt;
  Module module;
  module.program_ = std::move(program);
  return module;
}

const std::string& Module::name() const { return program_->name; }
const std::string& Module::target() const { return program_->target; }

std::vector<EntryInfo> Module::entries() const {
  std::vector<EntryInfo> result;
  for (const Function& function : program_->functions) result.push_back(function.info);
  return result;
}

}  // namespace moe4::ptx
