// Planted faults: accesses outside their space, misaligned ones, stores to inputs. Each has a twin that looks
// alike.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

// Threads below a limit store their number to `out`.
Trial guarded_store(const char* comparison, std::uint64_t elements) {
  return {kernel(".param .u64 out", std::string("ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 "
                                                "%r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 32, %r1;\nsetp.") +
                                        comparison +
                                        ".u32 %p1, %r1, 50;\n@%p1 ret;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 "
                                        "%rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;  // HERE\nret;"),
          {output("out", 4 * elements)},
          {2, 1, 1}};
}

TEST(OutOfBounds, OneThreadTooMany) {
  const Trial trial = guarded_store("gt", 50);
  const Finding finding =
      expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE", Dim3{1, 0, 0}, Dim3{18, 0, 0});
  EXPECT_NE(finding.message.find("out"), std::string::npos) << finding.message;
  EXPECT_NE(finding.place.instruction.find("st.global.u32"), std::string::npos) << finding.place.instruction;
  expect_clean(run(guarded_store("ge", 50)));
  expect_clean(run(guarded_store("gt", 51)));
}

TEST(OutOfBounds, PlacesHaveThreeDimensions) {
  const auto make = [](const char* last) {
    return Trial{
        kernel(".param .u64 out",
               std::string("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.z; mov.u32 %r2, %ctaid.z; mov.u32 "
                           "%r3, %tid.y; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %tid.x; mov.u32 %r6, %ctaid.x;\n"
                           "mad.lo.u32 %r7, %r2, 10, %r1; mad.lo.u32 %r7, %r7, 10, %r4; mad.lo.u32 %r7, %r7, "
                           "10, %r3; mad.lo.u32 %r7, %r7, 10, %r6; mad.lo.u32 %r7, %r7, 10, %r5;\n"
                           "mov.u32 %r8, 0; setp.eq.u32 %p1, %r7, ") +
                   last +
                   ";\n@%p1 mov.u32 %r8, 4;\ncvt.u64.u32 %rd2, %r8; add.u64 %rd1, %rd1, %rd2;\nld.global.u32 "
                   "%r9, [%rd1];  // HERE\nret;"),
        {zeroed("out", 4)},
        {2, 3, 4},
        {4, 3, 5}};
  };
  const Trial trial = make("342213");  // block z, thread z, block y, thread y, block x, thread x
  expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE", Dim3{1, 2, 3}, Dim3{3, 2, 4});
  expect_clean(run(make("342219")));
}

// One thread, an address relative to the buffer, an access.
Trial single(const std::string& offset, const std::string& access, std::uint64_t bytes = 24) {
  return {kernel(".param .u64 buffer",
                 "ld.param.u64 %rd1, [buffer];\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.b64 %rd2, " + offset +
                     ";\nadd.s64 %rd3, %rd1, %rd2;\n" + access + "  // HERE\nret;"),
          {zeroed("buffer", bytes)},
          {1, 1, 1},
          {1, 1, 1}};
}

TEST(OutOfBounds, EveryWayOutOfABuffer) {
  const std::string load = "ld.global.u32 %r1, [%rd3];", store = "st.global.u32 [%rd3], %r1;";
  for (const std::string& access : {load, store})
    for (const char* offset : {"24", "-4", "22", "1048576", "-1048576", "2147483648", "-2147483648",
                               "4294967292", "-4294967296"}) {
      const Trial trial = single(offset, access);
      if (std::string(offset) == "22") {  // starts inside and ends outside, and is misaligned as well
        const LaunchReport report = run(trial);
        ASSERT_FALSE(report.findings.empty());
        continue;
      }
      expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE", Dim3{0, 0, 0}, Dim3{0, 0, 0});
    }
  for (const std::string& access : {load, store})
    for (const char* offset : {"0", "4", "20"}) expect_clean(run(single(offset, access)));
}

TEST(OutOfBounds, VectorThatStartsInsideAndEndsOutside) {
  const Trial trial = single("16", "st.global.v4.u32 [%rd3], {%r1, %r2, %r1, %r2};");
  expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
  expect_clean(run(single("16", "st.global.v2.u32 [%rd3], {%r1, %r2};")));
  expect_clean(run(single("0", "st.global.v4.u32 [%rd3], {%r1, %r2, %r1, %r2};")));
}

TEST(OutOfBounds, AtomicsAndGenericAccesses) {
  for (const char* access : {"atom.global.add.u32 %r3, [%rd3], 1;", "red.global.add.u32 [%rd3], 1;",
                             "ld.u32 %r3, [%rd3];", "st.u32 [%rd3], %r1;", "ld.global.nc.u32 %r3, [%rd3];"}) {
    const Trial trial = single("24", access);
    expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
    expect_clean(run(single("20", access)));
  }
}

TEST(OutOfBounds, WildPointers) {
  for (const char* address : {"0", "8", "-16", "0x7fffffffffff0000", "0x8000000000000000"}) {
    const Trial trial{
        kernel("", std::string("mov.b64 %rd1, ") + address + ";\nld.global.u32 %r1, [%rd1];  // HERE\nret;"),
        {},
        {1, 1, 1},
        {1, 1, 1}};
    expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
  }
}

// No buffer is reached from another one by an offset of less than the guard space, in either direction.
TEST(OutOfBounds, TheNextBufferIsNotReached) {
  for (const char* offset :
       {"4096", "65536", "16777216", "4294963200", "-4096", "-16777216", "-4294963200"}) {
    Trial trial = single(offset, "ld.global.u32 %r3, [%rd3];");
    trial.text = kernel(".param .u64 first, .param .u64 buffer, .param .u64 last",
                        trial.text.substr(trial.text.find("ld.param"),
                                          trial.text.rfind("\n}") - trial.text.find("ld.param")));
    trial.buffers = {zeroed("first", 4096), zeroed("buffer", 4096), zeroed("last", 4096)};
    expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
  }
}

TEST(OutOfBounds, BufferWithoutBytes) {
  const Trial trial = single("0", "ld.global.u32 %r3, [%rd3];", 0);
  expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
}

// 24 bytes static and `dynamic` bytes behind them on the next 1024.
Trial shared(const std::string& access, std::uint32_t dynamic) {
  return {module_header() + ".extern .shared .align 16 .b8 tail[];\n" +
              entry("kernel", "",
                    ".shared .align 8 .b8 tile[24];\nmov.u32 %r1, tile;\nmov.u32 %r2, tail;\nmov.u32 %r3, "
                    "%tid.x;\nmad.lo.u32 %r4, %r3, 4, %r2;\n" +
                        access + "  // HERE\nret;"),
          {},
          {1, 1, 1},
          {8, 1, 1},
          dynamic};
}

TEST(OutOfBounds, Shared) {
  const Trial over = shared("st.shared.u32 [%r4], %r3;", 28);
  expect_finding(over, run(over), Check::kOutOfBounds, "HERE", Dim3{0, 0, 0}, Dim3{7, 0, 0});
  expect_clean(run(shared("st.shared.u32 [%r4], %r3;", 32)));
  const Trial negative = shared("setp.eq.u32 %p1, %r3, 0; @%p1 st.shared.u32 [%r1+-4], %r3;", 32);
  expect_finding(negative, run(negative), Check::kOutOfBounds, "HERE");
  expect_clean(run(shared("setp.eq.u32 %p1, %r3, 0; @%p1 st.shared.u32 [%r1+20], %r3;", 32)));
  const Trial generic = shared("cvt.u64.u32 %rd1, %r4; cvta.shared.u64 %rd1, %rd1; st.u32 [%rd1], %r3;", 28);
  expect_finding(generic, run(generic), Check::kOutOfBounds, "HERE", Dim3{0, 0, 0}, Dim3{7, 0, 0});
  expect_clean(run(shared("cvt.u64.u32 %rd1, %r4; cvta.shared.u64 %rd1, %rd1; st.u32 [%rd1], %r3;", 32)));
}

Trial other_space(const std::string& access) {
  return {module_header() + ".const .align 4 .b8 table[16];\n" +
              entry("kernel", ".param .u64 out, .param .u64 second",
                    ".local .align 8 .b8 depot[16];\nmov.u64 %rd1, depot;\nmov.u64 %rd2, table;\nmov.u64 "
                    "%rd3, out;\nmov.u32 %r1, 7;\n" +
                        access + "  // HERE\nret;"),
          {output("out", 8), output("second", 8)},
          {1, 1, 1},
          {1, 1, 1}};
}

TEST(OutOfBounds, LocalConstAndParameters) {
  const struct {
    const char *planted, *twin;
  } forms[] = {{"st.local.u32 [%rd1+16], %r1;", "st.local.u32 [%rd1+12], %r1;"},
               {"ld.const.u32 %r2, [%rd2+16];", "ld.const.u32 %r2, [%rd2+12];"},
               {"ld.param.u64 %rd4, [%rd3+16];", "ld.param.u64 %rd4, [%rd3+8];"},
               {"st.local.u32 [%rd1+-4], %r1;", "st.local.u32 [%rd1], %r1;"}};
  for (const auto& form : forms) {
    const Trial trial = other_space(form.planted);
    expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
    expect_clean(run(other_space(form.twin)));
  }
}

// Bounds are checked even with the other checks off.
TEST(OutOfBounds, WithChecksOff) {
  Trial trial = guarded_store("gt", 50);
  trial.options.checks = false;
  expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE", Dim3{1, 0, 0}, Dim3{18, 0, 0});
}

TEST(Misaligned, GlobalSharedAndVector) {
  const struct {
    const char *offset, *planted, *twin;
  } forms[] = {
      {"2", "ld.global.u32 %r3, [%rd3];", "ld.global.u16 %h1, [%rd3];"},
      {"4", "ld.global.u64 %rd4, [%rd3];", "ld.global.v2.u16 {%h1, %h2}, [%rd3];"},
      {"8", "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];", "ld.global.v2.u32 {%r3, %r4}, [%rd3];"},
      {"1", "st.global.u16 [%rd3], %r1;", "st.global.u8 [%rd3], %r1;"},
      {"2", "atom.global.add.u32 %r3, [%rd3], 1;", "atom.global.cas.b16 %h1, [%rd3], 0, 1;"},
      {"4", "st.v4.u8 [%rd3+1], {%h1, %h1, %h1, %h1};", "st.v4.u8 [%rd3], {1, 1, 1, 1};"}};
  for (const auto& form : forms) {
    const Trial trial = single(form.offset, form.planted);
    const std::string planted = form.planted;
    if (planted.find("%h1, %h1") != std::string::npos) {
      Trial initialised = single(form.offset, "mov.b16 %h1, 1; " + planted);
      expect_finding(initialised, run(initialised), Check::kMisaligned, "HERE", Dim3{0, 0, 0}, Dim3{0, 0, 0});
    } else {
      expect_finding(trial, run(trial), Check::kMisaligned, "HERE", Dim3{0, 0, 0}, Dim3{0, 0, 0});
    }
    expect_clean(run(single(form.offset, form.twin)));
  }
  const Trial trial = shared("setp.eq.u32 %p1, %r3, 5; @%p1 st.shared.u16 [%r4+1], %r3;", 64);
  expect_finding(trial, run(trial), Check::kMisaligned, "HERE", Dim3{0, 0, 0}, Dim3{5, 0, 0});
  expect_clean(run(shared("setp.eq.u32 %p1, %r3, 5; @%p1 st.shared.u16 [%r4+2], %r3;", 64)));
}

// Thread 0 touches the second buffer the way `access` says.
Trial two_buffers(const std::string& access, Buffer second) {
  return {kernel(".param .u64 first, .param .u64 second",
                 "ld.param.u64 %rd1, [second];\nmov.u32 %r1, 3;\n" + access + "  // HERE\nret;"),
          {zeroed("first", 64), std::move(second)},
          {1, 1, 1},
          {1, 1, 1}};
}

TEST(InputWritten, StoresAndAtomics) {
  for (const char* access :
       {"st.global.u32 [%rd1+8], %r1;", "st.global.v2.u32 [%rd1+8], {%r1, %r1};", "st.u8 [%rd1+63], %r1;",
        "atom.global.add.u32 %r2, [%rd1], 1;", "red.global.or.b32 [%rd1+4], 1;"}) {
    const Trial trial = two_buffers(access, input("weights", 64));
    const Finding finding =
        expect_finding(trial, run(trial), Check::kInputWritten, "HERE", Dim3{0, 0, 0}, Dim3{0, 0, 0});
    EXPECT_NE(finding.message.find("weights"), std::string::npos) << finding.message;
    expect_clean(run(two_buffers(access, zeroed("weights", 64))));
  }
  expect_clean(run(two_buffers("ld.global.u32 %r2, [%rd1+8];", input("weights", 64))));
}

// Whatever a kernel tries, the host's input stays as it was.
TEST(InputWritten, HostMemoryIsUntouched) {
  std::vector<std::uint32_t> host(16, 0xabcdef01);
  Memory memory;
  const std::uint64_t in = memory.add_input("in", std::as_bytes(std::span(host)));
  const Module module = parse_valid(
      kernel(".param .u64 in",
             "ld.param.u64 %rd1, [in];\nst.global.u32 [%rd1], 0;\nred.global.add.u32 [%rd1+4], 1;\nret;"));
  const LaunchReport report = run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(in));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(host, std::vector<std::uint32_t>(16, 0xabcdef01));
}

}  // namespace
}  // namespace moe4::ptx::test
