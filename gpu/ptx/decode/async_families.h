// Decoders of asynchronous instructions that lie in files of their own.
#pragma once

#include "gpu/ptx/decode/decoder.h"

namespace moe4::ptx {

void decode_cluster_barrier(Decoder& decoder, Modifiers& m);
void decode_store_async(Decoder& decoder, const Statement& s, Modifiers& m);
void decode_map_fence(Decoder& decoder, const Statement& s, Modifiers& m);
void decode_mbarrier(Decoder& decoder, const Statement& s, Modifiers& m);
// cp.async.mbarrier.arrive, its first three words taken but for "arrive".
void decode_copy_arrive(Decoder& decoder, const Statement& s, Modifiers& m);

}  // namespace moe4::ptx
