#include "gpu/ptx/ptx.h"

#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

std::string dim(const ptx::Dim3& d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

void print_entry(const ptx::EntryInfo& entry) {
  fmt::print("entry {}: {} instructions, {} bytes of static shared memory\n", entry.name, entry.instructions,
             entry.static_shared_bytes);
  if (entry.required_block) fmt::print("  block exactly {}\n", dim(*entry.required_block));
  if (entry.max_block) fmt::print("  block at most {}\n", dim(*entry.max_block));
  for (const ptx::Parameter& p : entry.parameters) {
    fmt::print("  parameter {}: offset {}, {} bytes, align {}\n", p.name, p.offset, p.size, p.align);
  }
  for (const ptx::Error& error : entry.unsupported) {
    fmt::print("  unsupported, line {}: {} ({})\n", error.line, error.instruction, error.message);
  }
  if (entry.unsupported.empty()) fmt::print("  the executor can run it\n");
}

ExitCode info(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return refuse(text.error());
  ptx::Error error;
  const std::optional<ptx::Module> module = ptx::Module::parse(*text, path, &error);
  if (!module) {
    return refuse(fmt::format("{}:{}: {}{}{}", path, error.line, error.message,
                              error.instruction.empty() ? "" : ": ", error.instruction));
  }
  fmt::print("{}: target {}\n", path, module->target());
  for (const ptx::EntryInfo& entry : module->entries()) print_entry(entry);
  return ExitCode::kPassed;
}

}  // namespace

void add_ptx(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("ptx", "Look into a PTX file");
  command->require_subcommand(1);
  CLI::App* info_command =
      command->add_subcommand("info", "Entries, parameters, and what the executor cannot run of them");
  auto path = std::make_shared<std::string>();
  info_command->add_option("FILE", *path, "A PTX text file, as written by nvcc --ptx")->required();
  info_command->footer("Example:\n  nvcc --ptx -arch=sm_90a kernel.cu && moe4 ptx info kernel.ptx");
  info_command->callback([path, &code] { code = info(*path); });
}

}  // namespace moe4::oracle::cli
