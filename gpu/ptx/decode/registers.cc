#include "gpu/ptx/decode/registers.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "gpu/ptx/tensor/wgmma.h"

namespace moe4::ptx {
namespace {

using Bits = std::vector<std::uint64_t>;

struct Block {
  std::uint32_t begin = 0, end = 0;
  std::vector<std::uint32_t> successors;  // blocks
  Bits use, kill, in;
};

struct Interval {
  std::uint32_t first = kNoIndex, last = 0;
  void cover(std::uint32_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

bool test(const Bits& bits, std::uint32_t i) { return (bits[i / 64] >> (i % 64)) & 1; }
void set(Bits& bits, std::uint32_t i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }

// Calls visit(virtual register, written) for the vector registers of an instruction, reads first.
template <class Visit>
void for_operands(const Function& function, std::uint32_t at, const Visit& visit) {
  const Instr& instr = function.code[at];
  const Roles& roles = function.roles[at];
  const std::pair<std::uint8_t, std::uint32_t> fields[] = {{Roles::kD, instr.d},
                                                           {Roles::kE, instr.e},
                                                           {Roles::kA, instr.a},
                                                           {Roles::kB, instr.b},
                                                           {Roles::kC, instr.c}};
  const auto is_register = [](std::uint32_t value) { return (value & kConstant) == 0; };
  for (const auto& [bit, value] : fields) {
    if ((roles.reads & bit) && !(roles.predicates & bit) && is_register(value)) visit(value, false);
  }
  for (std::uint32_t i = 0; i < roles.list_reads; ++i) {
    const std::uint32_t value = function.lists[roles.list + roles.list_writes + i];
    if (is_register(value)) visit(value, false);
  }
  for (const auto& [bit, value] : fields) {
    if ((roles.writes & bit) && !(roles.predicates & bit)) visit(value, true);
  }
  for (std::uint32_t i = 0; i < roles.list_writes; ++i) visit(function.lists[roles.list + i], true);
}

std::vector<Block> find_blocks(const Function& function) {
  const auto count = static_cast<std::uint32_t>(function.code.size());
  std::vector<bool> leader(count + 1, false);
  leader[0] = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (function.roles[i].flow == Roles::Flow::kNext) continue;
    leader[i + 1] = true;
    if (function.roles[i].flow == Roles::Flow::kBranch) leader[function.code[i].imm] = true;
    if (function.roles[i].flow == Roles::Flow::kList) {
      for (const std::uint32_t target : function.branch_lists[function.code[i].aux]) leader[target] = true;
    }
  }
  std::vector<Block> blocks;
  std::vector<std::uint32_t> block_of(count + 1, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (leader[i]) blocks.push_back({i, i, {}, {}, {}, {}});
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
    blocks.back().end = i + 1;
  }
  for (Block& block : blocks) {
    const std::uint32_t last = block.end - 1;
    const Instr& instr = function.code[last];
    const Roles::Flow flow = function.roles[last].flow;
    if (flow == Roles::Flow::kBranch) block.successors.push_back(block_of[instr.imm]);
    if (flow == Roles::Flow::kList) {
      for (const std::uint32_t target : function.branch_lists[instr.aux]) {
        block.successors.push_back(block_of[target]);
      }
    }
    const bool falls = flow == Roles::Flow::kNext || instr.guard != kTruePredicate || instr.guard_flip != 0;
    if (falls && block.end < count) block.successors.push_back(block_of[block.end]);
  }
  return blocks;
}

// False: not settled after as many passes as code that a compiler made never needs.
bool solve(std::vector<Block>& blocks) {
  constexpr int kMaxPasses = 100;
  bool changed = true;
  for (int pass = 0; changed; ++pass) {
    if (pass == kMaxPasses) return false;
    changed = false;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      for (std::size_t w = 0; w < block->in.size(); ++w) {
        std::uint64_t out = 0;
        for (const std::uint32_t next : block->successors) out |= blocks[next].in[w];
        const std::uint64_t in = block->use[w] | (out & ~block->kill[w]);
        changed |= in != block->in[w];
        block->in[w] = in;
      }
    }
  }
  return true;
}

// Where each register must keep its place, in instruction numbers; entry-live registers are returned.
std::vector<std::uint32_t> find_intervals(const Function& function, std::vector<Interval>* intervals) {
  std::vector<Block> blocks = find_blocks(function);
  // Registers that some block reads before it writes them: the only ones that cross blocks.
  std::vector<std::uint32_t> number(intervals->size(), kNoIndex);
  std::vector<std::uint32_t> crossing;
  std::vector<std::uint32_t> written_in(intervals->size(), kNoIndex);
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const bool guarded = function.code[i].guard != kTruePredicate;
      for_operands(function, i, [&](std::uint32_t reg, bool write) {
        (*intervals)[reg].cover(i);
        // A guarded write keeps the old value of some lanes: it doesn't end a life.
        if (write && !guarded) written_in[reg] = b;
        if (!write && written_in[reg] != b && number[reg] == kNoIndex) {
          number[reg] = static_cast<std::uint32_t>(crossing.size());
          crossing.push_back(reg);
        }
      });
    }
  }
  constexpr std::uint64_t kMaxBits = std::uint64_t{1} << 31;
  const std::size_t words = (crossing.size() + 63) / 64;
  const auto everywhere = [&] {
    for (const std::uint32_t reg : crossing) {
      (*intervals)[reg].cover(0);
      (*intervals)[reg].cover(static_cast<std::uint32_t>(function.code.size()));
    }
    return crossing;
  };
  if (words * 64 * blocks.size() * 3 > kMaxBits) return everywhere();
  for (Block& block : blocks) {
    block.use.assign(words, 0);
    block.kill.assign(words, 0);
    block.in.assign(words, 0);
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      const bool guarded = function.code[i].guard != kTruePredicate;
      for_operands(function, i, [&](std::uint32_t reg, bool write) {
        const std::uint32_t n = number[reg];
        if (n == kNoIndex) return;
        if (!write && !test(block.kill, n)) set(block.use, n);
        if (write && !guarded) set(block.kill, n);
      });
    }
  }
  if (!solve(blocks)) return everywhere();
  std::vector<std::uint32_t> at_entry;
  for (std::uint32_t n = 0; n < crossing.size(); ++n) {
    Interval& interval = (*intervals)[crossing[n]];
    if (!blocks.empty() && test(blocks[0].in, n)) at_entry.push_back(crossing[n]);
    for (const Block& block : blocks) {
      if (test(block.in, n)) interval.cover(block.begin);
      for (const std::uint32_t next : block.successors) {
        if (test(blocks[next].in, n)) interval.cover(block.end - 1);
      }
    }
  }
  return at_entry;
}

// Calls visit(from, to) for every branch.
template <class Visit>
void for_branches(const Function& function, const Visit& visit) {
  for (std::uint32_t i = 0; i < function.code.size(); ++i) {
    const Roles::Flow flow = function.roles[i].flow;
    if (flow == Roles::Flow::kBranch) visit(i, static_cast<std::uint32_t>(function.code[i].imm));
    if (flow != Roles::Flow::kList) continue;
    for (const std::uint32_t target : function.branch_lists[function.code[i].aux]) visit(i, target);
  }
}

// The region and all loops that reach into it.
void cover_loops(const Function& function, Interval* region) {
  bool grown = true;
  while (grown) {
    const Interval before = *region;
    for_branches(function, [&](std::uint32_t from, std::uint32_t to) {
      if (to > from || to > region->last || from < region->first) return;
      region->cover(to);
      region->cover(from);
    });
    grown = region->first != before.first || region->last != before.last;
  }
}

// Registers that wgmma uses keep their places from the first wgmma to the last wait, since they are read and
// written when the wait comes; and in the loops around, where a wgmma may be under way from one turn to the
// next.
std::vector<std::uint32_t> find_held(Function& function, std::vector<Interval>* intervals) {
  Interval region;
  std::vector<bool> seen(intervals->size(), false);
  std::vector<std::uint32_t> held;
  for (std::uint32_t i = 0; i < function.code.size(); ++i) {
    const Instr& instr = function.code[i];
    if (instr.run == &run_wgmma_wait) region.cover(i);
    if (instr.run != &run_wgmma) continue;
    region.cover(i);
    const Roles& roles = function.roles[i];
    for (std::uint32_t k = 0; k < std::uint32_t{roles.list_writes} + roles.list_reads; ++k) {
      const std::uint32_t reg = function.lists[roles.list + k];
      if ((reg & kConstant) != 0 || seen[reg]) continue;
      seen[reg] = true;
      held.push_back(reg);
    }
  }
  if (held.empty()) return held;
  cover_loops(function, &region);
  for (const std::uint32_t reg : held) {
    (*intervals)[reg].cover(region.first);
    (*intervals)[reg].cover(region.last);
  }
  function.touches_held.assign(function.code.size(), false);
  for (std::uint32_t i = 0; i < function.code.size(); ++i) {
    if (function.code[i].run == &run_wgmma) continue;
    for_operands(function, i, [&](std::uint32_t reg, bool) {
      if (seen[reg]) function.touches_held[i] = true;
    });
  }
  return held;
}

}  // namespace

bool place_registers(const std::vector<VirtualRegister>& registers, Function* function) {
  const auto count = static_cast<std::uint32_t>(registers.size());
  std::vector<Interval> intervals(count);
  const std::vector<std::uint32_t> at_entry = find_intervals(*function, &intervals);
  const std::vector<std::uint32_t> held = find_held(*function, &intervals);

  std::vector<std::uint32_t> order;
  for (std::uint32_t r = 0; r < count; ++r) {
    if (registers[r].bytes != 0 && intervals[r].first != kNoIndex) order.push_back(r);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(intervals[a].first, a) < std::pair(intervals[b].first, b);
  });
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 22;
  constexpr std::uint32_t kMaxPredicates = 1u << 16;
  std::vector<std::uint32_t> place(count, 0);
  std::vector<std::uint32_t> free_places[17];
  using Busy = std::pair<std::uint32_t, std::uint32_t>;  // last use, register
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::uint64_t top = 0;
  for (const std::uint32_t r : order) {
    while (!busy.empty() && busy.top().first < intervals[r].first) {
      const std::uint32_t done = busy.top().second;
      free_places[registers[done].bytes].push_back(place[done]);
      busy.pop();
    }
    std::vector<std::uint32_t>& available = free_places[registers[r].bytes];
    if (!available.empty()) {
      place[r] = available.back();
      available.pop_back();
    } else {
      top = (top + 63) / 64 * 64;
      place[r] = static_cast<std::uint32_t>(top);
      top += std::uint64_t{registers[r].bytes} * kLanes;
      if (top > kMaxBytes) return false;
    }
    busy.emplace(intervals[r].last, r);
  }
  function->held_registers = static_cast<std::uint32_t>(held.size());
  if (!held.empty()) function->held_slots.assign(top / 64 + 1, 0);
  for (std::uint32_t i = 0; i < held.size(); ++i) function->held_slots[place[held[i]] / 64] = i + 1;
  function->register_bytes = static_cast<std::uint32_t>((top + 63) / 64 * 64);
  for (const std::uint32_t r : at_entry) {
    function->poisoned_registers.push_back({place[r], registers[r].bytes * kLanes});
  }
  // Predicates are small: each keeps its own.
  std::uint32_t predicates = 0;
  for (std::uint32_t r = 0; r < count; ++r) {
    if (registers[r].bytes == 0) place[r] = predicates++;
  }
  if (predicates > kMaxPredicates) return false;
  function->predicates = predicates;

  const auto rewrite = [&](std::uint32_t* value) {
    if ((*value & kConstant) == 0) *value = place[*value];
  };
  for (std::size_t i = 0; i < function->code.size(); ++i) {
    Instr& instr = function->code[i];
    const Roles& roles = function->roles[i];
    const std::uint8_t used = roles.reads | roles.writes;
    if (used & Roles::kD) rewrite(&instr.d);
    if (used & Roles::kE) rewrite(&instr.e);
    if (used & Roles::kA) rewrite(&instr.a);
    if (used & Roles::kB) rewrite(&instr.b);
    if (used & Roles::kC) rewrite(&instr.c);
    rewrite(&instr.guard);
    for (std::uint32_t k = 0; k < std::uint32_t{roles.list_writes} + roles.list_reads; ++k) {
      rewrite(&function->lists[roles.list + k]);
    }
  }
  return true;
}

}  // namespace moe4::ptx
