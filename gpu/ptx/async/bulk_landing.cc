// Bulk copies under way: their groups, when they land and what then holds of both sides.
#include <algorithm>
#include <cstring>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/program/types.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/handlers.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

// The elements of a reduction, each combined with what is there.
void reduce(const BulkCopy& copy, const std::byte* from, std::byte* to, std::uint32_t bytes) {
  const unsigned size = bytes_of(copy.type);
  for (std::uint32_t at = 0; at + size <= bytes; at += size) {
    std::uint64_t old = 0, value = 0;
    std::memcpy(&old, to + at, size);
    std::memcpy(&value, from + at, size);
    const std::uint64_t result = combine_atomic(copy.op, copy.type, Space::kGlobal, old, value, 0);
    std::memcpy(to + at, &result, size);
  }
}

}  // namespace

void Async::issue(Warp& warp, BulkCopy copy) {
  copy.group = warps_[warp.index].bulk_group[copy.lane];
  if (block_.seeded() && !copy.load && block_.next_random() % 4 == 0) land(copy);
  bulk_.push_back(copy);
}

void Async::commit_bulk(Warp& warp, LaneMask lanes) {
  for_lanes(lanes, [&](unsigned lane) { ++warps_[warp.index].bulk_group[lane]; });
}

void Async::wait_bulk(Warp& warp, LaneMask lanes, std::uint32_t allowed, bool read_only) {
  for (std::size_t i = 0; i < bulk_.size();) {
    BulkCopy& copy = bulk_[i];
    if (copy.load || copy.warp != warp.index || !((lanes >> copy.lane) & 1) ||
        copy.group + allowed >= warps_[warp.index].bulk_group[copy.lane]) {
      ++i;
      continue;
    }
    if (read_only) {
      release_source(copy);
      ++i;
      continue;
    }
    BulkCopy done = std::move(copy);
    bulk_.erase(bulk_.begin() + static_cast<std::ptrdiff_t>(i));
    complete(done);
  }
}

// The shared memory of a store may be used again; its bytes are under way.
void Async::release_source(BulkCopy& copy) {
  if (copy.read) return;
  copy.read = true;
  if (!copy.landed) {
    const std::byte* from = block_.shared() + copy.shared;
    copy.source.assign(from, from + copy.bytes);
    // The tags of unwritten memory follow shared memory itself.
    if (block_.run().taint != nullptr) land(copy);
  }
  if (!block_.checks()) return;
  const std::uint32_t epoch = block_.shared_races().clocks().epoch(copy.warp);
  block_.shared_races().complete(false, Who::make(epoch, false, copy.warp, copy.lane), copy.warp, copy.shared,
                                 copy.bytes, copy.instr);
}

// Calls visit(shared address, buffer or none, offset, bytes) for the pieces of a copy.
template <class Visit>
void Async::for_pieces(const BulkCopy& copy, const Visit& visit) {
  if (!copy.tensor) return visit(copy.shared, copy.buffer, copy.offset, copy.bytes);
  for_box(copy, [&](std::uint32_t shared, std::uint64_t global, std::uint32_t bytes) {
    Buffer* buffer = global == 0 ? nullptr : block_.run().memory->near(global);
    visit(shared, buffer, buffer == nullptr ? 0 : global - buffer->address, bytes);
  });
}

// The global side is no longer pending.
void Async::complete_global(const BulkCopy& copy, Who who) {
  for_pieces(copy, [&](std::uint32_t, Buffer* buffer, std::uint64_t offset, std::uint64_t bytes) {
    if (buffer == nullptr) return;
    note_global_complete(block_, {*buffer, offset, bytes, !copy.load, true}, copy.warp, copy.lane, who);
  });
}

void Async::land(BulkCopy& copy) {
  copy.landed = true;
  Memory::Impl& memory = *block_.run().memory;
  const auto move = [&](std::uint32_t shared, Buffer* buffer, std::uint64_t offset, std::uint32_t bytes) {
    std::byte* at = block_.shared() + shared;
    if (copy.load) {
      if (buffer == nullptr) {
        std::memset(at, 0, bytes);
      } else {
        read_global(block_, *buffer, offset, {at, bytes});
      }
      if (block_.run().taint != nullptr) {
        note_copied(block_, shared, buffer, offset, buffer == nullptr ? 0 : bytes, bytes);
      }
    } else if (buffer != nullptr && buffer->writable()) {
      memory.touch(*buffer, offset, bytes);
      std::memset(buffer->written.data() + offset, 1, bytes);
      const std::byte* from = copy.source.empty() ? at : copy.source.data() + (shared - copy.shared);
      if (copy.reduces) {
        reduce(copy, from, buffer->host + offset, bytes);
      } else {
        std::memcpy(buffer->host + offset, from, bytes);
      }
      if (block_.run().taint != nullptr) note_stored(block_, shared, *buffer, offset, bytes, copy);
    }
  };
  if (copy.from != BulkCopy::From::kGlobal) {
    Block* source = copy.from == BulkCopy::From::kShared ? &block_.peer(copy.issuer) : nullptr;
    const std::byte* from = source != nullptr ? source->shared() + copy.from_shared : copy.registers.data();
    std::memcpy(block_.shared() + copy.shared, from, copy.bytes);
    if (block_.run().taint != nullptr) note_moved(block_, copy.shared, source, copy.from_shared, copy.bytes);
    return;
  }
  for_pieces(copy, move);
}

void Async::complete(BulkCopy& copy) {
  if (!copy.landed) land(copy);
  if (!copy.load) {
    if (!block_.checks()) return;
    release_source(copy);
    const std::uint32_t epoch = block_.shared_races().clocks().epoch(copy.warp);
    complete_global(copy, Who::make(epoch, copy.reduces, copy.warp, copy.lane));
    return;
  }
  Mbarrier* barrier = mbarriers_.find(copy.barrier);
  Block& issuer = block_.peer(copy.issuer);
  if (barrier == nullptr) {
    issuer.report(
        Check::kMbarrier, issuer.warps()[copy.warp], copy.instr, copy.lane,
        "mbarrier " + hex(copy.barrier) + " was invalidated while a copy that completes on it is pending");
    return;
  }
  if (block_.checks()) {
    const std::uint32_t epoch = block_.shared_races().clocks().advance_agent(barrier->agent);
    const Who who = Who::make_async(epoch, barrier->agent);
    block_.shared_races().complete(true, who, copy.warp, copy.shared, copy.bytes, copy.instr, copy.issuer);
    if (copy.from == BulkCopy::From::kShared) issuer.shared_races().end_read(copy.from_shared, copy.bytes);
    // Beyond its block an agent is not followed: a copy that another block has issued reads as that block's.
    if (copy.from == BulkCopy::From::kGlobal) {
      const std::uint32_t now = issuer.shared_races().clocks().epoch(copy.warp);
      issuer.async().complete_global(copy,
                                     &issuer == &block_ ? who : Who::make(now, false, copy.warp, copy.lane));
    }
    barrier->arriving.agents[barrier->agent] = epoch;
  }
  barrier->transactions -= copy.bytes;
  if (barrier->settle()) phase_ended(copy.barrier);
}

}  // namespace moe4::ptx
