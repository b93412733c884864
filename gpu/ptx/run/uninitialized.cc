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

}  // namespace

LaunchReport launch_checked(const Module& module, Memory& memory, const Launch& launch,
                            const Options& options, std::span<const CountedRange> counted) {
  if (!options.checks) return ptx::launch(module, memory, launch, options);
  Options second = options;
  second.poison = options.poison == std::byte{0x37} ? std::byte{0x5B} : std::byte{0x37};
  Memory::Impl& impl = memory.impl();

  Run run_second, run_first;
  LaunchReport report;
  report.error = prepare(module, memory, launch, second, &run_second);
  if (report.error) return report;
  prepare(module, memory, launch, options, &run_first);
  const std::vector<Piece> pieces = pieces_of(impl, counted);

  impl.begin_launch(second.poison);
  const LaunchReport other = run_blocks(run_second, second);
  const std::vector<Page> pages = snapshot(pieces);
  impl.undo_launch();
  impl.begin_launch(options.poison);
  report = run_blocks(run_first, options);

  const bool path = other.path_hash != report.path_hash || other.completed != report.completed ||
                    other.counters.warp_instructions != report.counters.warp_instructions;
  const std::optional<TaintTracker::Watched> watched = path ? std::nullopt : first_difference(pages);
  if (!path && !watched) return report;

  Options serial = options;
  serial.host_threads = 1;
  TaintTracker tracker(watched);
  Run run_third;
  prepare(module, memory, launch, serial, &run_third);
  run_third.taint = &tracker;
  impl.undo_launch();
  impl.begin_launch(options.poison);
  run_blocks(run_third, serial);
  Finding finding = tracker.finding().value_or(unexplained(run_third, path, watched));
  finding.kernel = run_third.function->info.name;
  report.findings.insert(report.findings.begin(), std::move(finding));
  return report;
}

}  // namespace moe4::ptx
