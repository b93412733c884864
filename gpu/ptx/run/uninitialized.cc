#include "gpu/ptx/uninitialized.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/launch.h"
#include "gpu/ptx/run/taint.h"

namespace moe4::ptx {
namespace {

// What a launch left in a counted range: the pages that exist, with their flags.
struct Page {
  const Buffer* buffer = nullptr;
  std::uint64_t offset = 0;
  std::vector<std::byte> data, flags;
};

struct Piece {
  const Buffer* buffer = nullptr;
  std::uint64_t begin = 0, end = 0;  // offsets
};

std::vector<Piece> pieces_of(const Memory::Impl& memory, std::span<const CountedRange> counted) {
  std::vector<Piece> pieces;
  if (counted.empty()) {
    for (const auto& buffer : memory.buffers()) {
      if (buffer->writable()) pieces.push_back({buffer.get(), 0, buffer->bytes});
    }
  }
  for (const CountedRange& range : counted) {
    const Buffer* buffer = memory.find(range.address, range.bytes);
    if (buffer == nullptr || !buffer->writable()) continue;
    const std::uint64_t begin = range.address - buffer->address;
    pieces.push_back({buffer, begin, begin + range.bytes});
  }
  return pieces;
}

// Calls visit(buffer, begin, end) for the parts of the pieces that lie on existing pages.
template <class Visit>
void for_existing(const std::vector<Piece>& pieces, const Visit& visit) {
  for (const Piece& piece : pieces) {
    for (std::uint64_t at = piece.begin; at < piece.end;) {
      const std::uint64_t end = std::min(piece.end, (at / kPageBytes + 1) * kPageBytes);
      if (piece.buffer->page(at / kPageBytes).load(std::memory_order_relaxed) != 0)
        visit(*piece.buffer, at, end);
      at = end;
    }
  }
}

std::vector<Page> snapshot(const std::vector<Piece>& pieces) {
  std::vector<Page> pages;
  for_existing(pieces, [&](const Buffer& buffer, std::uint64_t begin, std::uint64_t end) {
    Page page{&buffer, begin, {}, {}};
    page.data.assign(buffer.host + begin, buffer.host + end);
    page.flags.assign(buffer.written.data() + begin, buffer.written.data() + end);
    pages.push_back(std::move(page));
  });
  return pages;
}

// The first byte that both launches wrote, with different values.
std::optional<TaintTracker::Watched> first_difference(const std::vector<Page>& before) {
  for (const Page& page : before) {
    const std::byte* data = page.buffer->host + page.offset;
    const std::byte* flags = page.buffer->written.data() + page.offset;
    if (std::memcmp(data, page.data.data(), page.data.size()) == 0) continue;
    for (std::size_t i = 0; i < page.data.size(); ++i) {
      if (flags[i] == std::byte{0} || page.flags[i] == std::byte{0} || data[i] == page.data[i]) continue;
      return TaintTracker::Watched{page.buffer, page.offset + i};
    }
  }
  return std::nullopt;
}

Finding unexplained(const Run& run, bool path, const std::optional<TaintTracker::Watched>& watched) {
  Finding finding;
  finding.check = Check::kUninitialized;
  finding.place = place_of(*run.program, *run.function, 0);
  finding.message = path ? "a branch or an address depends on memory that nothing wrote"
                         : "the value of buffer '" + watched->buffer->name + "' offset " +
                               std::to_string(watched->offset) + " depends on memory that nothing wrote";
  return finding;
}

// One run with another pattern; the memory is as before it afterwards.
struct OtherRun {
  LaunchReport report;
  std::vector<Page> pages;
};

OtherRun run_with(std::byte poison, const Module& module, Memory& memory, const Launch& launch,
                  Options options, const std::vector<Piece>& pieces) {
  options.poison = poison;
  Run run;
  prepare(module, memory, launch, options, &run);
  memory.impl().begin_launch(poison);
  OtherRun other;
  other.report = run_blocks(run, options);
  other.pages = snapshot(pieces);
  memory.impl().undo_launch();
  return other;
}

bool same_path(const LaunchReport& a, const LaunchReport& b) {
  return a.path_hash == b.path_hash && a.completed == b.completed &&
         a.counters.warp_instructions == b.counters.warp_instructions;
}

}  // namespace

LaunchReport launch_checked(const Module& module, Memory& memory, const Launch& launch,
                            const Options& options, std::span<const CountedRange> counted, int patterns) {
  if (!options.checks) return ptx::launch(module, memory, launch, options);
  Memory::Impl& impl = memory.impl();
  Run run;
  LaunchReport report;
  report.error = prepare(module, memory, launch, options, &run);
  if (report.error) return report;

  const std::vector<Piece> pieces = pieces_of(impl, counted);
  constexpr std::byte kZero{0}, kOnes{0xFF}, kLarge{0x7B};
  std::vector<OtherRun> others;
  others.push_back(
      run_with(options.poison == kZero ? kOnes : kZero, module, memory, launch, options, pieces));
  if (patterns > 2) {
    others.push_back(
        run_with(options.poison == kLarge ? kOnes : kLarge, module, memory, launch, options, pieces));
  }
  impl.begin_launch(options.poison);
  report = run_blocks(run, options);

  bool path = false;
  std::optional<TaintTracker::Watched> watched;
  for (const OtherRun& other : others) {
    path = path || !same_path(other.report, report);
    if (!watched) watched = first_difference(other.pages);
  }
  if (!path && !watched) return report;
  if (path) watched.reset();

  Options serial = options;
  serial.host_threads = 1;
  TaintTracker tracker(watched);
  Run tracked;
  prepare(module, memory, launch, serial, &tracked);
  tracked.taint = &tracker;
  impl.undo_launch();
  impl.begin_launch(options.poison);
  run_blocks(tracked, serial);
  Finding finding = tracker.finding().value_or(unexplained(tracked, path, watched));
  finding.kernel = tracked.function->info.name;
  // A race explains more than the stale value that came of it.
  const bool race = std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& f) {
    return f.check == Check::kSharedRace || f.check == Check::kGlobalRace;
  });
  report.findings.insert(race ? report.findings.end() : report.findings.begin(), std::move(finding));
  return report;
}

}  // namespace moe4::ptx
