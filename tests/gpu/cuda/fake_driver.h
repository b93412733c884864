// Test support: the fake driver as the CUDA driver of this process and of what it starts.
#pragma once

#include <cstdlib>
#include <string>

namespace moe4 {

// words: tests/support/fake_cuda/fake_words.h.
inline void use_fake_driver(const std::string& words = "") {
  ::setenv("MOE4_CUDA_DRIVER", MOE4_FAKE_DRIVER, 1);
  ::setenv("MOE4_FAKE_CUDA", words.c_str(), 1);
}

// A kernel that copies n words of 16 bits, a thread each: %rd4 from, %rd5 to, %r5 its number; `body` takes
// the place of the store, `begin` comes before the check of the number.
inline std::string copy_kernel(const std::string& body = "st.global.u16 [%rd5], %h1;",
                               const std::string& begin = "") {
  return R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)
{
.reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [from];
ld.param.u64 %rd2, [to];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r5, %r2, %r3, %r4;
)" + begin +
         R"(
setp.ge.u32 %p1, %r5, %r1;
@%p1 bra DONE;
mul.wide.u32 %rd3, %r5, 2;
add.s64 %rd4, %rd1, %rd3;
ld.global.u16 %h1, [%rd4];
add.s64 %rd5, %rd2, %rd3;
)" + body +
         "\nDONE:\nret;\n}\n";
}

}  // namespace moe4
