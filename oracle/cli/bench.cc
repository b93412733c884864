#include <fmt/core.h>

#include <memory>

#include "gpu/device/cuda_device.h"
#include "gpu/launch/embedded_images.h"
#include "gpu/measure/counted.h"
#include "gpu/measure/dense_product.h"
#include "gpu/measure/point_call.h"
#include "gpu/measure/resources.h"
#include "oracle/cli/command.h"
#include "oracle/cli/subjects.h"
#include "oracle/subject/gpu/executor_tensor_core.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  gpu::CudaSettings cuda;
  gpu::TimingSettings timing;
  std::string points, cublas;
  bool only_static = false, rehearse = false;
};

std::string stem_of(const gpu::Variant& variant) {
  const std::size_t slash = variant.file.rfind('/') + 1;
  return std::string(variant.file.substr(slash, variant.file.rfind('.') - slash));
}

// What ptxas says of every entry, for every architecture that it was assembled for.
void print_resources() {
  fmt::print("{:<42}  {:<8}  {:>9}  {:>6}  {:>6}  {:>14}\n", "kernel (ptxas)", "target", "registers", "stack",
             "spills", "static shared");
  for (const gpu::Variant& variant : gpu::variants()) {
    for (const gpu::EmbeddedImage& image : gpu::all_embedded_images()) {
      if (image.file != stem_of(variant) || image.resources.empty()) continue;
      const auto r = gpu::resources_of(image.resources, variant.name);
      if (!r) continue;
      fmt::print("{:<42}  {:<8}  {:>9}  {:>6}  {:>6}  {:>14}\n", variant.name, image.image.target,
                 r->registers, r->stack, r->spill_stores + r->spill_loads, r->static_shared);
    }
  }
}

// What a full tile moves and how often banks collide, counted by the executor.
void print_counts() {
  constexpr double kEnough = 1.15;
  fmt::print("\n{:<42}  {:>5}  {:>14}  {:>12}  {:>12}  {:>6}  {:>7}  {:>14}\n",
             "kernel (executor, one expert)", "rows", "dynamic shared", "bytes/output", "at least", "ratio",
             "a tile", "bank conflicts");
  for (const gpu::Variant& variant : gpu::variants()) {
    const gpu::Counted c = gpu::count_call(variant, *executor_tensor_core("hopper"));
    if (!c.error.empty()) {
      fmt::print("{:<42}  not counted: {}\n", variant.name, c.error);
      continue;
    }
    const auto each = [&](std::uint64_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(c.outputs);
    };
    const std::string tile = c.tile_floor == 0 ? "-" : fmt::format("{:.2f}", c.tile_ratio());
    fmt::print("{:<42}  {:>5}  {:>14}  {:>12.1f}  {:>12.1f}  {:>5.2f}{}  {:>7}  {:>14}\n", variant.name,
               c.shape.tokens, c.dynamic_shared_bytes, each(c.moved()), each(c.floor), c.ratio(),
               c.ratio() > kEnough ? "*" : " ", tile, c.counters.shared_bank_conflicts);
  }
  fmt::print(
      "*: more than {:g} times every byte once. a tile: the same where each block brings its own tokens, "
      "which is "
      "what a cache\nserves again; without that column a thread or a warp brings them for each output "
      "(docs/cuda.md)\n",
      kEnough);
}

std::string layer_of(const gpu::PublishedPoint& point) {
  return fmt::format("{} {} {}", point.deployment, point.tokens, point.gate_up ? "gate_up" : "down");
}

// The points with what is known without a device.
void print_points(const Options& options, const std::string& why_none) {
  fmt::print("\n{:<34}  {:>12}  {:>10}  {:>10}  ours\n", "point (us a call)", "Chord, H200", "memory",
             "compute");
  for (const gpu::PublishedPoint& point : gpu::published_points()) {
    if (layer_of(point).find(options.points) == std::string::npos) continue;
    const gpu::Floors floors = gpu::floors_of(point, point.experts);
    fmt::print("{:<34}  {:>12.1f}  {:>10.1f}  {:>10.1f}  not measured\n", layer_of(point), point.microseconds,
               floors.memory, floors.compute);
  }
  fmt::print("memory, compute: what an H200 needs at least, every expert read once. Not measured: {}\n",
             why_none);
}

struct Measured {
  gpu::Timing ours, dense;
  std::int64_t active = 0;
  std::string kernel;
};

Measured measure(const gpu::PublishedPoint& point, gpu::CudaDevice& device, gpu::DenseProduct* dense,
                 const gpu::TimingSettings& settings) {
  Measured measured;
  const gpu::PointCall made = gpu::call_of(point, device.chip().multiprocessors);
  if (made.variant == nullptr) {
    measured.ours.error = made.error;
    return measured;
  }
  measured.kernel = made.variant->name;
  measured.active = made.call.active;
  device.reset();
  gpu::TensorBuffers buffers;
  for (const gpu::SampleTensor& tensor : made.call.tensors) {
    buffers.emplace(tensor.name, device.add_input(tensor.name, tensor.bytes));
  }
  buffers.emplace("output", device.add_output("output", made.call.output_bytes));
  if (made.variant->workspace_bytes != nullptr) {
    buffers.emplace("workspace",
                    device.add_zeroed("workspace", made.variant->workspace_bytes(made.call.shape)));
  }
  const auto launch = made.variant->plan(*made.variant, made.call.shape, buffers);
  measured.ours = launch ? device.time(*launch, settings) : gpu::Timing{{}, "nothing to launch"};
  device.reset();
  if (dense != nullptr) measured.dense = dense->time(point.rows, point.out, point.in, settings);
  return measured;
}

ExitCode measure_all(const Options& options, gpu::CudaDevice& device, gpu::CudaSession& session) {
  const gpu::OpenedDenseProduct dense = gpu::open_dense_product(session, options.cublas);
  fmt::print("\n{}, {}; median of {} runs{}, {} MiB written before each\n", device.name(),
             device.identity().driver, options.timing.runs,
             options.timing.graph ? " of a captured graph" : "", options.timing.flush_bytes >> 20);
  if (!dense.product) fmt::print("{}\n", dense.error);
  fmt::print("{:<34}  {:>10}  {:>12}  {:>6}  {:>11}  {:>10}  {:>10}  kernel\n", "point (us a call)", "ours",
             "Chord, H200", "ratio", "cuBLAS BF16", "memory", "compute");
  std::int64_t measured = 0, failed = 0;
  for (const gpu::PublishedPoint& published : gpu::published_points()) {
    if (layer_of(published).find(options.points) == std::string::npos) continue;
    const gpu::PublishedPoint point = options.rehearse ? gpu::rehearsal_of(published) : published;
    const Measured m = measure(point, device, dense.product.get(), options.timing);
    if (!m.ours.error.empty()) {
      ++failed;
      fmt::print("{:<34}  not measured: {}\n", layer_of(published), m.ours.error);
      continue;
    }
    ++measured;
    const gpu::Floors floors = gpu::floors_of(point, m.active);
    const double ours = m.ours.median();
    const std::string ratio = options.rehearse ? "-" : fmt::format("{:.2f}", ours / published.microseconds);
    const std::string blas = m.dense.microseconds.empty() ? "-" : fmt::format("{:.1f}", m.dense.median());
    fmt::print("{:<34}  {:>10.1f}  {:>12.1f}  {:>6}  {:>11}  {:>10.1f}  {:>10.1f}  {}\n", layer_of(published),
               ours, published.microseconds, ratio, blas, floors.memory, floors.compute, m.kernel);
  }
  if (options.rehearse)
    fmt::print("a rehearsal: the sizes are not those of the points, and no time here means anything\n");
  return failed > 0 || measured == 0 ? ExitCode::kUnmet : ExitCode::kPassed;
}

ExitCode bench_gpu(const Options& options) {
  print_resources();
  if (!options.rehearse) print_counts();
  if (options.only_static) {
    print_points(options, "not asked for");
    return ExitCode::kPassed;
  }
  gpu::MadeCudaDevice made = gpu::make_cuda_device(options.cuda);
  const gpu::OpenedCuda session = made.device ? gpu::open_cuda(options.cuda) : gpu::OpenedCuda{};
  if (!made.device || !session.session) {
    print_points(options, made.error + session.error);
    return ExitCode::kUnmet;
  }
  return measure_all(options, *made.device, *session.session);
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("bench", "What kernels take: on a GPU, or as far as it is known without one");
  command->require_subcommand(1);
  CLI::App* gpu_command = command->add_subcommand("gpu",
                                                  "Registers, bytes and bank conflicts; each published point "
                                                  "of Chord with our time, its time and the ratio");
  auto options = std::make_shared<Options>();
  gpu_command->add_flag("--static", options->only_static, "Only what needs no GPU; ends with 0");
  gpu_command->add_option("--points", options->points,
                          "Only points that have this in their name: h200_tp8, 'decode', …");
  gpu_command->add_option("--runs", options->timing.runs, "That are measured; default 50")
      ->check(CLI::PositiveNumber);
  gpu_command->add_flag("--graph", options->timing.graph,
                        "Each launch captured in a graph once, and replayed");
  gpu_command->add_option("--cublas", options->cublas, "The cuBLAS library; default libcublas.so.13 or .12");
  gpu_command->add_flag("--rehearse", options->rehearse,
                        "Small sizes, to see that everything runs; the times mean nothing");
  add_cuda_options(*gpu_command, options->cuda);
  gpu_command->footer(
      "Without a GPU the times are left out, which ends with 3 unless --static was asked for.\n"
      "Examples:\n"
      "  moe4 bench gpu --static\n"
      "  moe4 bench gpu --points decode --graph");
  gpu_command->callback([options, &code] {
    if (options->rehearse) options->timing.flush_bytes = std::uint64_t{1} << 20;
    code = bench_gpu(*options);
  });
}

}  // namespace moe4::oracle::cli
