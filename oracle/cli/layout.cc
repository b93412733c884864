#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/not_an_input.h"
#include "oracle/file/layout_file.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string in, out;
  std::string from, to;  // names of layouts
  std::string codes, scales;
};

ExitCode list() {
  for (const WeightLayout* layout : weight_layouts()) {
    fmt::print("{:<19}  {:<5}  out % {:<3} in % {:<4}  {}\n", layout->name, layout->weights,
               layout->out_multiple, layout->in_multiple, layout->description);
  }
  return ExitCode::kPassed;
}

std::string text_of(std::string_view name, const Tensor& tensor) {
  return fmt::format("{} {} {}", name, name_of(tensor.dtype()), moe4::to_string(tensor.shape()));
}

ExitCode write(const Options& options, const LayoutFile& file, const WeightLayout& to) {
  if (Status status = not_an_input(options.out, {options.in})) return refuse(*status);
  Result<WeightTensors> weights = repack(*file.layout, to, file.weights.views());
  if (!weights.ok()) return refuse_file(options.in, weights.error());
  if (Status status = write_layout_file(options.out, to, *weights)) return refuse(*status);
  fmt::print("{}: {} -> {}, experts={} out={} in={}: {}{}\n", options.out, file.layout->name, to.name,
             file.extent.experts, file.extent.out, file.extent.in, text_of("packed_weights", weights->codes),
             to.scales_among_codes() ? "" : ", " + text_of(scale_tensor_name(to), weights->scales));
  return ExitCode::kPassed;
}

Result<LayoutRequest> request_of(const Options& options) {
  LayoutRequest request{nullptr, nullptr, options.codes, options.scales};
  if (options.from.empty()) return request;
  Result<const WeightLayout*> layout = layout_named(options.from);
  if (!layout.ok()) return layout.error();
  request.layout = *layout;
  return request;
}

ExitCode pack(const Options& options) {
  Result<const WeightLayout*> to = layout_named(options.to);
  if (!to.ok()) return refuse(to.error());
  Result<LayoutRequest> request = request_of(options);
  if (!request.ok()) return refuse(request.error());
  request->fallback = logical_layout((*to)->weights);
  Result<LayoutFile> file = read_layout_file(options.in, *request);
  if (!file.ok()) return refuse_file(options.in, file.error());
  return write(options, *file, **to);
}

ExitCode unpack(const Options& options) {
  Result<LayoutRequest> request = request_of(options);
  if (!request.ok()) return refuse(request.error());
  Result<LayoutFile> file = read_layout_file(options.in, *request);
  if (!file.ok()) return refuse_file(options.in, file.error());
  return write(options, *file, *logical_layout(file->layout->weights));
}

void add_files(CLI::App& command, Options& options) {
  command
      .add_option("IN", options.in, "A case file, a layout file, or any safetensors file with such tensors")
      ->required();
  command.add_option("--out", options.out, "The layout file to write")->required();
  command.add_option("--codes", options.codes, "The tensor with the codes; default packed_weights");
  command.add_option("--scales", options.scales,
                     "The tensor with the scales; default scale_bytes (mxfp4) or scales (int4)");
}

}  // namespace

void add_layout(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("layout", "Weights into and out of the layouts that kernels read");
  command->require_subcommand(1);
  command->footer(
      "The formulas are in docs/spec/layouts.md. A file records its layout; weights packed for another "
      "kernel are\n"
      "refused, not misread.\n"
      "Examples:\n"
      "  moe4 layout list\n"
      "  moe4 gen 'op=expert_linear weights=mxfp4 tokens=1 experts=2 top_k=1 in=64 out=8 dtype=bf16 "
      "fill=bits' "
      "--out case.safetensors\n"
      "  moe4 layout pack case.safetensors --layout gguf --out packed.safetensors\n"
      "  moe4 layout unpack packed.safetensors --out weights.safetensors\n"
      "  moe4 layout unpack model.safetensors --layout gpt_oss --codes mlp1.blocks --scales mlp1.scales "
      "--out weights.safetensors");
  command->add_subcommand("list", "Names, formats, what out and in are multiples of")->callback([&code] {
    code = list();
  });
  auto options = std::make_shared<Options>();
  CLI::App* pack_command = command->add_subcommand("pack", "Write weights in another layout");
  add_files(*pack_command, *options);
  pack_command->add_option("--layout", options->to, "The layout to write (moe4 layout list)")->required();
  pack_command->add_option("--from", options->from,
                           "The layout of IN, if it records none; default that of case files");
  pack_command->callback([options, &code] { code = pack(*options); });
  CLI::App* unpack_command = command->add_subcommand("unpack", "Write weights in the layout of case files");
  add_files(*unpack_command, *options);
  unpack_command->add_option("--layout", options->from, "The layout of IN, needed if it records none");
  unpack_command->callback([options, &code] { code = unpack(*options); });
}

}  // namespace moe4::oracle::cli
