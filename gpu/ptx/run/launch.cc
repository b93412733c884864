#include "gpu/ptx/run/launch.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/collector.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/turns.h"

namespace moe4::ptx {
namespace {

// Shared memory that a block may have, by target.
std::uint32_t shared_limit(const std::string& target) {
  if (target.starts_with("sm_8")) {
    return target.starts_with("sm_80") || target.starts_with("sm_87") ? 163u << 10 : 99u << 10;
  }
  if (target.starts_with("sm_7")) return target.starts_with("sm_75") ? 64u << 10 : 96u << 10;
  if (target.starts_with("sm_12")) return 99u << 10;
  return 227u << 10;
}

// Clusters that have nothing to do with each other, on several host threads.
LaunchReport run_independent(Run& run, const Options& options, int threads) {
  // Work is handed out in rounds of this size, so that what runs before a launch is stopped is always the
  // same.
  constexpr std::uint64_t kRound = 256;
  const std::uint64_t count = clusters_of(run), budget = budget_of(options);
  const ClusterOrder order(count, options.schedule);
  Collector collector(run, options);
  std::vector<std::unique_ptr<Cluster>> clusters(static_cast<std::size_t>(threads));
  for (std::uint64_t begin = 0; begin < count; begin += kRound) {
    const std::uint64_t size = std::min(kRound, count - begin);
    const std::uint64_t left = budget - collector.instructions();
    std::vector<std::vector<Block::Result>> results(size);
    std::vector<Dim3> places(size);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::uint64_t i = 0; i < size; ++i) {
      const FloatEnvironment environment;
      std::unique_ptr<Cluster>& cluster = clusters[static_cast<std::size_t>(omp_get_thread_num())];
      if (cluster == nullptr) cluster = std::make_unique<Cluster>(run);
      cluster->start(order(begin + i));
      cluster->resume(left);
      places[i] = cluster->block(0).id();
      results[i] = cluster->take_results();
    }
    for (std::uint64_t i = 0; i < size; ++i) {
      const bool finished = std::all_of(results[i].begin(), results[i].end(),
                                        [](const Block::Result& r) { return r.finished; });
      for (Block::Result& result : results[i]) collector.add(std::move(result));
      if (finished && collector.instructions() > budget) {
        collector.over_budget(places[i]);
        return std::move(collector.report());
      }
    }
    if (!collector.report().completed) break;
  }
  return std::move(collector.report());
}

// The blocks of a cluster, or why the launch cannot have them.
std::optional<Error> place_clusters(const Launch& launch, const Function& function, Run* run) {
  const auto refuse = [](std::string message) { return Error{0, "", std::move(message)}; };
  const std::optional<Dim3> required = function.info.required_cluster;
  const Dim3 cluster = launch.cluster.value_or(required.value_or(Dim3{}));
  const Dim3 grid = launch.grid;
  if (required && !(*required == cluster)) {
    return refuse("cluster " + to_string(cluster) + " differs from .reqnctapercluster " +
                  to_string(*required));
  }
  const std::uint64_t blocks = std::uint64_t{cluster.x} * cluster.y * cluster.z;
  if (cluster.x > kMaxCluster || cluster.y > kMaxCluster || cluster.z > kMaxCluster || blocks == 0 ||
      blocks > kMaxCluster) {
    return refuse("cluster " + to_string(cluster) + " has not 1 … 16 blocks");
  }
  if (function.info.max_cluster_blocks != 0 && blocks > function.info.max_cluster_blocks) {
    return refuse("cluster " + to_string(cluster) + " exceeds .maxclusterrank " +
                  std::to_string(function.info.max_cluster_blocks));
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return refuse("grid " + to_string(grid) + " is no multiple of the cluster " + to_string(cluster));
  }
  run->cluster = cluster;
  run->cluster_blocks = static_cast<std::uint32_t>(blocks);
  run->explicit_cluster = launch.cluster.has_value() || required.has_value();
  return std::nullopt;
}

}  // namespace

std::optional<Error> prepare(const Module& module, Memory& memory, const Launch& launch,
                             const Options& options, Run* run) {
  const Program& program = module.program();
  const auto refuse = [](std::string message) { return Error{0, "", std::move(message)}; };
  const Function* function = program.find(launch.entry);
  if (function == nullptr) return refuse("module " + program.name + " has no entry '" + launch.entry + "'");
  if (!function->info.unsupported.empty()) return function->info.unsupported.front();
  if (function->info.needs_tensor_core &&
      (options.tensor_core == nullptr || options.tensor_core->multiply_add == nullptr)) {
    return refuse("it multiplies matrices, and no tensor-core arithmetic was given (Options::tensor_core)");
  }
  if (const TensorCore* core = options.tensor_core; function->info.needs_tensor_core) {
    if ((function->multiplies_bf16 && !core->bf16) || (function->multiplies_f16 && !core->f16)) {
      return refuse("it multiplies " + std::string(core->bf16 ? "F16" : "BF16") + ", which " + core->chip +
                    " does not");
    }
  }
  const Dim3 grid = launch.grid, block = launch.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    return refuse("grid " + to_string(grid) + " is outside 1 … 2147483647, 65535, 65535");
  }
  if (blocks_of(launch) > 0xfffffff0u)
    return refuse("grid " + to_string(grid) + " has more than 2^32 blocks");
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) {
    return refuse("block " + to_string(block) + " is outside 1 … 1024 threads, 1024, 1024, 64");
  }
  if (function->info.required_block && !(*function->info.required_block == block)) {
    return refuse("block " + to_string(block) + " differs from .reqntid " +
                  to_string(*function->info.required_block));
  }
  if (function->info.max_block) {
    const Dim3 most = *function->info.max_block;
    if (threads > std::uint64_t{most.x} * most.y * most.z) {
      return refuse("block " + to_string(block) + " exceeds .maxntid " + to_string(most));
    }
  }
  if (auto error = place_clusters(launch, *function, run)) return error;
  if (launch.parameters.size() != function->info.parameter_bytes) {
    return refuse("the parameters are " + std::to_string(launch.parameters.size()) +
                  " bytes, the entry takes " + std::to_string(function->info.parameter_bytes));
  }
  run->static_end = kSharedBase + function->static_shared_bytes;
  run->dynamic_begin = (run->static_end + 1023) / 1024 * 1024;
  const std::uint64_t shared = std::uint64_t{function->static_shared_bytes} + launch.dynamic_shared_bytes;
  if (shared > shared_limit(program.target)) {
    return refuse(std::to_string(shared) + " bytes of shared memory exceed the " +
                  std::to_string(shared_limit(program.target)) + " of " + program.target);
  }
  run->shared_end =
      launch.dynamic_shared_bytes != 0 ? run->dynamic_begin + launch.dynamic_shared_bytes : run->static_end;
  run->program = &program;
  run->function = function;
  run->launch = &launch;
  run->options = &options;
  run->memory = &memory.impl();
  run->threads = static_cast<std::uint32_t>(threads);
  run->warps = static_cast<std::uint32_t>((threads + kLanes - 1) / kLanes);
  run->constants.assign(program.constants.bytes, std::byte{0});
  for (const ModuleData::Piece& piece : program.constants.pieces) {
    std::memcpy(run->constants.data() + piece.at, piece.bytes.data(), piece.bytes.size());
  }
  if (launch.cooperative) run->grid_workspace = memory.impl().grid_workspace();
  run->globals = program.globals.bytes != 0 ? &memory.impl().globals_of(program) : nullptr;
  return std::nullopt;
}

LaunchReport run_blocks(Run& run, const Options& options) {
  run.serial = run.function->blocks_communicate;
  const int wanted = options.host_threads > 0 ? options.host_threads : omp_get_max_threads();
  const auto threads =
      static_cast<int>(std::min<std::uint64_t>(std::clamp(wanted, 1, 1024), clusters_of(run)));
  run.share_check = !run.serial && threads > 1;
  run.track_global = options.checks || run.share_check;
  if (run.track_global) start_global_races(run);
  if (run.serial) return run_communicating(run, options);
  LaunchReport report = run_independent(run, options, threads);
  if (run.shared_use.load()) {
    // Two blocks met in one location, so that the order of host threads could show: again, in order.
    run.memory->undo_launch();
    run.memory->begin_launch(run.memory->poison());
    run.share_check = false;
    run.track_global = options.checks;
    if (run.track_global) start_global_races(run);
    report = run_independent(run, options, 1);
  }
  return report;
}

LaunchReport launch(const Module& module, Memory& memory, const Launch& launch, const Options& options) {
  Run run;
  LaunchReport report;
  report.error = prepare(module, memory, launch, options, &run);
  if (report.error) return report;
  memory.impl().begin_launch(options.poison);
  return run_blocks(run, options);
}

}  // namespace moe4::ptx
