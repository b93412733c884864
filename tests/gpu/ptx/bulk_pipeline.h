// A producer and a consumer warp with bulk copies and mbarriers between them, right as it stands.
#pragma once

#include <string>

#include "tests/gpu/ptx/ptx_kernel.h"

namespace moe4::ptx::test {

// Warp 0 produces, warp 1 consumes: two stages of 128 bytes, six rounds.
inline std::string pipeline_text() {
  return kernel(".param .u64 in, .param .u64 out", R"(
.shared .align 128 .b8 tile[256];
.shared .align 8 .b8 full[16];
.shared .align 8 .b8 empty[16];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; mov.u32 %r4, empty;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r3], 1; mbarrier.init.shared::cta.b64 [%r3+8], 1;
mbarrier.init.shared::cta.b64 [%r4], 32; mbarrier.init.shared::cta.b64 [%r4+8], 32;
fence.mbarrier_init.release.cluster;
READY:
bar.sync 0;
mov.u32 %r10, 0;  // round
mov.u32 %r20, 0;  // sum
setp.ge.u32 %p2, %r1, 32;
@%p2 bra CONSUME;
@%p1 bra END;
PRODUCE:
and.b32 %r11, %r10, 1; shr.u32 %r12, %r10, 1; and.b32 %r12, %r12, 1; xor.b32 %r12, %r12, 1;  // P_PARITY
mad.lo.u32 %r13, %r11, 8, %r3; mad.lo.u32 %r14, %r11, 8, %r4; mad.lo.u32 %r15, %r11, 128, %r2;
P_WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r14], %r12;
@!%p3 bra P_WAIT;  // P_AGAIN
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], 128;  // EXPECT
mul.wide.u32 %rd3, %r10, 128; add.u64 %rd3, %rd1, %rd3;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15], [%rd3], 128, [%r13];  // FILL
add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 6;
@%p4 bra PRODUCE;
bra END;
CONSUME:
and.b32 %r11, %r10, 1; shr.u32 %r12, %r10, 1; and.b32 %r12, %r12, 1;
mad.lo.u32 %r13, %r11, 8, %r3; mad.lo.u32 %r14, %r11, 8, %r4; mad.lo.u32 %r15, %r11, 128, %r2;
C_WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r13], %r12;
@!%p3 bra C_WAIT;  // C_AGAIN
sub.u32 %r16, %r1, 32; mad.lo.u32 %r16, %r16, 4, %r15;
ld.shared.u32 %r17, [%r16];  // USE
add.u32 %r20, %r20, %r17;
mbarrier.arrive.shared::cta.b64 _, [%r14];  // RELEASE
add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 6;
@%p4 bra CONSUME;
sub.u32 %r16, %r1, 32; mul.wide.u32 %rd3, %r16, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r20;
END:
ret;)");
}
}  // namespace moe4::ptx::test
