#include "gpu/ptx/run/taint.h"

#include <bit>
#include <utility>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/handlers.h"
#include "gpu/ptx/tensor/tensor_ops.h"
#include "gpu/ptx/tensor/wgmma.h"

namespace moe4::ptx {
namespace {

struct Located {
  Space space = Space::kGlobal;
  std::uint64_t offset = 0;
  Buffer* buffer = nullptr;
  std::uint64_t block = 0;  // shared memory: whose
};

// Where one address leads; nothing is reported.
Located locate(Block& block, const MemoryOp& op, std::uint64_t address) {
  Located at{op.space, address, nullptr, block.linear()};
  if (op.space == Space::kGeneric) {
    const std::uint64_t window = address & ~(kWindowBytes - 1);
    at.space = window == kSharedWindow  ? Space::kShared
               : window == kLocalWindow ? Space::kLocal
               : window == kParamWindow ? Space::kParam
               : window == kConstWindow ? Space::kConst
                                        : Space::kGlobal;
    if (at.space != Space::kGlobal) at.offset = address & (kWindowBytes - 1);
  }
  if (const std::uint64_t place = at.offset >> kRankShift; at.space == Space::kShared && place != 0) {
    at.offset &= (1u << kRankShift) - 1;
    if (place <= block.run().cluster_blocks) at.block = block.peer(static_cast<unsigned>(place - 1)).linear();
  }
  if (at.space == Space::kGlobal) {
    Run& run = block.run();
    at.buffer = run.memory->near(address);
    if ((address & ~(kWindowBytes - 1)) == kGlobalsWindow) at.buffer = run.globals;
    if (at.buffer != nullptr) at.offset = address - at.buffer->address;
    if (at.buffer != nullptr && at.offset >= at.buffer->bytes) at.buffer = nullptr;
  }
  return at;
}

bool is_select(const Instr& instr) {
  for (const Alu* alu : host_alus()) {
    if (instr.run == alu->select(2) || instr.run == alu->select(4) || instr.run == alu->select(8))
      return true;
  }
  return false;
}

bool mixes_lanes(const Instr& instr) {
  return instr.run == &run_shuffle || instr.run == &run_vote || instr.run == &run_match ||
         instr.run == &run_reduce || instr.run == &run_mma || instr.run == &run_wgmma;
}

}  // namespace

void TaintTracker::start_block(Block& block) {
  BlockState& state = blocks_[block.linear()];
  const Function& function = block.function();
  state.shared.assign(block.run().shared_end, kUnwritten);
  state.warps.resize(block.run().warps);
  for (WarpState& warp : state.warps) {
    warp.registers.assign(function.register_bytes / 64 + 1, Value{});
    for (const Span& span : function.poisoned_registers)
      warp.registers[span.offset / 64] = {kAllLanes, kUnwritten};
    warp.predicates.assign(function.predicates, Value{kAllLanes, kUnwritten});
    warp.predicates[kTruePredicate] = warp.predicates[kFalsePredicate] = Value{};
    warp.local.assign(std::size_t{block.local_stride()} * kLanes, kUnwritten);
  }
}

TaintTracker::Value& TaintTracker::value_of(Warp& warp, std::uint32_t operand, bool predicate) {
  WarpState& state = current_->warps[warp.index];
  return predicate ? state.predicates[operand] : state.registers[operand / 64];
}

void TaintTracker::assign(Value& to, LaneMask mask, const Value& from) {
  const LaneMask tainted = from.lanes & mask;
  to.lanes = (to.lanes & ~mask) | tainted;
  if (tainted != 0) to.origin = from.origin;
}

TaintTracker::Origin TaintTracker::origin_here(Block& block, const Warp& warp, const Instr& instr,
                                               unsigned lane, std::string what) {
  // One a instruction is enough to name it.
  Origin& origin = reads_[instr_index(warp, instr)];
  if (origin == kClean) {
    origin = static_cast<Origin>(origins_.size());
    origins_.push_back({block.place(instr_index(warp, instr), warp.index, lane), std::move(what)});
  }
  return origin;
}

void TaintTracker::settle(Block& block, Warp& warp, const Instr& instr, Value& value) {
  if (value.lanes == 0 || value.origin != kUnwritten) return;
  value.origin = origin_here(block, warp, instr, first_lane(value.lanes), "a register that nothing wrote");
}

TaintTracker::Value TaintTracker::sources(Block& block, Warp& warp, const Instr& instr) {
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  Value result;
  const auto add = [&](std::uint32_t operand, bool predicate, LaneMask only = kAllLanes) {
    if (!predicate && (operand & kConstant)) return;
    Value& value = value_of(warp, operand, predicate);
    if ((value.lanes & only & warp.active) == 0) return;
    settle(block, warp, instr, value);
    result.lanes |= value.lanes & only;
    result.origin = value.origin;
  };
  if (is_select(instr)) {
    const LaneMask choice = warp.predicates[instr.c] ^ static_cast<LaneMask>(instr.imm);
    add(instr.a, false, choice);
    add(instr.b, false, ~choice);
    add(instr.c, true);
    return result;
  }
  const std::pair<std::uint8_t, std::uint32_t> fields[] = {{Roles::kD, instr.d},
                                                           {Roles::kE, instr.e},
                                                           {Roles::kA, instr.a},
                                                           {Roles::kB, instr.b},
                                                           {Roles::kC, instr.c}};
  for (const auto& [bit, operand] : fields) {
    if (roles.reads & bit) add(operand, (roles.predicates & bit) != 0);
  }
  for (std::uint32_t i = 0; i < roles.list_reads; ++i) {
    add(warp.function->lists[roles.list + roles.list_writes + i], false);
  }
  return result;
}

void TaintTracker::matters(Block& block, const Warp& warp, const Instr& instr, unsigned lane, Origin origin,
                           std::string how) {
  if (first_) return;
  const Source& source = origins_[origin];
  Finding finding;
  finding.check = Check::kUninitialized;
  finding.kernel = block.function().info.name;
  finding.message = std::move(how) + " depends on " + source.what;
  finding.place = source.place;
  finding.other = block.place(instr_index(warp, instr), warp.index, lane);
  first_ = std::move(finding);
}

TaintTracker::Origin TaintTracker::read_byte(Block& block, const Warp& warp, const Instr& instr,
                                             const MemoryOp& op, unsigned lane, std::uint64_t address) {
  const Located at = locate(block, op, address);
  Origin origin = kClean;
  std::string where;
  switch (at.space) {
    case Space::kShared: {
      const std::vector<Origin>& shared = blocks_[at.block].shared;
      if (at.offset < shared.size()) origin = shared[at.offset];
      where = "shared memory " + hex(at.offset);
      break;
    }
    case Space::kLocal:
    case Space::kFrame: {
      const std::vector<Origin>& local = current_->warps[warp.index].local;
      const std::uint64_t index = at.offset + std::uint64_t{lane} * block.local_stride();
      if (index < local.size()) origin = local[index];
      where = "local memory " + hex(at.offset);
      break;
    }
    case Space::kGlobal: {
      if (at.buffer == nullptr || at.buffer->kind != Buffer::Kind::kOutput) break;
      const auto stored = global_.find(address);
      if (stored != global_.end()) {
        origin = stored->second.origin;
      } else if (!block.run().memory->exists(*at.buffer, at.offset) ||
                 at.buffer->written.data()[at.offset] == std::byte{0}) {
        origin = kUnwritten;
      }
      where = "buffer '" + at.buffer->name + "' offset " + std::to_string(at.offset);
      break;
    }
    default:
      break;
  }
  if (origin != kUnwritten) return origin;
  return origin_here(block, warp, instr, lane, where + ", which nothing wrote");
}

void TaintTracker::write_byte(Block& block, const Warp& warp, const Instr& instr, const MemoryOp& op,
                              unsigned lane, std::uint64_t address, Origin origin) {
  const Located at = locate(block, op, address);
  switch (at.space) {
    case Space::kShared: {
      std::vector<Origin>& shared = blocks_[at.block].shared;
      if (at.offset < shared.size()) shared[at.offset] = origin;
      break;
    }
    case Space::kLocal:
    case Space::kFrame: {
      std::vector<Origin>& local = current_->warps[warp.index].local;
      const std::uint64_t index = at.offset + std::uint64_t{lane} * block.local_stride();
      if (index < local.size()) local[index] = origin;
      break;
    }
    case Space::kGlobal: {
      if (at.buffer == nullptr) break;
      const bool watched = watched_ && watched_->buffer == at.buffer && watched_->offset == at.offset;
      if (origin == kClean && !watched) {
        if (const auto known = global_.find(address); known != global_.end()) known->second.origin = kClean;
        break;
      }
      Stored& stored = global_[address];
      stored.origin = origin;
      if (watched) stored.place = block.place(instr_index(warp, instr), warp.index, lane);
      break;
    }
    default:
      break;
  }
}

void TaintTracker::load(Block& block, Warp& warp, const Instr& instr, const MemoryOp& op, LaneMask mask) {
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  for (std::uint32_t i = 0; i < op.count && i < roles.list_writes; ++i) {
    Value& to = value_of(warp, warp.function->lists[op.list + i], false);
    to.lanes &= ~mask;
    for_lanes(mask, [&](unsigned lane) {
      for (unsigned byte = 0; byte < op.element_bytes; ++byte) {
        const unsigned at = i * op.element_bytes + byte;
        if (at < 64 && !((op.used_bytes >> at) & 1)) continue;
        const Origin origin = read_byte(block, warp, instr, op, lane, addresses[lane] + at);
        if (origin == kClean) continue;
        to.lanes |= LaneMask{1} << lane;
        to.origin = origin;
      }
    });
  }
}

void TaintTracker::store(Block& block, Warp& warp, const Instr& instr, const MemoryOp& op, LaneMask mask) {
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  const bool atomic = instr.run == &run_atomic;
  for (std::uint32_t i = 0; i < op.count; ++i) {
    const std::uint32_t operand = warp.function->lists[roles.list + roles.list_writes + i];
    Value value;
    if (!(operand & kConstant)) {
      Value& from = value_of(warp, operand, false);
      if (from.lanes & mask) settle(block, warp, instr, from);
      value = from;
    }
    for_lanes(mask, [&](unsigned lane) {
      const bool tainted = (value.lanes >> lane) & 1;
      for (unsigned byte = 0; byte < op.element_bytes; ++byte) {
        const std::uint64_t address = addresses[lane] + i * op.element_bytes + byte;
        Origin origin = tainted ? value.origin : kClean;
        // An atomic operation keeps what it adds to; an exchange does not.
        if (atomic && origin == kClean && op.atomic != AtomicOp::kExch) {
          origin = read_byte(block, warp, instr, op, lane, address);
        }
        write_byte(block, warp, instr, op, lane, address, origin);
      }
    });
  }
}

// ldmatrix, stmatrix: rows and registers are one, whoever holds which element.
void TaintTracker::matrix(Block& block, Warp& warp, const Instr& instr, const MemoryOp& op) {
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  for (std::uint32_t j = 0; j < std::uint32_t{roles.list_writes} + roles.list_reads; ++j) {
    const std::uint32_t operand = warp.function->lists[roles.list + j];
    Value constant;
    Value& value = operand & kConstant ? constant : value_of(warp, operand, false);
    if (roles.list_writes != 0) value.lanes = 0;
    if (value.lanes != 0) settle(block, warp, instr, value);
    for (unsigned byte = 0; byte < 8 * 16; ++byte) {
      const unsigned lane = 8 * j + byte / 16;
      const std::uint64_t address = addresses[lane] + byte % 16;
      if (roles.list_writes == 0) {
        write_byte(block, warp, instr, op, lane, address, value.lanes != 0 ? value.origin : kClean);
      } else if (const Origin origin = read_byte(block, warp, instr, op, lane, address); origin != kClean) {
        value.lanes = kAllLanes;
        value.origin = origin;
      }
    }
  }
}

// wgmma: registers that it reads, and its matrices in shared memory as they are when it is issued.
TaintTracker::Value TaintTracker::product(Block& block, Warp& warp, const Instr& instr) {
  const WgmmaForm form = decode_wgmma(instr.imm);
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  const LaneMask scale = warp.predicates[instr.c] ^ (form.scale_negated ? kAllLanes : 0u);
  Value result;
  const auto add = [&](std::uint32_t operand) {
    if (operand & kConstant) return;
    Value& value = value_of(warp, operand, false);
    if (value.lanes == 0 || result.origin != kClean) return;
    settle(block, warp, instr, value);
    result = {kAllLanes, value.origin};
  };
  for (std::uint32_t i = scale != 0 ? 0 : roles.list_writes; i < roles.list_reads; ++i) {
    add(warp.function->lists[roles.list + roles.list_writes + i]);
  }
  if (!form.a_in_registers) add(instr.a);
  add(instr.b);
  const auto chunk = [&](std::uint32_t address, std::uint32_t, std::uint32_t) {
    for (std::uint32_t i = address; i < address + 16 && i < current_->shared.size(); ++i) {
      if (current_->shared[i] == kClean || result.origin != kClean) continue;
      Origin origin = current_->shared[i];
      if (origin == kUnwritten) {
        origin = origin_here(block, warp, instr, 0, "shared memory " + hex(i) + ", which nothing wrote");
      }
      result = {kAllLanes, origin};
    }
  };
  for_chunks(decode_descriptor(lanes<std::uint64_t>(warp, instr.b)[0]), form.b_mn_major, 0, form.columns,
             chunk);
  if (!form.a_in_registers) {
    for_chunks(decode_descriptor(lanes<std::uint64_t>(warp, instr.a)[0]), form.a_mn_major,
               kWarpRows * (warp.index % 4), kWarpRows, chunk);
  }
  return result;
}

void TaintTracker::before(Block& block, Warp& warp, const Instr& instr, LaneMask mask) {
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  Value& guard = value_of(warp, instr.guard, true);
  const LaneMask doubtful = guard.lanes & warp.active;
  if (doubtful != 0) settle(block, warp, instr, guard);
  const bool matrix = instr.run == &run_load_matrix || instr.run == &run_store_matrix;
  const bool memory = matrix || instr.run == &run_load || instr.run == &run_store || instr.run == &run_atomic;
  if (doubtful != 0 && (roles.flow != Roles::Flow::kNext || memory)) {
    matters(block, warp, instr, first_lane(doubtful), guard.origin,
            memory ? "whether a memory access happens" : "a branch");
  }
  if (mask == 0 && doubtful == 0) return;
  if (memory) {
    const MemoryOp& op = warp.function->memory_ops[instr.aux];
    if (op.register_address && !(instr.a & kConstant)) {
      Value& address = value_of(warp, instr.a, false);
      if (const LaneMask bad = address.lanes & mask) {
        settle(block, warp, instr, address);
        matters(block, warp, instr, first_lane(bad), address.origin, "an address");
      }
    }
    if (matrix) return this->matrix(block, warp, instr, op);
    // The result of an atomic operation is what was there before.
    if (instr.run != &run_store) load(block, warp, instr, op, mask);
    if (instr.run != &run_load) store(block, warp, instr, op, mask);
    return;
  }
  Value value = instr.run == &run_wgmma ? product(block, warp, instr) : sources(block, warp, instr);
  if (roles.flow == Roles::Flow::kList && (value.lanes & mask)) {
    matters(block, warp, instr, first_lane(value.lanes & mask), value.origin, "a branch");
  }
  if (mixes_lanes(instr) && (value.lanes & mask)) value.lanes = kAllLanes;
  if (doubtful != 0) {
    value.lanes |= doubtful;
    if (value.origin == kClean) value.origin = guard.origin;
  }
  const LaneMask written = mask | doubtful;
  const std::pair<std::uint8_t, std::uint32_t> fields[] = {{Roles::kD, instr.d},
                                                           {Roles::kE, instr.e},
                                                           {Roles::kA, instr.a},
                                                           {Roles::kB, instr.b},
                                                           {Roles::kC, instr.c}};
  for (const auto& [bit, operand] : fields) {
    if (roles.writes & bit) assign(value_of(warp, operand, (roles.predicates & bit) != 0), written, value);
  }
  for (std::uint32_t i = 0; i < roles.list_writes; ++i) {
    assign(value_of(warp, warp.function->lists[roles.list + i], false), written, value);
  }
}

void TaintTracker::copied(Block& block, std::uint32_t to, const Buffer* buffer, std::uint64_t offset,
                          std::uint32_t copied, std::uint32_t bytes) {
  std::vector<Origin>& shared = blocks_[block.linear()].shared;
  for (std::uint32_t i = 0; i < bytes && to + i < shared.size(); ++i) {
    shared[to + i] = kClean;
    if (i >= copied || buffer->kind != Buffer::Kind::kOutput) continue;
    const auto known = global_.find(buffer->address + offset + i);
    if (known != global_.end()) {
      shared[to + i] = known->second.origin;
    } else if (!block.run().memory->exists(*buffer, offset + i) ||
               buffer->written.data()[offset + i] == std::byte{0}) {
      shared[to + i] = kUnwritten;
    }
  }
}

void TaintTracker::stored(Block& block, std::uint32_t from, const Buffer& buffer, std::uint64_t offset,
                          std::uint32_t bytes, const Place& place) {
  const std::vector<Origin>& shared = blocks_[block.linear()].shared;
  Origin here = kClean;
  for (std::uint32_t i = 0; i < bytes && from + i < shared.size(); ++i) {
    Origin origin = shared[from + i];
    if (origin == kUnwritten) {
      if (here == kClean) {
        here = static_cast<Origin>(origins_.size());
        origins_.push_back({place, "shared memory " + hex(from + i) + ", which nothing wrote"});
      }
      origin = here;
    }
    const bool watched = watched_ && watched_->buffer == &buffer && watched_->offset == offset + i;
    if (origin == kClean && !watched) {
      global_.erase(buffer.address + offset + i);
    } else {
      global_[buffer.address + offset + i] = {origin, place};
    }
  }
}

void TaintTracker::moved(Block& block, std::uint32_t to, Block* source, std::uint32_t from,
                         std::uint32_t bytes) {
  std::vector<Origin>& shared = blocks_[block.linear()].shared;
  for (std::uint32_t i = 0; i < bytes && to + i < shared.size(); ++i) {
    shared[to + i] = source == nullptr ? kClean : blocks_[source->linear()].shared[from + i];
  }
}

void note_moved(Block& block, std::uint32_t to, Block* source, std::uint32_t from, std::uint32_t bytes) {
  block.run().taint->moved(block, to, source, from, bytes);
}

void note_copied(Block& block, std::uint32_t to, const Buffer* buffer, std::uint64_t offset,
                 std::uint32_t copied, std::uint32_t bytes) {
  block.run().taint->copied(block, to, buffer, offset, copied, bytes);
}

void note_stored(Block& block, std::uint32_t from, const Buffer& buffer, std::uint64_t offset,
                 std::uint32_t bytes, const BulkCopy& copy) {
  block.run().taint->stored(block, from, buffer, offset, bytes,
                            block.place(copy.instr, copy.warp, copy.lane));
}

void TaintTracker::execute(Block& block, Warp& warp, std::uint64_t& fuel, std::uint64_t* instructions) {
  current_ = &blocks_[block.linear()];
  while (warp.pc < warp.limit && fuel != 0) {
    const Instr& instr = warp.code[warp.pc++];
    --fuel;
    ++*instructions;
    const LaneMask mask = warp.active & (warp.predicates[instr.guard] ^ instr.guard_flip);
    before(block, warp, instr, mask);
    if (mask != 0) instr.run(warp, instr, mask);
  }
}

std::optional<Finding> TaintTracker::finding() const {
  if (!watched_) return first_;
  const auto stored = global_.find(watched_->buffer->address + watched_->offset);
  if (stored == global_.end() || stored->second.origin == kClean) return first_;
  const Source& source = origins_[stored->second.origin];
  Finding finding;
  finding.check = Check::kUninitialized;
  finding.message = "the value of buffer '" + watched_->buffer->name + "' offset " +
                    std::to_string(watched_->offset) + " depends on " + source.what;
  finding.place = source.place;
  finding.other = stored->second.place;
  return finding;
}

}  // namespace moe4::ptx
