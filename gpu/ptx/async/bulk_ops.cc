// cp.async.bulk, cp.async.bulk.tensor and cp.reduce.async.bulk; st.async.
#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/program/types.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/handlers.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

Type type_of(MapElement element) {
  switch (element) {
    case MapElement::kU32:
      return Type::kU32;
    case MapElement::kS32:
      return Type::kS32;
    case MapElement::kU64:
      return Type::kU64;
    case MapElement::kS64:
      return Type::kS64;
    case MapElement::kF16:
      return Type::kF16;
    case MapElement::kBF16:
      return Type::kBF16;
    case MapElement::kF32:
      return Type::kF32;
    case MapElement::kF64:
      return Type::kF64;
    default:
      return Type::kNone;
  }
}

// One lane's copy.
class Issue {
 public:
  Issue(Warp& warp, const Instr& instr, unsigned lane)
      : warp_(warp), instr_(instr), block_(*warp.block), lane_(lane), at_(instr_index(warp, instr)) {
    copy_.instr = at_;
    copy_.warp = warp.index;
    copy_.lane = lane;
    copy_.issuer = block_.rank();
  }

  bool run() {
    const BulkInstr form = decode_bulk(instr_.imm);
    copy_.load = form.form != BulkForm::kStore && form.form != BulkForm::kTensorStore;
    copy_.tensor = form.form == BulkForm::kTensorLoad || form.form == BulkForm::kTensorStore;
    copy_.from = form.form == BulkForm::kSharedCopy ? BulkCopy::From::kShared : BulkCopy::From::kGlobal;
    copy_.reduces = form.reduces;
    copy_.op = form.op;
    copy_.type = form.type;
    const MemoryOp* ops = warp_.function->memory_ops.data() + instr_.aux;
    const std::uint32_t* list = warp_.function->lists.data() + ops[0].list;
    next_ = list + (copy_.load ? 3 : 2);
    if (!(copy_.tensor ? read_box(ops[1], list[1], form.rank) : read_run(ops[1], list[1]))) return false;
    if (!place_in_shared(ops[0], list[0])) return false;
    if (copy_.load && !place_barrier(ops[2], list[2])) return false;
    if (copy_.from == BulkCopy::From::kGlobal && !check_global()) return false;
    if (!form.multicast) return deliver(*home_);
    return multicast(lanes<std::uint32_t>(warp_, next_[copy_.tensor ? form.rank : 1])[lane_] & 0xffff);
  }

  // st.async: `bytes` of registers.
  bool run(const MemoryOp& to, std::uint64_t address, std::uint64_t barrier, const MemoryOp& barrier_op) {
    copy_.from = BulkCopy::From::kRegisters;
    copy_.bytes = std::uint32_t{to.element_bytes} * to.count;
    for (unsigned i = 0; i < to.count; ++i) {
      std::memcpy(copy_.registers.data() + std::size_t{i} * to.element_bytes,
                  lanes<std::byte>(warp_, warp_.function->lists[to.list + i]) +
                      std::size_t{lane_} * to.register_bytes,
                  to.element_bytes);
    }
    Target at;
    if (!target(to, address, true, &at)) return false;
    if (at.space != Space::kShared) return fault(Check::kInvalidOperand, "st.async outside shared memory");
    home_ = at.owner;
    copy_.shared = static_cast<std::uint32_t>(address_);
    return place_barrier(barrier_op, barrier) && deliver(*home_);
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

  // The blocks whose bits are set get the bytes, and the signal, at one place of their shared memories.
  bool multicast(std::uint32_t blocks) {
    if (blocks == 0 || (blocks >> block_.run().cluster_blocks) != 0) {
      return fault(Check::kInvalidOperand, "a multicast to the blocks " + hex(blocks) + " of a cluster of " +
                                               std::to_string(block_.run().cluster_blocks));
    }
    for (; blocks != 0; blocks &= blocks - 1) {
      if (!deliver(block_.peer(first_lane(blocks)))) return false;
    }
    return true;
  }

  bool deliver(Block& home) {
    if (&home != &block_ && !block_.reaches(warp_, at_, LaneMask{1} << lane_, home, false)) return false;
    if (copy_.load && !check_barrier(home)) return false;
    note_issue(home);
    home.async().issue(warp_, copy_);
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
    if (copy_.from == BulkCopy::From::kShared) {
      copy_.from_shared = static_cast<std::uint32_t>(address_);
      return true;
    }
    if (first.buffer == nullptr || first.buffer != last.buffer) {
      return fault(Check::kOutOfBounds, "a bulk copy from " + hex(address) + " leaves global memory");
    }
    copy_.buffer = first.buffer;
    copy_.offset = address - first.origin;
    return true;
  }

  bool read_box(MemoryOp op, std::uint32_t operand, std::uint32_t rank) {
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
    if (first.space == Space::kShared || first.space == Space::kLocal) {
      return fault(Check::kInvalidOperand,
                   "a tensor map in " + std::string(name_of(first.space)) + " memory");
    }
    if (first.buffer != nullptr) {
      const std::uint64_t offset = address_ - first.origin;
      read_global(block_, *first.buffer, offset, bytes);
      if (first.buffer->writable()) {
        note_map_use(warp_, instr_, *first.buffer, lane_, offset, kTensorMapBytes);
        if (block_.checks())
          block_.async().map_fences().check_use(block_, warp_, at_, lane_, *first.buffer, offset);
      }
    } else {
      std::memcpy(bytes.data(), first.at(address_, lane_), bytes.size());
    }
    const auto map = decode_tensor_map(bytes);
    if (!map || map->rank != rank) {
      return fault(Check::kInvalidOperand, "at " + hex(address) + " lies no tensor map of rank " +
                                               std::to_string(rank) +
                                               (map ? ", but one of " + std::to_string(map->rank) : ""));
    }
    copy_.map = *map;
    if (copy_.reduces) {
      copy_.type = type_of(map->element);
      if (!atomic_type_fits(copy_.op, copy_.type)) {
        return fault(Check::kInvalidOperand,
                     "a reduction of elements for which the tensor map does not say a type that "
                     "it can have");
      }
    }
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
    home_ = first.owner;
    copy_.shared = static_cast<std::uint32_t>(address_);
    const std::uint32_t least = copy_.tensor ? 128 : 16;
    if (copy_.shared % least != 0) {
      return fault(Check::kMisaligned, "the shared side of a bulk copy at " + hex(copy_.shared) +
                                           ", not a multiple of " + std::to_string(least));
    }
    return true;
  }

  bool place_barrier(const MemoryOp& op, std::uint32_t operand) {
    return place_barrier(op, value(op, operand));
  }
  bool place_barrier(MemoryOp op, std::uint64_t address) {
    Target at;
    op.element_bytes = 8;
    op.count = 1;
    if (!target(op, address, true, &at)) return false;
    if (at.space != Space::kShared) return fault(Check::kMbarrier, "an mbarrier must lie in shared memory");
    if (at.owner != home_) {
      return fault(Check::kMbarrier, "a copy to block " + to_string(home_->id()) +
                                         " of the cluster is to complete on an mbarrier of block " +
                                         to_string(at.owner->id()));
    }
    copy_.barrier = static_cast<std::uint32_t>(address_);
    return true;
  }

  bool check_barrier(Block& home) {
    const std::string where = &home == &block_ ? std::string() : " of block " + to_string(home.id());
    const Mbarrier* barrier = home.async().mbarriers().find(copy_.barrier);
    if (barrier == nullptr) {
      return fault(Check::kMbarrier, "no mbarrier is initialised at " + hex(copy_.barrier) + where);
    }
    if (!block_.checks()) return true;
    const auto finding = [&](Check check, const char* what) {
      return block_.report(
          check, warp_, at_, lane_,
          "mbarrier " + hex(copy_.barrier) + block_.shared_name(copy_.barrier) + where + what);
    };
    Finding* found = nullptr;
    if (!init_ordered(block_, *barrier, home, warp_.index, lane_)) {
      found = finding(Check::kSharedRace,
                      " completes a copy, and its initialisation is not ordered before (no barrier between)");
    } else if (!barrier->init_fenced) {
      found = finding(Check::kProxyFence,
                      " completes a copy, and no fence.mbarrier_init or fence.proxy.async followed its "
                      "initialisation");
      if (found != nullptr) found->formal = true;
    }
    if (found != nullptr) {
      found->other = home.place(barrier->init_instr, barrier->init.warp(), barrier->init.lane());
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
    note_global_pending(warp_, instr_, lane_, {*buffer, offset, bytes, !copy_.load, true, copy_.reduces});
    return true;
  }

  void note_issue(Block& home) {
    (copy_.load ? block_.counters().shared_store_bytes : block_.counters().shared_load_bytes) += copy_.bytes;
    if (!block_.checks()) return;
    std::uint64_t words[4] = {copy_.shared, copy_.bytes, copy_.barrier, copy_.offset};
    for (const std::uint64_t word : words) hash_path(warp_, word);
    for (const std::int32_t at : copy_.at) hash_path(warp_, static_cast<std::uint32_t>(at));
    if (copy_.load) note_mbarrier_overwritten(warp_, at_, lane_, home, copy_.shared, copy_.bytes);
    SharedRaces::Conflict conflict;
    const WarpClocks* me = &block_.shared_races().clocks();
    const bool proxy = copy_.from != BulkCopy::From::kRegisters;
    if (home.shared_races().issue(copy_.load, warp_.index, lane_, copy_.shared, copy_.bytes, proxy, &conflict,
                                  me)) {
      // A load over an ordinary store without a fence between is undefined, and shipped kernels do it.
      const bool formal = copy_.load && conflict.why == SharedRaces::Conflict::Why::kNoFence;
      report_shared(warp_, at_, copy_.shared, copy_.load, conflict, formal, &home);
    }
    if (copy_.from != BulkCopy::From::kShared) return;
    if (block_.shared_races().issue(false, warp_.index, lane_, copy_.from_shared, copy_.bytes, true,
                                    &conflict)) {
      report_shared(warp_, at_, copy_.from_shared, false, conflict);
    }
  }

  Warp& warp_;
  const Instr& instr_;
  Block& block_;
  unsigned lane_;
  std::uint32_t at_;
  std::uint64_t address_ = 0;  // relative to its space, of the last target()
  const std::uint32_t* next_ = nullptr;
  Block* home_ = nullptr;  // whose shared memory it is
  BulkCopy copy_;
};

}  // namespace

void run_bulk_copy(Warp& warp, const Instr& instr, LaneMask mask) {
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    if (!Issue(warp, instr, first_lane(left)).run()) return;
  }
}

void run_store_async(Warp& warp, const Instr& instr, LaneMask mask) {
  const MemoryOp* ops = warp.function->memory_ops.data() + instr.aux;
  std::uint64_t addresses[kLanes], barriers[kLanes];
  read_addresses(warp, instr, ops[0], addresses);
  Instr second = instr;
  second.a = instr.b;
  read_addresses(warp, second, ops[1], barriers);
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if (!Issue(warp, instr, lane).run(ops[0], addresses[lane], barriers[lane], ops[1])) return;
  }
}

void run_bulk_commit(Warp& warp, const Instr&, LaneMask mask) { warp.block->async().commit_bulk(warp, mask); }

void run_bulk_wait(Warp& warp, const Instr& instr, LaneMask mask) {
  warp.block->async().wait_bulk(warp, mask, static_cast<std::uint32_t>(instr.imm), (instr.imm >> 32) != 0);
}

}  // namespace moe4::ptx
