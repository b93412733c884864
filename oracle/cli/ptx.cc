#include "gpu/ptx/ptx.h"

#include <fmt/core.h>

#include <memory>

#include "gpu/ptx/study/study.h"
#include "oracle/cli/command.h"
#include "oracle/cli/run.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

std::string dim(const ptx::Dim3& d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

void print_entry(const ptx::EntryInfo& entry) {
  fmt::print("entry {}: {} instructions, {} bytes of static shared memory\n", entry.name, entry.instructions,
             entry.static_shared_bytes);
  if (entry.required_block) fmt::print("  block exactly {}\n", dim(*entry.required_block));
  if (entry.max_block) fmt::print("  block at most {}\n", dim(*entry.max_block));
  if (entry.required_cluster) fmt::print("  cluster exactly {}\n", dim(*entry.required_cluster));
  for (const ptx::Parameter& p : entry.parameters) {
    fmt::print("  parameter {}: offset {}, {} bytes, align {}\n", p.name, p.offset, p.size, p.align);
  }
  for (const ptx::Error& error : entry.unsupported) {
    fmt::print("  unsupported, line {}: {} ({})\n", error.line, error.instruction, error.message);
  }
  for (const ptx::Error& error : entry.approximate) {
    fmt::print("  approximate, line {}: {}\n", error.line, error.instruction);
  }
  if (entry.unsupported.empty()) fmt::print("  the executor can run it\n");
}

void print_study(const ptx::Study& study) {
  for (const ptx::FreeRounding& free : study.free_roundings) {
    fmt::print("  free rounding, line {}: {} may be fused into line {}: {}\n", free.line, free.product,
               free.sum_line, free.sum);
  }
  fmt::print("  instructions by opcode:\n");
  for (const ptx::OpcodeCount& count : study.histogram) fmt::print("  {:>8} {}\n", count.count, count.opcode);
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
  for (const ptx::EntryInfo& entry : module->entries()) {
    print_entry(entry);
    if (const auto study = ptx::study(*text, entry.name, nullptr)) print_study(*study);
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_ptx(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("ptx", "Look into a PTX file");
  command->require_subcommand(1);
  CLI::App* info_command =
      command->add_subcommand("info", "Entries, parameters, instructions, and what the executor cannot run");
  auto path = std::make_shared<std::string>();
  info_command->add_option("FILE", *path, "A PTX text file, as written by nvcc --ptx")->required();
  info_command->footer("Example:\n  nvcc --ptx -arch=sm_90a kernel.cu && moe4 ptx info kernel.ptx");
  info_command->callback([path, &code] { code = info(*path); });

  CLI::App* run_command =
      command->add_subcommand("run", "Launch an entry on the tensors of a case, and judge it");
  auto lines = std::make_shared<std::string>();
  auto subject = std::make_shared<SubjectOptions>();
  run_command->add_option("FILE", subject->ptx, "A PTX text file")->required();
  run_command->add_option("CASE", *lines, "A case line, quoted, or @FILE with one line a case")->required();
  run_command->add_option("--declare", subject->declare, "Its declaration: a JSON file (docs/ptx_subject.md)")
      ->required();
  run_command->footer(
      "The same as moe4 run CASE --ptx FILE --declare FILE.\n"
      "Example:\n"
      "  moe4 ptx run kernel.ptx --declare kernel.json 'op=expert_linear weights=mxfp4 tokens=3 experts=4 "
      "top_k=2 in=96\n"
      "       out=8 dtype=bf16 fill=exact8'");
  run_command->callback([lines, subject, &code] {
    subject->printed = [](std::string_view text) { fmt::print("printed by the kernel:\n{}", text); };
    code = run_cases(*lines, *subject);
  });
}

}  // namespace moe4::oracle::cli
