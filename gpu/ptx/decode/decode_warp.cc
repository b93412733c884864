// shfl, vote, match, redux, activemask, elect: what the lanes of a warp tell each other.
#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

bool expect_sync(Decoder& decoder, Modifiers& m) {
  if (m.take("sync")) return true;
  decoder.unsupported("the form without .sync was removed from PTX");
  return false;
}

// shfl.sync.mode.b32 d{|p}, a, b, c, mask;
void decode_shfl(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (!expect_sync(decoder, m)) return;
  const std::string_view mode = m.take_one_of({"up", "down", "bfly", "idx"});
  if (m.take_type() != Type::kB32 || mode.empty())
    return decoder.unsupported("unsupported form of the instruction");
  if (!decoder.expect_operands(5)) return;
  Ref sources[4];
  for (std::size_t i = 0; i < 4; ++i) sources[i] = decoder.source(s.operands[i + 1], Type::kB32);
  const ShuffleMode kind = mode == "up"     ? ShuffleMode::kUp
                           : mode == "down" ? ShuffleMode::kDown
                           : mode == "bfly" ? ShuffleMode::kButterfly
                                            : ShuffleMode::kIndex;
  const Ref p = decoder.paired_destination(s.operands[0]);
  decoder.emit(&run_shuffle, decoder.destination(s.operands[0], Type::kB32), sources[0], sources[1],
               sources[2], static_cast<std::uint64_t>(kind));
  if (p.given()) decoder.write_e(p);
  decoder.function().code.back().aux = decoder.set_list({}, {sources[3]});
}

// vote.sync.mode d, {!}p, mask;
void decode_vote(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (!expect_sync(decoder, m)) return;
  const std::string_view mode = m.take_one_of({"all", "any", "uni", "ballot"});
  const Type type = m.take_type();
  if (mode.empty() || !decoder.expect_operands(3))
    return decoder.unsupported("unsupported form of the instruction");
  const VoteMode kind = mode == "all"   ? VoteMode::kAll
                        : mode == "any" ? VoteMode::kAny
                        : mode == "uni" ? VoteMode::kUni
                                        : VoteMode::kBallot;
  const bool ballot = kind == VoteMode::kBallot;
  if (type != (ballot ? Type::kB32 : Type::kPred))
    return decoder.unsupported("unsupported form of the instruction");
  const Ref mask = decoder.source(s.operands[2], Type::kB32);
  const Ref c = decoder.predicate_source(s.operands[1]);
  const Ref d =
      ballot ? decoder.destination(s.operands[0], Type::kB32) : decoder.predicate_destination(s.operands[0]);
  decoder.emit(&run_vote, d, mask, {}, c,
               static_cast<std::uint64_t>(kind) | (s.operands[1].negated ? 256u : 0u));
}

// match.any.sync.type d, a, mask;  match.all.sync.type d{|p}, a, mask;
void decode_match(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (!expect_sync(decoder, m)) return;
  const bool all = m.take("all");
  if (!all && !m.take("any")) return decoder.unsupported("unsupported form of the instruction");
  const Type type = m.take_type();
  if (bytes_of(type) < 4 || bytes_of(type) > 8 || !decoder.expect_operands(3)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  const Ref a = decoder.source(s.operands[1], type), mask = decoder.source(s.operands[2], Type::kB32);
  const Ref p = decoder.paired_destination(s.operands[0]);
  decoder.emit(&run_match, decoder.destination(s.operands[0], Type::kB32), a, mask, {},
               static_cast<std::uint64_t>(all ? MatchMode::kAll : MatchMode::kAny) | (bytes_of(type) << 8));
  if (p.given()) decoder.write_e(p);
}

// redux.sync.op.type d, a, mask;
void decode_redux(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (!expect_sync(decoder, m)) return;
  const std::string_view op = m.take_one_of({"add", "min", "max", "and", "or", "xor"});
  const Type type = m.take_type();
  if (op.empty() || !is_integer(type) || bytes_of(type) != 4 || !decoder.expect_operands(3)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  const ReduceMode mode = op == "add"   ? ReduceMode::kAdd
                          : op == "min" ? ReduceMode::kMin
                          : op == "max" ? ReduceMode::kMax
                          : op == "and" ? ReduceMode::kAnd
                          : op == "or"  ? ReduceMode::kOr
                                        : ReduceMode::kXor;
  const Ref a = decoder.source(s.operands[1], type), mask = decoder.source(s.operands[2], Type::kB32);
  decoder.emit(&run_reduce, decoder.destination(s.operands[0], type), a, mask, {},
               static_cast<std::uint64_t>(mode) | (is_signed(type) ? 256u : 0u));
}

void decode_activemask(Decoder& decoder, const Statement& s, Modifiers& m) {
  m.take_type();
  if (decoder.expect_operands(1))
    decoder.emit(&run_activemask, decoder.destination(s.operands[0], Type::kB32));
}

// elect.sync d|p, mask;
void decode_elect(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (!expect_sync(decoder, m) || !decoder.expect_operands(2)) return;
  const Ref mask = decoder.source(s.operands[1], Type::kB32);
  const Ref p = decoder.paired_destination(s.operands[0]);
  decoder.emit(&run_elect, decoder.destination(s.operands[0], Type::kB32), mask);
  if (p.given()) decoder.write_e(p);
}

}  // namespace

std::vector<DecoderEntry> warp_decoders() {
  return {{"shfl", &decode_shfl},
          {"vote", &decode_vote},
          {"match", &decode_match},
          {"redux", &decode_redux},
          {"activemask", &decode_activemask},
          {"elect", &decode_elect}};
}

}  // namespace moe4::ptx
