// Planted races in shared memory, decided by happens-before; each twin has the missing order.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

constexpr const char* kSetup = R"(
.shared .align 4 .b8 tile[4096];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; mov.u32 %r9, %ntid.x;
ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
sub.u32 %r4, %r9, %r1; sub.u32 %r4, %r4, 1; mad.lo.u32 %r5, %r4, 4, %r2;
)";

Trial in_shared(const std::string& body, std::uint32_t threads) {
  return {kernel(".param .u64 out", kSetup + body + "\nret;"),
          {zeroed("out", 4 * threads)},
          {1, 1, 1},
          {threads, 1, 1}};
}

// Read after write: each thread reads the cell of its mirror image in another warp.
Trial mirror(bool barrier, std::uint32_t threads = 64) {
  return in_shared(std::string("st.shared.u32 [%r3], %r1;  // WRITE\n") + (barrier ? "bar.sync 0;\n" : "") +
                       "ld.shared.u32 %r6, [%r5];  // READ\nst.global.u32 [%rd3], %r6;",
                   threads);
}

TEST(SharedRace, ReadAfterWriteBetweenWarps) {
  const Trial trial = mirror(false);
  const Finding finding = expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
  ASSERT_TRUE(finding.other.has_value());
  EXPECT_EQ(finding.place.thread.x + finding.other->thread.x, 63u) << to_string(finding);
  EXPECT_FALSE(finding.other->instruction.empty());
  expect_clean(run(mirror(true)));
}

TEST(SharedRace, BlockThatIsNoMultipleOf32) {
  const Trial trial = mirror(false, 75);
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
  expect_clean(run(mirror(true, 75)));
}

TEST(SharedRace, WriteAfterRead) {
  const auto make = [](bool second_barrier) {
    return in_shared(std::string("st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];  // "
                                 "READ\nst.global.u32 [%rd3], %r6;\n") +
                         (second_barrier ? "bar.sync 0;\n" : "") + "st.shared.u32 [%r3], 9;  // OVERWRITE",
                     64);
  };
  const Trial trial = make(false);
  expect_race(trial, run(trial), Check::kSharedRace, "READ", "OVERWRITE");
  expect_clean(run(make(true)));
}

TEST(SharedRace, WriteAfterWrite) {
  const auto make = [](const char* order) {
    return in_shared(
        std::string("st.shared.u32 [%r3], %r1;  // FIRST\n") + order + "st.shared.u32 [%r5], %r1;  // SECOND",
        64);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kSharedRace, "FIRST", "SECOND");
  expect_clean(run(make("bar.sync 0;\n")));
}

// A warp barrier does not order warps.
TEST(SharedRace, WarpBarrierDoesNotOrderWarps) {
  const Trial trial = in_shared(
      "st.shared.u32 [%r3], %r1;  // WRITE\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r5];  // "
      "READ\nst.global.u32 [%rd3], %r6;",
      64);
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
}

// A barrier of a part of the block orders only that part.
TEST(SharedRace, NamedBarrierOrdersItsOwnWarpsOnly) {
  const auto make = [](const char* barrier) {
    return in_shared(
        std::string("st.shared.u32 [%r3], %r1;  // WRITE\nshr.u32 %r10, %r1, 6;\nadd.u32 %r10, %r10, 1;\n") +
            barrier + "\nld.shared.u32 %r6, [%r5];  // READ\nst.global.u32 [%rd3], %r6;",
        128);
  };
  const Trial trial = make("bar.sync %r10, 64;");  // pairs of warps
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
  expect_clean(run(make("bar.sync 5, 128;")));
}

// The classic double-buffer fault: one barrier a round is enough only with two buffers.
TEST(SharedRace, RingOfBuffers) {
  const auto make = [](int buffers) {
    return in_shared(
        "mov.u32 %r10, 0;\nLOOP:\nrem.u32 %r11, %r10, " + std::to_string(buffers) +
            ";\nmad.lo.u32 %r12, %r11, 256, %r3;\nst.shared.u32 [%r12], %r10;  // FILL\nbar.sync "
            "0;\nmad.lo.u32 %r13, %r11, 256, %r5;\nld.shared.u32 %r14, [%r13];  // USE\n"
            "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 6;\n@%p1 bra LOOP;\nst.global.u32 [%rd3], %r14;",
        64);
  };
  const Trial trial = make(1);
  expect_race(trial, run(trial), Check::kSharedRace, "FILL", "USE");
  expect_clean(run(make(2)));
}

TEST(SharedRace, DivergentHalvesOfAWarp) {
  const auto make = [](const char* order) {
    return in_shared(
        std::string(
            "setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra JOIN;\nst.shared.u32 [%r3], %r1;  // WRITE\nJOIN:\n") +
            order +
            "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra END;\nld.shared.u32 %r6, [%r5];  // READ\nst.global.u32 "
            "[%rd3], %r6;\nEND:",
        32);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
  expect_clean(run(make("bar.warp.sync 0xffffffff;\n")));
  expect_clean(run(make("bar.sync 0;\n")));
}

// Neighbouring lanes exchange through shared memory: without a warp barrier they have no order.
TEST(SharedRace, LanesOfOneWarp) {
  const auto make = [](const char* order) {
    return in_shared(std::string("st.shared.u32 [%r3], %r1;  // WRITE\n") + order +
                         "ld.shared.u32 %r6, [%r5];  // READ\nst.global.u32 [%rd3], %r6;",
                     32);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
  expect_clean(run(make("bar.warp.sync 0xffffffff;\n")));
}

// A cell handed from lane 0 to all and taken again: both directions need a warp barrier.
TEST(SharedRace, BroadcastCellOfAWarp) {
  const auto make = [](const char* first, const char* second) {
    return in_shared(
        std::string(
            "mov.u32 %r10, 0; setp.eq.u32 %p1, %r1, 0;\nLOOP:\n@%p1 st.shared.u32 [%r2], %r10;  // GIVE\n") +
            first + "ld.shared.u32 %r11, [%r2];  // TAKE\n" + second +
            "add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 3; @%p2 bra LOOP;\nst.global.u32 [%rd3], %r11;",
        32);
  };
  expect_clean(run(make("bar.warp.sync -1;\n", "bar.warp.sync -1;\n")));
  const Trial no_first = make("", "bar.warp.sync -1;\n"), no_second = make("bar.warp.sync -1;\n", "");
  expect_race(no_first, run(no_first), Check::kSharedRace, "GIVE", "TAKE");
  expect_race(no_second, run(no_second), Check::kSharedRace, "GIVE", "TAKE");
}

// `.pragma "used_bytes_mask"` says which bytes of a vector load the program uses; only they can race.
TEST(SharedRace, UsedBytesMask) {
  const auto make = [](const char* pragma) {
    return in_shared(std::string("setp.ge.u32 %p1, %r1, 32;\n@%p1 bra OTHER;\n") + pragma +
                         "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2];  // WIDE\nbra "
                         "JOIN;\nOTHER:\nst.shared.u32 [%r2+12], 1;  // LAST\nJOIN:",
                     64);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kSharedRace, "WIDE", "LAST");
  expect_clean(run(make(".pragma \"used_bytes_mask 4095\";\n")));
}

TEST(SharedRace, TwoLanesOfOneStore) {
  const auto make = [](const char* divisor) {
    return in_shared(std::string("div.u32 %r10, %r1, ") + divisor +
                         ";\nmad.lo.u32 %r11, %r10, 4, %r2;\nst.shared.u32 [%r11], %r1;  // STORE",
                     32);
  };
  const Trial trial = make("2");
  expect_race(trial, run(trial), Check::kSharedRace, "// STORE", "// STORE");
  expect_clean(run(make("1")));
}

TEST(SharedRace, BytesOfOneWordAreApart) {
  const auto make = [](const char* width) {
    return in_shared(std::string("add.u32 %r10, %r2, %r1;\nst.shared.") + width +
                         " [%r10], %r1;  // STORE\nbar.sync 0;\nld.shared.u32 %r11, [%r3];",
                     64);
  };
  Trial clean = make("u8");
  clean.text.replace(clean.text.find("ld.shared.u32 %r11, [%r3];"), 26, "ld.shared.u8 %r11, [%r10];");
  expect_clean(run(clean));
  Trial overlap = clean;  // two bytes a thread, one byte apart, aligned for every second thread only
  overlap.text.replace(overlap.text.find("st.shared.u8 [%r10], %r1;"), 25,
                       "and.b32 %r12, %r1, -2; add.u32 %r12, %r2, %r12; st.shared.u16 [%r12], %r1;");
  expect_race(overlap, run(overlap), Check::kSharedRace, "// STORE", "// STORE");
}

TEST(SharedRace, AtomicsDoNotRaceWithEachOther) {
  const auto make = [](const char* access) {
    return in_shared(
        std::string("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra ZEROED;\nst.shared.u32 [%r2], 0;\nZEROED:\nbar.sync "
                    "0;\natom.shared.add.u32 %r6, [%r2], 1;  // ATOMIC\n") +
            access + "\nst.global.u32 [%rd3], %r7;",
        64);
  };
  expect_clean(run(make("atom.shared.max.u32 %r7, [%r2], %r1;")));
  expect_clean(run(make("bar.sync 0;\nld.shared.u32 %r7, [%r2];")));
  const Trial trial = make("ld.shared.u32 %r7, [%r2];  // PLAIN");
  expect_race(trial, run(trial), Check::kSharedRace, "ATOMIC", "PLAIN");
}

TEST(SharedRace, ReadersDoNotRace) {
  expect_clean(
      run(in_shared("setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r2], 5;\nbar.sync 0;\nld.shared.u32 %r6, "
                    "[%r2];\nst.global.u32 [%rd3], %r6;",
                    96)));
}

// bar.arrive orders what came before it with what follows the matching bar.sync, and nothing else.
TEST(SharedRace, ArriveGivesOrderOneWay) {
  const auto make = [](const char* after_arrive) {
    return in_shared(std::string("setp.ge.u32 %p1, %r1, 32;\n@%p1 bra CONSUMER;\nst.shared.u32 [%r3], %r1;  "
                                 "// BEFORE\nbar.arrive 1, 64;\n") +
                         after_arrive +
                         "ret;\nCONSUMER:\nbar.sync 1, 64;\nld.shared.u32 %r6, [%r5];  // "
                         "READ\nst.global.u32 [%rd3], %r6;",
                     64);
  };
  expect_clean(run(make("")));
  const Trial trial = make("st.shared.u32 [%r3], 1;  // LATE\n");
  expect_race(trial, run(trial), Check::kSharedRace, "LATE", "READ");
}

TEST(SharedRace, OffWithChecksOff) {
  Trial trial = mirror(false);
  trial.options.checks = false;
  EXPECT_TRUE(run(trial).findings.empty());
}

}  // namespace
}  // namespace moe4::ptx::test
