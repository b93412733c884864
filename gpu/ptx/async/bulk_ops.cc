// cp.async.bulk and cp.async.bulk.tensor between global and shared memory.
#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

// One lane's copy.
class Issue {
 public:
  Issue(Warp& warp, const Instr& instr, unsigned lane)
      : warp_(warp), instr_(instr), block_(*warp.block), lane_(lane), at_(instr_index(warp, instr)) {}

  bool run() {
    const auto form = static_cast<BulkForm>(instr_.imm & 0xff);
    copy_.instr = at_;
    copy_.warp = warp_.index;
    copy_.lane = lane_;
    copy_.load = form == BulkForm::kLoad || form == BulkForm::kTensorLoad;
    copy_.tensor = form == BulkForm::kTensorLoad || form == BulkForm::kTensorStore;
    const MemoryOp* ops = warp_.function->memory_ops.data() + instr_.aux;
    const std::uint32_t* list = warp_.function->lists.data() + ops[0].list;
    next_ = list + (copy_.load ? 3 : 2);
    if (!(copy_.tensor ? read_box(ops[1], list[1]) : read_run(ops[1], list[1]))) return false;
    if (!place_in_shared(ops[0], list[0])) return false;
    if (copy_.load && !find_barrier(ops[2], list[2])) return false;
    if (!check_global()) return false;
    note_issue();
    block_.async().issue(warp_, std::move(copy_));
    return true;
  }

 private:
  std::uint64_t value(const MemoryOp& op, std::uint32_t operand) const {
    if (!op.register_address) return static_cast<std::uint64_t>(op.offset);
    if (op.address_bytes == 8) {
      return lanes<std::uint64_t>(warp_, operand)[lane_] + static_cast<std::uint64_t>(op.offset);
    }
    return static_cast<std::uint32_t>(lanes<std::uint32_t>(warp_, operand)[lane_] +
                                      static_cast<std::uint32_t>(op.offset));
  }
  bool fault(Check check, std::string message) {
    block_.fault(check, warp_, at_, lane_, std::move(message));
    return false;
  }
  // Where an access of this lane leads; reports what is wrong with it.
  bool target(MemoryOp op, std::uint64_t address, bool store, Target* to) {
    std::uint64_t addresses[kLanes];
    addresses[lane_] = address;
    LaneMask left = LaneMask{1} << lane_;
    if (!next_target(warp_, instr_, op, store, addresses, &left, to)) return false;
    address_ = addresses[lane_];
    return true;
  }

  bool read_run(MemoryOp op, std::uint32_t operand) {
    copy_.bytes = lanes<std::uint32_t>(warp_, *next_)[lane_];
    if (copy_.bytes == 0 || copy_.bytes % 16 != 0) {
      return fault(Check::kInvalidOperand,
                   "a bulk copy of " + std::to_string(copy_.bytes) + " bytes, no multiple of 16");
    }
    const std::uint64_t address = value(op, operand);
    op.element_bytes = 16;
    Target first, last;
    if (!target(op, address + copy_.bytes - 16, !copy_.load, &last) ||
        !target(op, address, !copy_.load, &first)) {
      return false;
    }
    if (first.buffer == nullptr || first.buffer != last.buffer) {
      return fault(Check::kOutOfBounds, "a bulk copy from " + hex(address) + " leaves global memory");
    }
    copy_.buffer = first.buffer;
    copy_.offset = address - first.origin;
    return true;
  }

  bool read_box(MemoryOp op, std::uint32_t operand) {
    const std::uint64_t address = value(op, operand);
    op.element_bytes = 16;
    Target first, last;
    if (address % 64 != 0) {
      return fault(Check::kMisaligned, "a tensor map at " + hex(address) + ", not a multiple of 64");
    }
    if (!target(op, address + kTensorMapBytes - 16, false, &last)) return false;
    const std::uint64_t end = address_;
    if (!target(op, address, false, &first)) return false;
    if (end - address_ != kTensorMapBytes - 16)
      return fault(Check::kOutOfBounds, "a tensor map outside its space");
    TensorMapBytes bytes;
    if (first.buffer != nullptr) {
      read_global(block_, *first.buffer, address_ - first.origin, bytes);
    } else {
      std::memcpy(bytes.data(), first.at(address_, lane_), bytes.size());
    }
    const auto map = decode_tensor_map(bytes);
    const auto rank = static_cast<std::uint32_t>(instr_.imm >> 8);
    if (!map || map->rank != rank) {
      return fault(Check::kInvalidOperand, "at " + hex(address) + " lies no tensor map of rank " +
                                               std::to_string(rank) +
                                               (map ? ", but one of " + std::to_string(map->rank) : ""));
    }
    copy_.map = *map;
    copy_.bytes = map->element_bytes;
    for (unsigned d = 0; d < rank; ++d) {
      copy_.bytes *= map->box[d];
      copy_.at[d] = static_cast<std::int32_t>(lanes<std::uint32_t>(warp_, next_[d])[lane_]);
    }
    return true;
  }

  bool place_in_shared(MemoryOp op, std::uint32_t operand) {
    const std::uint64_t address = value(op, operand);
    op.element_bytes = 16;
    Target first, last;
    if (!target(op, address + copy_.bytes - 16, copy_.load, &last) ||
        !target(op, address, copy_.load, &first)) {
      return false;
    }
    if (first.space != Space::kShared || last.space != Space::kShared) {
      return fault(Check::kInvalidOperand, "the shared side of a bulk copy is not in shared memory");
    }
    copy_.shared = static_cast<std::uint32_t>(address_);
    const std::uint32_t least = copy_.tensor ? 128 : 16;
    if (copy_.shared % least != 0) {
      return fault(Check::kMisaligned, "the shared side of a bulk copy at " + hex(copy_.shared) +
                                           ", not a multiple of " + std::to_string(least));
    }
    return true;
  }

  bool find_barrier(MemoryOp op, std::uint32_t operand) {
    Target at;
    op.element_bytes = 8;
    if (!target(op, value(op, operand), true, &at)) return false;
    copy_.barrier = static_cast<std::uint32_t>(address_);
    Mbarrier* barrier = at.space == Space::kShared ? block_.async().mbarriers().find(copy_.barrier) : nullptr;
    if (barrier == nullptr) {
      return fault(Check::kMbarrier, "no mbarrier is initialised at " + hex(address_));
    }
    if (!block_.checks()) return true;
    const auto finding = [&](Check check, const char* what) {
      return block_.report(check, warp_, at_, lane_,
                           "mbarrier " + hex(copy_.barrier) + block_.shared_name(copy_.barrier) + what);
    };
    Finding* found = nullptr;
    if (!block_.shared_races().clocks().ordered(barrier->init, warp_.index, lane_)) {
      found = finding(Check::kSharedRace,
                      " completes a copy, and its initialisation is not ordered before (no barrier between)");
    } else if (!barrier->init_fenced) {
      found = finding(Check::kProxyFence,
                      " completes a copy, and no fence.mbarrier_init or fence.proxy.async followed its "
                      "initialisation");
      if (found != nullptr) found->formal = true;
    }
    if (found != nullptr) {
      found->other = block_.place(barrier->init_instr, barrier->init.warp(), barrier->init.lane());
    }
    return true;
  }

  // Bounds of a box, races and rights on the global side.
  bool check_global() {
    if (!copy_.tensor) return note_global(copy_.buffer, copy_.offset, copy_.bytes);
    bool good = true;
    std::uint64_t begin = 0, end = 0;  // pieces that follow each other are looked at as one
    const auto flush = [&] {
      if (!good || begin == end) return;
      Buffer* buffer = block_.run().memory->find(begin, end - begin);
      if (buffer == nullptr) {
        const Buffer* near = block_.run().memory->near(begin);
        good = fault(
            Check::kOutOfBounds,
            "the box of the tensor map covers " + hex(begin) + " … " + hex(end) + ", outside " +
                (near != nullptr ? "buffer '" + near->name + "' of " + std::to_string(near->bytes) + " bytes"
                                 : std::string("every buffer")));
        return;
      }
      good = note_global(buffer, begin - buffer->address, end - begin);
    };
    for_box(copy_, [&](std::uint32_t, std::uint64_t global, std::uint32_t bytes) {
      if (global == 0) return;
      if (global == end) {
        end += bytes;
        return;
      }
      flush();
      begin = global;
      end = global + bytes;
    });
    flush();
    return good;
  }

  bool note_global(Buffer* buffer, std::uint64_t offset, std::uint64_t bytes) {
    (copy_.load ? block_.counters().global_load_bytes : block_.counters().global_store_bytes) += bytes;
    if (!buffer->writable()) {
      if (copy_.load) return true;
      block_.report(
          Check::kInputWritten, warp_, at_, lane_,
          "bulk store to the read-only buffer '" + buffer->name + "' at offset " + std::to_string(offset));
      return true;
    }
    note_global_pending(warp_, instr_, lane_, {*buffer, offset, bytes, !copy_.load, true});
    return true;
  }

  void note_issue() {
    (copy_.load ? block_.counters().shared_store_bytes : block_.counters().shared_load_bytes) += copy_.bytes;
    if (!block_.checks()) return;
    std::uint64_t words[4] = {copy_.shared, copy_.bytes, copy_.barrier, copy_.offset};
    for (const std::uint64_t word : words) hash_path(warp_, word);
    for (const std::int32_t at : copy_.at) hash_path(warp_, static_cast<std::uint32_t>(at));
    if (copy_.load) note_mbarrier_overwritten(warp_, at_, lane_, copy_.shared, copy_.bytes);
    SharedRaces::Conflict conflict;
    if (block_.shared_races().issue(copy_.load, warp_.index, lane_, copy_.shared, copy_.bytes, true,
                                    &conflict)) {
      // A load over an ordinary store without a fence between is undefined, and shipped kernels do it.
      const bool formal = copy_.load && conflict.why == SharedRaces::Conflict::Why::kNoFence;
      report_shared(warp_, at_, copy_.shared, copy_.load, conflict, formal);
    }
  }

  Warp& warp_;
  const Instr& instr_;
  Block& block_;
  unsigned lane_;
  std::uint32_t at_;
  std::uint64_t address_ = 0;  // relative to its space, of the last target()
  const std::uint32_t* next_ = nullptr;
  BulkCopy copy_;
};

}  // namespace

void run_bulk_copy(Warp& warp, const Instr& instr, LaneMask mask) {
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    if (!Issue(warp, instr, first_lane(left)).run()) return;
  }
}

void run_bulk_commit(Warp& warp, const Instr&, LaneMask mask) { warp.block->async().commit_bulk(warp, mask); }

void run_bulk_wait(Warp& warp, const Instr& instr, LaneMask mask) {
  warp.block->async().wait_bulk(warp, mask, static_cast<std::uint32_t>(instr.imm), (instr.imm >> 32) != 0);
}

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
      std::memcpy(buffer->host + offset,
                  copy.source.empty() ? at : copy.source.data() + (shared - copy.shared), bytes);
      if (block_.run().taint != nullptr) note_stored(block_, shared, *buffer, offset, bytes, copy);
    }
  };
  for_pieces(copy, move);
}

void Async::complete(BulkCopy& copy) {
  if (!copy.landed) land(copy);
  if (!copy.load) {
    if (!block_.checks()) return;
    release_source(copy);
    const std::uint32_t epoch = block_.shared_races().clocks().epoch(copy.warp);
    complete_global(copy, Who::make(epoch, false, copy.warp, copy.lane));
    return;
  }
  Mbarrier* barrier = mbarriers_.find(copy.barrier);
  Warp& warp = block_.warps()[copy.warp];
  if (barrier == nullptr) {
    block_.report(
        Check::kMbarrier, warp, copy.instr, copy.lane,
        "mbarrier " + hex(copy.barrier) + " was invalidated while a copy that completes on it is pending");
    return;
  }
  if (block_.checks()) {
    const std::uint32_t epoch = block_.shared_races().clocks().advance_agent(barrier->agent);
    block_.shared_races().complete(true, Who::make_async(epoch, barrier->agent), copy.warp, copy.shared,
                                   copy.bytes, copy.instr);
    complete_global(copy, Who::make_async(epoch, barrier->agent));
    barrier->arriving.agents[barrier->agent] = epoch;
  }
  barrier->transactions -= copy.bytes;
  if (barrier->settle()) phase_ended(copy.barrier);
}

}  // namespace moe4::ptx
