#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/file/case_file.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string line, out;
};

ExitCode gen(const Options& options) {
  Result<Case> line = parse_case(options.line);
  if (!line.ok()) return refuse(line.error());
  Result<CaseData> data = generate(*line);
  if (!data.ok()) return refuse(data.error());
  if (Status status = write_case(options.out, *data)) return refuse(*status);
  fmt::print("{}: {}\n", options.out, to_string(*line));
  if (data->proof) {
    fmt::print("exact: {}, largest sum {:g} units of at most {:g}\n",
               data->proof->proved ? "proved" : "NOT PROVED", data->proof->largest_units,
               data->proof->limit_units);
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_gen(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("gen", "Write the tensors of a case line to a safetensors file");
  auto options = std::make_shared<Options>();
  command->add_option("LINE", options->line, "A case line, quoted (docs/spec/case_line.md)")->required();
  command->add_option("--out", options->out, "The case file to write")->required();
  command->footer(
      "Example:\n"
      "  moe4 gen 'op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 "
      "fill=bits seed=7' "
      "--out case.safetensors\n"
      "The same line gives the same bytes on every machine. Any framework that reads safetensors can run the "
      "case and\n"
      "write its `output`; moe4 check case.safetensors actual.safetensors then judges it.");
  command->callback([options, &code] { code = gen(*options); });
}

}  // namespace moe4::oracle::cli
