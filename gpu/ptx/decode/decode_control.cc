// bra, brx.idx, call, ret, exit, trap, barriers and fences.
#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/decode/async_families.h"
#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void decode_bra(Decoder& decoder, const Statement& s, Modifiers& m) {
  m.take("uni");
  if (!decoder.expect_operands(1)) return;
  decoder.emit(&run_branch, {});
  decoder.roles().flow = Roles::Flow::kBranch;
  decoder.jump_to_label(s.operands[0]);
}

// brx.idx %r, list;  the list is the label of a .branchtargets.
void decode_brx(Decoder& decoder, const Statement& s, Modifiers& m) {
  m.take("uni");
  if (!m.take("idx") || !decoder.expect_operands(2))
    return decoder.unsupported("unsupported form of the instruction");
  if (s.operands[1].kind != OperandKind::kLabel) return decoder.unsupported("unknown list of targets");
  const Ref a = decoder.source(s.operands[0], Type::kB32);
  for (const BranchTargets& list : decoder.expansion().function->branch_targets) {
    if (list.label != s.operands[1].index) continue;
    const auto table = static_cast<std::uint32_t>(decoder.function().branch_lists.size());
    for (std::uint32_t i = 0; i < list.targets.size(); ++i) {
      if (list.targets[i] == kNoIndex || decoder.expansion().function->labels[list.targets[i]] == kNoIndex) {
        return decoder.unsupported("unknown label in a list of targets");
      }
      decoder.expansion().branch_lists.push_back({table, i, list.targets[i]});
    }
    decoder.function().branch_lists.emplace_back(list.targets.size());
    decoder.emit(&run_branch_list, {}, a);
    decoder.function().code.back().aux = table;
    decoder.roles().flow = Roles::Flow::kList;
    return;
  }
  decoder.unsupported("unknown list of targets");
}

void decode_call(Decoder& decoder, const Statement& s, Modifiers& m) {
  m.take("uni");
  decoder.call(s);
}

void decode_ret(Decoder& decoder, const Statement&, Modifiers& m) {
  m.take("uni");
  if (!decoder.expect_operands(0)) return;
  if (decoder.in_entry()) {
    decoder.emit(&run_exit, {});
    decoder.roles().flow = Roles::Flow::kStop;
  } else {
    decoder.emit(&run_branch, {});
    decoder.roles().flow = Roles::Flow::kBranch;
    decoder.jump_to_end();
  }
}

template <Handler kRun>
void decode_stop(Decoder& decoder, const Statement&, Modifiers&) {
  if (!decoder.expect_operands(0)) return;
  decoder.emit(kRun, {});
  decoder.roles().flow = Roles::Flow::kStop;
}

void decode_pmevent(Decoder& decoder, const Statement&, Modifiers& m) {
  m.take("mask");
  decoder.emit(&run_nothing, {});
}

// griddepcontrol: one grid runs at a time, so there is nothing to wait for.
void decode_griddepcontrol(Decoder& decoder, const Statement&, Modifiers& m) {
  m.take_any({"wait", "launch_dependents"});
  decoder.emit(&run_nothing, {});
}

void decode_nanosleep(Decoder& decoder, const Statement& s, Modifiers& m) {
  m.take_type();
  if (decoder.expect_operands(1)) decoder.emit(&run_sleep, {}, decoder.source(s.operands[0], Type::kU32));
}

// bar{.cta}.sync|arrive|red and barrier{.cta}.sync|arrive|red{.aligned}.
void decode_bar(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (m.take("warp")) {
    if (!m.take("sync") || !decoder.expect_operands(1)) {
      return decoder.unsupported("unsupported form of the instruction");
    }
    decoder.emit(&run_warp_barrier, {}, decoder.source(s.operands[0], Type::kB32));
    return;
  }
  if (m.take("cluster")) return decode_cluster_barrier(decoder, m);
  const bool aligned = m.take("aligned") || s.base == "bar";
  m.take("cta");
  BarrierKind kind = BarrierKind::kSync;
  bool red = false;
  if (m.take("arrive")) {
    kind = BarrierKind::kArrive;
  } else if (m.take("red")) {
    red = true;
    if (m.take("popc")) {
      kind = BarrierKind::kRedPopc;
    } else if (m.take("and")) {
      kind = BarrierKind::kRedAnd;
    } else if (m.take("or")) {
      kind = BarrierKind::kRedOr;
    } else {
      return decoder.unsupported("unsupported form of the instruction");
    }
    m.take_type();
  } else if (!m.take("sync")) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  if (!(red ? decoder.expect_operands(3, 4) : decoder.expect_operands(1, 2))) return;
  const std::size_t at = red ? 1 : 0;
  const bool counted = s.operands.size() == (red ? 4u : 2u);
  if (kind == BarrierKind::kArrive && !counted)
    return decoder.unsupported("bar.arrive without a number of threads");
  const Ref a = decoder.source(s.operands[at], Type::kB32);
  const Ref b = counted ? decoder.source(s.operands[at + 1], Type::kB32) : Ref{};
  Ref d, c;
  std::uint64_t imm = static_cast<std::uint64_t>(kind) | (aligned ? 1u << 8 : 0u) | (counted ? 1u << 9 : 0u);
  if (red) {
    d = kind == BarrierKind::kRedPopc ? decoder.destination(s.operands[0], Type::kB32)
                                      : decoder.predicate_destination(s.operands[0]);
    c = decoder.predicate_source(s.operands.back());
    if (s.operands.back().negated) imm |= 1u << 10;
  }
  decoder.emit(&run_barrier, d, a, b, c, imm);
}

// fence.proxy.async{.space}, fence.mbarrier_init.release.cluster.
void decode_proxy_fence(Decoder& decoder, Modifiers& m, bool mbarrier) {
  if (!decoder.expect_operands(0)) return;
  if (mbarrier) {
    if (!m.take("release") || !m.take("cluster"))
      return decoder.unsupported("unsupported form of the instruction");
    decoder.emit(&run_proxy_fence, {}, {}, {}, {}, kFencesInit);
    return;
  }
  if (!m.take("async")) return decoder.unsupported("unsupported form of the instruction");
  const std::string_view space = m.take_one_of({"shared::cta", "shared::cluster", "global"});
  const std::uint64_t fences = space.empty()       ? kFencesShared | kFencesGlobal
                               : space == "global" ? kFencesGlobal
                                                   : kFencesShared;
  decoder.emit(&run_proxy_fence, {}, {}, {}, {}, fences);
}

void decode_fence(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (m.take("proxy")) {
    return m.take("tensormap::generic") ? decode_map_fence(decoder, s, m)
                                        : decode_proxy_fence(decoder, m, false);
  }
  if (m.take("mbarrier_init")) return decode_proxy_fence(decoder, m, true);
  m.take_any({"sc", "acq_rel", "acquire", "release"});
  const std::string_view scope = m.take_one_of({"cta", "gl", "gpu", "sys", "cluster"});
  if (!decoder.expect_operands(0)) return;
  if (scope.empty()) return decoder.unsupported("unsupported form of the instruction");
  decoder.emit(&run_fence, {}, {}, {}, {}, scope == "cta" ? 0 : scope == "cluster" ? 2 : 1);
}

}  // namespace

std::vector<DecoderEntry> control_decoders() {
  return {{"bra", &decode_bra},
          {"brx", &decode_brx},
          {"call", &decode_call},
          {"ret", &decode_ret},
          {"exit", &decode_stop<&run_exit>},
          {"trap", &decode_stop<&run_trap>},
          {"brkpt", &decode_stop<&run_trap>},
          {"pmevent", &decode_pmevent},
          {"griddepcontrol", &decode_griddepcontrol},
          {"nanosleep", &decode_nanosleep},
          {"bar", &decode_bar},
          {"barrier", &decode_bar},
          {"membar", &decode_fence},
          {"fence", &decode_fence}};
}

}  // namespace moe4::ptx
