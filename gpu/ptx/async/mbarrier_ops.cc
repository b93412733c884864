// mbarrier.* and cp.async.mbarrier.arrive.
#include <algorithm>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

std::string name_of_barrier(Block& block, std::uint32_t address) {
  return "mbarrier " + hex(address) + block.shared_name(address);
}

// One lane's operation on its mbarrier.
struct Action {
  Warp& warp;
  const Instr& instr;
  const MbarrierForm& form;
  unsigned lane;
  Block& owner;           // whose shared memory holds it
  std::uint32_t address;  // … there
  std::uint64_t operand;

  Block& block() const { return *warp.block; }
  std::uint32_t at() const { return instr_index(warp, instr); }
  std::string name() const {
    return name_of_barrier(block(), address) +
           (&owner == &block() ? std::string() : " of block " + to_string(owner.id()));
  }
  void broken(std::string what) const {
    block().report(Check::kMbarrier, warp, at(), lane, name() + ": " + std::move(what));
  }
};

void initialize(const Action& action) {
  if (action.operand == 0 || action.operand > Mbarrier::kMaxCount) {
    return action.broken("a count of " + std::to_string(action.operand) + " is outside 1 … 2^20 - 1");
  }
  Block& block = action.block();
  Mbarriers& all = block.async().mbarriers();
  if (const Mbarrier* live = all.find(action.address)) {
    Finding* finding =
        block.report(Check::kMbarrier, action.warp, action.at(), action.lane,
                     name_of_barrier(block, action.address) + ": initialised again without mbarrier.inval");
    if (finding != nullptr) {
      finding->formal = true;
      finding->other = block.place(live->init_instr, live->init.warp(), live->init.lane());
    }
  }
  Mbarrier& barrier = all.make(action.address);
  barrier.expected = barrier.pending = static_cast<std::uint32_t>(action.operand);
  const std::uint32_t epoch = block.checks() ? block.shared_races().clocks().epoch(action.warp.index) : 1;
  barrier.init = Who::make(epoch, true, action.warp.index, action.lane);
  barrier.init_instr = action.at();
}

// The mbarrier at the address, its initialisation ordered before; nullptr: reported, and the block is over.
Mbarrier* find(const Action& action) {
  Block& block = action.block();
  Mbarrier* barrier = action.owner.async().mbarriers().find(action.address);
  if (barrier == nullptr) {
    block.fault(Check::kMbarrier, action.warp, action.at(), action.lane,
                "no mbarrier is initialised at the shared memory of " + action.name());
    return nullptr;
  }
  if (block.checks() && barrier->overwritten) {
    Finding* finding = block.report(Check::kMbarrier, action.warp, action.at(), action.lane,
                                    action.name() + " is used after something was stored over its bytes");
    const Mbarrier::Overwrite& by = *barrier->overwritten;
    if (finding != nullptr) finding->other = block.peer(by.block).place(by.instr, by.warp, by.lane);
  }
  if (block.checks() && !init_ordered(block, *barrier, action.owner, action.warp.index, action.lane)) {
    Finding* finding = block.report(
        Check::kSharedRace, action.warp, action.at(), action.lane,
        action.name() + " is used, and its initialisation is not ordered before (no barrier between)");
    if (finding != nullptr) {
      finding->other = action.owner.place(barrier->init_instr, barrier->init.warp(), barrier->init.lane());
    }
  }
  return barrier;
}

bool add_transactions(const Action& action, Mbarrier& barrier, std::int64_t bytes) {
  barrier.transactions += bytes;
  if (barrier.transactions <= Mbarrier::kMaxCount &&
      barrier.transactions >= -std::int64_t{Mbarrier::kMaxCount}) {
    return true;
  }
  action.broken("its transaction count leaves ±(2^20 - 1)");
  return false;
}

void settle(const Action& action, Mbarrier& barrier) {
  if (barrier.settle()) action.owner.async().phase_ended(action.address);
}

void arrive(const Action& action, Mbarrier& barrier, std::uint32_t count) {
  if (count == 0 || count > barrier.pending) {
    return action.broken("an arrival for " + std::to_string(count) + " where the phase lacks " +
                         std::to_string(barrier.pending) + " of " + std::to_string(barrier.expected));
  }
  if (action.form.no_complete && count == barrier.pending && barrier.transactions == 0) {
    action.broken("arrive.noComplete completes the phase");
  }
  barrier.pending -= count;
  if (action.form.drops) barrier.expected -= std::min(barrier.expected, count);
  settle(action, barrier);
}

// Whether the phase that the lane waits for has ended; *phase: its number.
bool ended(const Action& action, const Mbarrier& barrier, std::uint64_t* phase) {
  if (action.form.parity) {
    const bool over = (barrier.phase & 1) != (action.operand & 1);
    *phase = over ? barrier.phase - 1 : barrier.phase;
    return over;
  }
  *phase = action.operand >> 32;
  if (*phase != barrier.phase && *phase + 1 != barrier.phase) {
    action.broken("a wait for a phase that is neither the current one nor the one before it");
  }
  return *phase < barrier.phase;
}

std::uint64_t state_of(const Mbarrier& barrier) { return (barrier.phase << 32) | barrier.pending; }

}  // namespace

bool init_ordered(Block& block, const Mbarrier& barrier, const Block& owner, unsigned warp, unsigned lane) {
  if (block.shared_races().clocks().ordered_in_cluster(owner.rank(), barrier.init, warp, lane)) return true;
  return barrier.init_phase != 0 && block.cluster() != nullptr &&
         block.cluster()->waited(block, warp) >= barrier.init_phase;
}

void run_pending_count(Warp& warp, const Instr& instr, LaneMask mask) {
  const std::uint64_t* state = lanes<std::uint64_t>(warp, instr.a);
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  for_lanes(mask, [&](unsigned lane) { d[lane] = static_cast<std::uint32_t>(state[lane]); });
}

// An mbarrier is opaque: nothing but mbarrier instructions may touch its bytes until mbarrier.inval. A store
// over one that rests and is never used again does no harm on any hardware.
void note_mbarrier_overwritten(Warp& warp, std::uint32_t instr, unsigned lane, Block& owner,
                               std::uint32_t begin, std::uint32_t bytes) {
  Block& block = *warp.block;
  owner.async().mbarriers().for_overlapping(begin, bytes, [&](std::uint32_t address, Mbarrier& barrier) {
    if (barrier.overwritten) return;
    barrier.overwritten = Mbarrier::Overwrite{instr, warp.index, lane, block.rank()};
    Finding* finding =
        block.report(Check::kMbarrier, warp, instr, lane,
                     name_of_barrier(block, address) + " is overwritten without mbarrier.inval" +
                         (barrier.idle() ? "" : ", in the middle of a phase"));
    if (finding == nullptr) return;
    finding->formal = barrier.idle();
    finding->other = owner.place(barrier.init_instr, barrier.init.warp(), barrier.init.lane());
  });
}

void run_mbarrier(Warp& warp, const Instr& instr, LaneMask mask) {
  Block& block = *warp.block;
  const MbarrierForm form = decode_mbarrier(instr.imm);
  const MemoryOp& op = warp.function->memory_ops[instr.aux];
  std::uint64_t addresses[kLanes];
  std::uint64_t places[kLanes] = {};  // the owner's rank and the address there
  Block* owners[kLanes] = {};
  read_addresses(warp, instr, op, addresses);
  if (block.checks()) hash_addresses(warp, addresses, mask);
  const bool far = form.op == MbarrierOp::kExpect || form.op == MbarrierOp::kComplete ||
                   (form.op == MbarrierOp::kArrive && !form.state);
  for (LaneMask left = mask; left != 0;) {
    Target target;
    if (!next_target(warp, instr, op, true, addresses, &left, &target)) return;
    if (target.space != Space::kShared) {
      return block.fault(Check::kMbarrier, warp, instr_index(warp, instr), first_lane(target.lanes),
                         "an mbarrier must lie in shared memory");
    }
    if (target.owner != &block && !far) {
      return block.fault(
          Check::kMbarrier, warp, instr_index(warp, instr), first_lane(target.lanes),
          "on the mbarrier of another block only expect_tx, complete_tx and arrivals without a "
          "state are possible");
    }
    for_lanes(target.lanes, [&](unsigned lane) {
      owners[lane] = target.owner;
      places[lane] = (std::uint64_t{target.owner->rank()} << 32) | addresses[lane];
    });
  }
  const bool state_operand = (form.op == MbarrierOp::kTest || form.op == MbarrierOp::kTry) && !form.parity;
  const auto operand = [&](unsigned lane) -> std::uint64_t {
    if (form.op == MbarrierOp::kInvalidate || form.op == MbarrierOp::kCopyArrive) return 0;
    return state_operand ? lanes<std::uint64_t>(warp, instr.b)[lane]
                         : lanes<std::uint32_t>(warp, instr.b)[lane];
  };
  if (form.op == MbarrierOp::kCopyArrive) {
    CopyOp copy;
    copy.instr = instr_index(warp, instr);
    copy.lanes = mask;
    copy.arrives = true;
    copy.counts = !form.no_increment;
    for_lanes(mask, [&](unsigned lane) {
      const Action action{warp, instr, form, lane, block, static_cast<std::uint32_t>(addresses[lane]), 0};
      copy.to[lane] = action.address;
      Mbarrier* barrier = warp.stop == WarpStop::kEnd ? nullptr : find(action);
      if (barrier != nullptr && copy.counts) ++barrier->pending;
    });
    if (warp.stop != WarpStop::kEnd) block.async().issue(warp, std::move(copy));
    return;
  }
  LaneMask waiting = 0, done = 0;
  std::uint64_t waits_for = 0;
  if (form.op == MbarrierOp::kArrive && !form.relaxed && block.checks()) {
    // The lanes that arrive at one mbarrier together release together.
    for_each_address(places, mask, [&](LaneMask together, std::uint64_t place) {
      Block& owner = *owners[first_lane(together)];
      Mbarrier* barrier = owner.async().mbarriers().find(static_cast<std::uint32_t>(place));
      if (barrier == nullptr) return;
      join(barrier->arriving,
           told(block.shared_races().clocks().released(warp, together), block.linear(), owner.linear()));
    });
  }
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const Action action{
        warp, instr, form, lane, *owners[lane], static_cast<std::uint32_t>(addresses[lane]), operand(lane)};
    if (form.op == MbarrierOp::kInit) {
      initialize(action);
      continue;
    }
    Mbarrier* barrier = find(action);
    if (barrier == nullptr) return;
    switch (form.op) {
      case MbarrierOp::kInvalidate:
        block.async().mbarriers().erase(action.address);
        break;
      case MbarrierOp::kExpect:
        add_transactions(action, *barrier, static_cast<std::int64_t>(action.operand));
        break;
      case MbarrierOp::kComplete:
        if (add_transactions(action, *barrier, -static_cast<std::int64_t>(action.operand)))
          settle(action, *barrier);
        break;
      case MbarrierOp::kArrive: {
        lanes<std::uint64_t>(warp, instr.d)[lane] = state_of(*barrier);
        if (form.expects && !add_transactions(action, *barrier, static_cast<std::int64_t>(action.operand)))
          break;
        arrive(action, *barrier, form.expects ? 1 : static_cast<std::uint32_t>(action.operand));
        break;
      }
      default: {
        std::uint64_t phase = 0;
        const bool over = ended(action, *barrier, &phase);
        const LaneMask bit = LaneMask{1} << lane;
        if (!over) {
          waiting |= bit;
          waits_for = phase;
          break;
        }
        done |= bit;
        break;
      }
    }
  }
  if (block.checks() && !form.relaxed) {
    if (form.op == MbarrierOp::kArrive) block.shared_races().clocks().advance(warp.index);
    for_each_address(addresses, done, [&](LaneMask together, std::uint64_t address) {
      const Mbarrier* barrier = block.async().mbarriers().find(static_cast<std::uint32_t>(address));
      block.shared_races().clocks().acquire(warp, together, barrier->ended);
    });
  }
  if (form.op != MbarrierOp::kTest && form.op != MbarrierOp::kTry) return;

  LaneMask& d = warp.predicates[instr.d];
  const LaneMask blocked = form.op == MbarrierOp::kTry ? waiting & ~warp.timed_out : 0;
  warp.timed_out &= ~mask;
  // A try may fail at any time, so that the first one does: who does not try again is found out.
  if (warp.tried_at != instr_index(warp, instr)) warp.tried = 0;
  warp.tried_at = instr_index(warp, instr);
  const bool fails = (blocked & ~warp.tried) != 0 || (block.seeded() && block.next_random() % 4 == 0);
  warp.tried = (warp.tried | blocked) & ~done;
  if (blocked == 0 || fails) {
    d = (d & ~mask) | done;
    if (waiting != 0) warp.polled = true;
    hash_path(warp, done);
    return;
  }
  // The lanes that have to wait do so in front of the instruction.
  const LaneMask going = mask & ~blocked;
  d = (d & ~going) | done;
  for (LaneMask left = blocked; left != 0;) {
    const std::uint32_t address = static_cast<std::uint32_t>(addresses[first_lane(left)]);
    LaneMask alike = 0;
    for_lanes(left, [&](unsigned lane) {
      if (addresses[lane] == address) alike |= LaneMask{1} << lane;
    });
    warp.others.push_back(
        {instr_index(warp, instr), alike, Fragment::State::kWaiting, 0, address, waits_for});
    left &= ~alike;
  }
  warp.active &= ~blocked;
  warp.stop = WarpStop::kReschedule;
  warp.limit = 0;
}

void Async::phase_ended(std::uint32_t barrier) {
  block_.made_progress();
  for (Warp& warp : block_.warps()) {
    for (Fragment& fragment : warp.others) {
      if (fragment.state == Fragment::State::kWaiting && fragment.barrier == barrier) {
        fragment.state = Fragment::State::kReady;
      }
    }
  }
}

std::string Async::describe_wait(std::uint32_t address, std::uint64_t phase) const {
  std::string text = "phase " + std::to_string(phase) + " of the " + name_of_barrier(block_, address);
  const Mbarrier* barrier = mbarriers_.find(address);
  if (barrier == nullptr) return text + ", which is gone";
  text += " (now in phase " + std::to_string(barrier->phase) + ", lacks " + std::to_string(barrier->pending) +
          " of " + std::to_string(barrier->expected) + " arrivals";
  if (barrier->transactions > 0)
    text += " and " + std::to_string(barrier->transactions) + " bytes of transactions";
  if (barrier->transactions < 0) {
    text += ", " + std::to_string(-barrier->transactions) + " bytes more were copied than expected";
  }
  return text + ")";
}

void Async::fire_arrivals(Warp& warp, std::size_t index) {
  WarpState& state = warps_[warp.index];
  const CopyOp arrival = state.copies[index];
  std::array<Who, kLanes> who{};
  std::uint32_t epoch = 1;
  if (block_.checks()) epoch = block_.shared_races().clocks().advance_agent(kCopyAgent + warp.index);
  who.fill(Who::make_async(epoch, kCopyAgent + warp.index));
  for (std::size_t i = 0; i < index; ++i) {
    CopyOp& op = state.copies[i];
    if (!op.arrives) complete(warp, op, op.lanes & arrival.lanes, who);
  }
  state.copies[index].lanes = 0;
  const Instr& instr = warp.code[arrival.instr];
  const MbarrierForm form = decode_mbarrier(instr.imm);
  for_lanes(arrival.lanes, [&](unsigned lane) {
    Mbarrier* barrier = mbarriers_.find(arrival.to[lane]);
    const Action action{warp, instr, form, lane, block_, arrival.to[lane], 0};
    if (barrier == nullptr) return action.broken("invalidated while an asynchronous arrival is pending");
    barrier->arriving.agents[kCopyAgent + warp.index] = epoch;
    arrive(action, *barrier, 1);
  });
  while (!state.copies.empty() && state.copies.front().lanes == 0) state.copies.pop_front();
}

void run_proxy_fence(Warp& warp, const Instr& instr, LaneMask mask) {
  Block& block = *warp.block;
  if (instr.imm & (kFencesShared | kFencesInit)) {
    for (auto& [address, barrier] : block.async().mbarriers()) {
      const bool own = barrier.init.warp() == warp.index && ((mask >> barrier.init.lane()) & 1);
      if (!own) continue;
      barrier.init_fenced = true;
      if ((instr.imm & kFencesInit) != 0 && block.cluster() != nullptr && barrier.init_phase == 0) {
        barrier.init_phase = block.cluster()->next_phase(block, warp, barrier.init.lane());
      }
    }
  }
  if (!block.checks()) return;
  WarpClocks& clocks = block.shared_races().clocks();
  if (instr.imm & kFencesShared) clocks.proxy_fence(warp, mask, FencedSpace::kShared);
  if (instr.imm & kFencesGlobal) clocks.proxy_fence(warp, mask, FencedSpace::kGlobal);
}

}  // namespace moe4::ptx
