#include "gpu/ptx/async/async.h"

#include <algorithm>

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

void Async::start() {
  warps_.assign(block_.run().warps, WarpState{});
  for (WarpState& state : warps_) state.held.slots.resize(block_.function().held_registers);
  sequences_.assign(block_.run().warps / 4 + 1, {});
  bulk_.clear();
  mbarriers_.clear();
  map_fences_.start();
}

std::optional<Async::Pending> Async::find(std::uint32_t address, bool writes_only) const {
  const auto holds = [address](std::uint32_t begin, std::uint32_t bytes) {
    return address >= begin && address - begin < bytes;
  };
  for (unsigned w = 0; w < warps_.size(); ++w) {
    for (const CopyOp& op : warps_[w].copies) {
      for (unsigned lane = 0; lane < kLanes && !op.arrives; ++lane) {
        if (((op.lanes >> lane) & 1) && holds(op.to[lane], op.bytes)) {
          return Pending{op.instr, w, lane, "copy (cp.async)", block_.rank()};
        }
      }
    }
  }
  for (unsigned w = 0; w < warps_.size() && !writes_only; ++w) {
    for (const MatrixOp& op : warps_[w].matrices) {
      const WgmmaForm form = decode_wgmma(block_.warps()[w].code[op.instr].imm);
      bool found = false;
      const auto look = [&](std::uint32_t at, std::uint32_t, std::uint32_t) {
        found = found || holds(at, 16);
      };
      for_chunks(decode_descriptor(op.b), form.b_mn_major, 0, form.columns, look);
      if (!form.a_in_registers) {
        for_chunks(decode_descriptor(op.a), form.a_mn_major, kWarpRows * (w % 4), kWarpRows, look);
      }
      if (found) return Pending{op.instr, w, 0, "read (wgmma)", block_.rank()};
    }
  }
  for (const BulkCopy& copy : bulk_) {
    if (copy.read || (writes_only && !copy.load) || !holds(copy.shared, copy.bytes)) continue;
    const char* what = !copy.load                                ? "read (bulk store)"
                       : copy.from == BulkCopy::From::kRegisters ? "store (st.async)"
                                                                 : "copy (bulk load)";
    return Pending{copy.instr, copy.warp, copy.lane, what, copy.issuer};
  }
  // Copies that other blocks of the cluster keep read this block's memory.
  for (unsigned rank = 0; rank < block_.run().cluster_blocks && !writes_only; ++rank) {
    for (const BulkCopy& copy : block_.peer(rank).async().bulk_) {
      if (copy.from != BulkCopy::From::kShared || copy.issuer != block_.rank()) continue;
      if (!holds(copy.from_shared, copy.bytes)) continue;
      return Pending{copy.instr, copy.warp, copy.lane, "read (bulk copy to another block)", copy.issuer};
    }
  }
  return std::nullopt;
}

bool Async::land_one(bool only_awaited) {
  // First what somebody waits for, then the oldest.
  struct Choice {
    bool bulk = false;
    unsigned warp = 0;
    std::size_t index = 0;
  };
  std::vector<Choice> awaited, others;
  const auto is_awaited = [&](std::uint32_t barrier) {
    for (const Warp& warp : block_.warps()) {
      for (const Fragment& fragment : warp.others) {
        if (fragment.state == Fragment::State::kWaiting && fragment.barrier == barrier) return true;
      }
    }
    return false;
  };
  for (std::size_t i = 0; i < bulk_.size(); ++i) {
    if (!bulk_[i].load) continue;
    (is_awaited(bulk_[i].barrier) ? awaited : others).push_back({true, 0, i});
  }
  for (unsigned w = 0; w < warps_.size(); ++w) {
    for (std::size_t i = 0; i < warps_[w].copies.size(); ++i) {
      const CopyOp& op = warps_[w].copies[i];
      if (!op.arrives) continue;
      bool wanted = false;
      for (unsigned lane = 0; lane < kLanes && !wanted; ++lane) {
        wanted = ((op.lanes >> lane) & 1) && is_awaited(op.to[lane]);
      }
      (wanted ? awaited : others).push_back({false, w, i});
    }
  }
  const std::vector<Choice>& from = awaited.empty() && !only_awaited ? others : awaited;
  if (from.empty()) return false;
  const Choice chosen = from[block_.seeded() ? block_.next_random() % from.size() : 0];
  block_.made_progress();
  if (chosen.bulk) {
    BulkCopy copy = std::move(bulk_[chosen.index]);
    bulk_.erase(bulk_.begin() + static_cast<std::ptrdiff_t>(chosen.index));
    complete(copy);
  } else {
    fire_arrivals(block_.warps()[chosen.warp], chosen.index);
  }
  return true;
}

void Async::land_any() {
  if (!bulk_.empty()) {
    const std::size_t i = block_.next_random() % bulk_.size();
    BulkCopy& copy = bulk_[i];
    if (!copy.landed) land(copy);
    if (copy.load && block_.next_random() % 2 == 0) {
      BulkCopy done = std::move(copy);
      bulk_.erase(bulk_.begin() + static_cast<std::ptrdiff_t>(i));
      complete(done);
      return;
    }
  }
  const std::size_t w = block_.next_random() % warps_.size();
  if (warps_[w].copies.empty()) return;
  CopyOp& op = warps_[w].copies[block_.next_random() % warps_[w].copies.size()];
  if (op.arrives) return;
  land(op, op.lanes & ~op.landed);
  op.landed = op.lanes;
}

void Async::finish() {
  for (unsigned w = 0; w < warps_.size(); ++w) {
    Warp& warp = block_.warps()[w];
    for (CopyOp& op : warps_[w].copies) {
      if (op.lanes == 0) continue;
      // What nobody reads does no harm, and kernels that are in use leave such copies behind.
      Finding* finding = block_.checks()
                             ? block_.report(Check::kAsyncPending, warp, op.instr,
                                             static_cast<unsigned>(std::countr_zero(op.lanes)),
                                             "the block ends while an asynchronous copy (cp.async) "
                                             "is pending that no thread has waited for")
                             : nullptr;
      if (finding != nullptr) finding->formal = true;
      if (!op.arrives) land(op, op.lanes & ~op.landed);
    }
    warps_[w].copies.clear();
  }
  for (unsigned w = 0; w < warps_.size(); ++w) {
    WarpState& state = warps_[w];
    Warp& warp = block_.warps()[w];
    if (!state.matrices.empty() && block_.checks()) {
      block_.report(Check::kAsyncPending, warp, state.matrices.front().instr, 0,
                    "the block ends while a wgmma is pending that its warp has not waited for");
    }
    const std::size_t issued = sequences_[w / 4].size();
    if (block_.checks() && state.matrices_issued != issued && w / 4 * 4 + 3 < warps_.size()) {
      block_.report(Check::kWgmma, warp, sequences_[w / 4][state.matrices_issued].instr, 0,
                    "a warp of the warpgroup does not execute a wgmma that others execute");
    }
    state.matrices.clear();
  }
  for (BulkCopy& copy : bulk_) {
    // A store that has read its source ends with the kernel, and needs no more of the block.
    Block& issuer = block_.peer(copy.issuer);
    if (block_.checks() && !copy.read) {
      issuer.report(Check::kAsyncPending, issuer.warps()[copy.warp], copy.instr, copy.lane,
                    copy.load
                        ? "the block ends while a bulk load into its shared memory is pending that no "
                          "thread has waited for"
                        : "the block ends while a bulk store still reads its shared memory: no thread has "
                          "waited for it");
    }
    if (!copy.landed) land(copy);
    if (copy.from == BulkCopy::From::kShared && block_.checks()) {
      issuer.shared_races().end_read(copy.from_shared, copy.bytes);
    }
    if (!copy.load && block_.checks()) {
      const std::uint32_t epoch = block_.shared_races().clocks().epoch(copy.warp);
      complete_global(copy, Who::make(epoch, copy.reduces, copy.warp, copy.lane));
    }
  }
  bulk_.clear();
}

}  // namespace moe4::ptx
