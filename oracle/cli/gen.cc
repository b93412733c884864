#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "oracle/case/index_list.h"
#include "oracle/cli/command.h"
#include "oracle/file/case_file.h"
#include "oracle/file/checkpoint/checkpoint_case.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string line, out;
  std::string checkpoint, projection = "down", experts;
  std::int64_t layer = -1;
};

Result<CheckpointRequest> request_of(const Options& options) {
  CheckpointRequest request;
  request.layer = options.layer;
  Result<Projection> projection = projection_named(options.projection);
  if (!projection.ok()) return projection.error();
  request.projection = *projection;
  if (options.experts.empty()) return request;
  auto experts = parse_index_list("experts", options.experts);
  if (!experts.ok()) return experts.error();
  request.experts = std::move(*experts);
  return request;
}

ExitCode gen_from_checkpoint(const Options& options) {
  Result<CheckpointRequest> request = request_of(options);
  if (!request.ok()) return refuse(request.error());
  Result<Checkpoint> checkpoint = Checkpoint::open(options.checkpoint, *request);
  if (!checkpoint.ok()) return refuse(checkpoint.error());
  Result<Case> line = checkpoint_line(*checkpoint, options.line);
  if (!line.ok()) return refuse(line.error());
  Result<CaseData> data = checkpoint_case(*checkpoint, *line);
  if (!data.ok()) return refuse(data.error());
  if (Status status = write_case(options.out, *data)) return refuse(*status);
  fmt::print("{}: {}\n", options.out, to_string(*line));
  fmt::print("weights: {}, {}; {} bytes of {}\n", name_of(checkpoint->format()), checkpoint->choice(),
             checkpoint->bytes_read(), fmt::join(checkpoint->files(), " "));
  return ExitCode::kPassed;
}

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
  CLI::Option* checkpoint = command->add_option(
      "--checkpoint", options->checkpoint,
      "Take the weights from this folder of safetensors files: Kimi K2, Kimi K3 or gpt-oss");
  CLI::Option* layer = command->add_option("--layer", options->layer, "The layer of the checkpoint");
  CLI::Option* projection = command->add_option(
      "--projection", options->projection,
      "Which matrix of the experts: gate, up, down (the default), gate_up (w1, w3, w2, w13)");
  checkpoint->needs(layer);
  layer->needs(checkpoint)->check(CLI::NonNegativeNumber);
  projection->needs(checkpoint);
  command
      ->add_option("--experts", options->experts,
                   "Some experts of the layer, such as 0-7 or 3+5; default all")
      ->needs(checkpoint);
  command->footer(
      "Example:\n"
      "  moe4 gen 'op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 "
      "fill=bits seed=7' "
      "--out case.safetensors\n"
      "The same line gives the same bytes on every machine. Any framework that reads safetensors can run the "
      "case and\n"
      "write its `output`; moe4 check case.safetensors actual.safetensors then judges it.\n"
      "Weights of a checkpoint, everything else drawn (docs/checkpoints.md):\n"
      "  moe4 gen --checkpoint Kimi-K3 --layer 3 --projection down --experts 0-7 'tokens=4 top_k=2 seed=1' "
      "--out case.safetensors");
  command->callback([options, &code] {
    code = options->checkpoint.empty() ? gen(*options) : gen_from_checkpoint(*options);
  });
}

}  // namespace moe4::oracle::cli
