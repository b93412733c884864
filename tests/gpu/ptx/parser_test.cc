// The irregular text that compilers and inline assembly really produce, one point a test.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

// Runs one thread of text's "kernel"(.param .u64 out) and returns `words` 32-bit words.
std::vector<std::uint32_t> words_of(const std::string& text, std::size_t words) {
  Memory memory;
  const std::uint64_t out = memory.add_zeroed("out", 4 * words);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out)));
  return read_all<std::uint32_t>(memory, out, words);
}
using Words = std::vector<std::uint32_t>;

TEST(Parser, VersionsAndTargets) {
  const auto empty = [](const std::string& version, const std::string& target) {
    return parse_valid(".version " + version + "\n.target " + target +
                       "\n.address_size 64\n.visible .entry kernel()\n{\nret;\n}\n");
  };
  for (const char* version : {"7.0", "7.8", "8.0", "8.7", "8.8", "9.0", "9.1"})
    EXPECT_EQ(empty(version, "sm_80").target(), "sm_80");
  for (const char* target : {"sm_75", "sm_90", "sm_90a", "sm_100a", "sm_103a"})
    EXPECT_EQ(empty("8.8", target).target(), target);
  EXPECT_EQ(empty("9.0", "sm_90a, debug").target(), "sm_90a");
  EXPECT_EQ(empty("9.0", "sm_90a").name(), "test");
}

TEST(Parser, EntriesWithTheirDirectives) {
  const Module module = parse_valid(module_header() + R"(
.visible .entry first(
	.param .u64 first_param_0,
	.param .align 64 .b8 first_param_1[128]
)
.maxntid 256, 1, 1
.minnctapersm 2
{
	.shared .align 16 .b8 a[100];
	.shared .align 4 .f32 b[3];
	ret;
}
.entry second() .reqntid 32, 4 .maxnreg 64 { nop_label: ret; }
.visible .entry third(.param .f32 x) .reqntid 128
{
	.reg .b32 %r<3>;
	mov.u32 %r1, 1;
	add.u32 %r2, %r1, %r1;
	ret;
}
)");
  const std::vector<EntryInfo> entries = module.entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "first");
  ASSERT_EQ(entries[0].parameters.size(), 2u);
  EXPECT_EQ(entries[0].parameters[1].offset, 64u);
  EXPECT_EQ(entries[0].parameters[1].size, 128u);
  EXPECT_EQ(entries[0].parameters[1].align, 64u);
  EXPECT_EQ(entries[0].parameter_bytes, 192u);
  EXPECT_EQ(entries[0].max_block, (Dim3{256, 1, 1}));
  EXPECT_FALSE(entries[0].required_block.has_value());
  EXPECT_EQ(entries[0].static_shared_bytes, 112u);
  EXPECT_EQ(entries[1].required_block, (Dim3{32, 4, 1}));
  EXPECT_EQ(entries[2].required_block, (Dim3{128, 1, 1}));
  EXPECT_EQ(entries[2].instructions, 3u);
  for (const EntryInfo& entry : entries) EXPECT_TRUE(entry.unsupported.empty());
}

TEST(Parser, ModifierOrderIsFree) {
  const std::string body =
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, 1; mov.u32 %r2, 2; mov.f32 %f1, 0f3F800000; mov.f32 %f2, "
      "0f40000000;\n"
      "mad.lo.s32 %r3, %r1, %r2, %r2;\nst.global.v2.u32 [%rd1], {%r1, %r3};\nred.relaxed.gpu.global.add.s32 "
      "[%rd1], 5;\n"
      "red.global.gpu.relaxed.add.s32 [%rd1], 5;\natom.global.add.relaxed.gpu.u32 %r4, [%rd1], 1;\n"
      "st.global.release.gpu.b32 [%rd1+8], %r4;\nld.global.acquire.gpu.b32 %r5, "
      "[%rd1+8];\nst.release.gpu.global.b32 [%rd1+12], %r5;\n"
      "st.v2.global.u32 [%rd1+16], {%r1, %r2};\nadd.ftz.rn.f32 %f3, %f1, %f2;\nst.global.f32 [%rd1+24], "
      "%f3;\nvote.ballot.sync.b32 %r6, 1, 1;\nst.global.u32 [%rd1+28], %r6;\nret;";
  EXPECT_EQ(words_of(kernel(".param .u64 out", body), 8), (Words{12, 4, 11, 11, 1, 2, 0x40400000, 1}));
}

TEST(Parser, NestedScopesShadowRegistersAndReuseLabels) {
  EXPECT_EQ(words_of(kernel(".param .u64 out", R"(
ld.param.u64 %rd1, [out];
mov.u32 %r1, 10;
setp.eq.u32 %p1, %r1, 10;
{
  .reg .pred %p1; .reg .b32 %r1;
  mov.u32 %r1, 3;
DONE_LOOP:
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE_LOOP;
  {
    .reg .b32 %r1;
    mov.u32 %r1, 77;
    st.global.u32 [%rd1], %r1;
  }
  st.global.u32 [%rd1+4], %r1;
}
{
  .reg .pred p;
  setp.eq.u32 p, %r1, 0;
DONE_LOOP:
  add.u32 %r1, %r1, 1;
  setp.lt.u32 p, %r1, 15;
  @p bra DONE_LOOP;
  @%p1 bra OUTSIDE;
  mov.u32 %r1, 0;
LAST_IN_SCOPE:
}
OUTSIDE:
st.global.u32 [%rd1+8], %r1;
selp.u32 %r2, 1, 2, %p1;
st.global.u32 [%rd1+12], %r2;
ret;)"),
                     4),
            (Words{77, 0, 15, 1}));
}

TEST(Parser, RegisterDeclarations) {
  EXPECT_EQ(words_of(module_header() + R"(.visible .entry kernel(.param .u64 out){
.reg.b16 h,r;
.reg .b32 a<2>, b<2>, e112; .reg .u32 sign, sign<2>, nosign<3>;
.reg .f32 f, C, nZ;.reg .b64 %SP, %rd<0x4>;
.reg .pred p;
ld.param.u64 %rd0, [out];
mov.b16 h, 5; mov.b16 r, 6; add.u16 h, h, r; cvt.u32.u16 a0, h; mov.u32 a1, 1; mov.u32 b0, 2; mov.u32 b1, 3; mov.u32 e112, 4;
mov.u32 sign, 10; mov.u32 sign0, 20; mov.u32 sign1, 30; mov.u32 nosign2, 40;
add.u32 a0, a0, a1; add.u32 a0, a0, b0; add.u32 a0, a0, b1; add.u32 a0, a0, e112;
add.u32 sign, sign, sign0; add.u32 sign, sign, sign1; add.u32 sign, sign, nosign2;
st.global.u32 [%rd0], a0;
st.global.u32 [%rd0+4], sign;
ret;}
)",
                     2),
            (Words{21, 100}));
}

TEST(Parser, AddressExpressions) {
  EXPECT_EQ(words_of(module_header() + ".global .align 4 .u32 data[4] = {11, 22, 33, 44};\n" +
                         entry("kernel", ".param .u64 out", R"(
ld.param.u64 %rd1,[out];
mov.b64 %rd2, data+8;
ld.global.u32 %r1, [%rd2+-4]; ld.global.u32 %r2,[data+12]; ld.global.u32 %r3, [ data + 8 ]; ld.global.u32 %r4, [data];
st.global.u32 [ %rd1 + 0 ],%r1; st.global.u32 [%rd1+4],%r2; st.global.u32 [%rd1+0x8], %r3;
st.global.u32[%rd1+12],%r4;
ret;)"),
                     4),
            (Words{22, 44, 33, 11}));
}

TEST(Parser, ImmediateForms) {
  EXPECT_EQ(words_of(kernel(".param .u64 out", R"(
ld.param.u64 %rd1, [out];
mov.u32 %r1, 0X1F79U; mov.u32 %r2, 0x3fb8aa3bU; mov.u32 %r3, 0xabCD; mov.u32 %r4, 4294967295; mov.s32 %r5, -2147483648; mov.u32 %r6, 0b101; mov.u32 %r7, 010;
mov.f32 %f1, 0f3F800000; mov.f32 %f2, 1.5; mov.f32 %f3, 0F40000000; mov.f32 %f4, -0.25; mov.b32 %r8, 0f3F000000;
st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%rd1+16], {%r5, %r6, %r7, %r8}; st.global.v4.f32 [%rd1+32], {%f1, %f2, %f3, %f4};
ret;)"),
                     12),
            (Words{0x1f79, 0x3fb8aa3b, 0xabcd, 0xffffffff, 0x80000000, 5, 8, 0x3f000000, 0x3f800000,
                   0x3fc00000, 0x40000000, 0xbe800000}));
}

TEST(Parser, ConstantExpressions) {
  EXPECT_EQ(words_of(kernel(".param .u64 out", R"(
ld.param.u64 %rd1, [out];
mov.u32 %r1, 1<<4; mov.u32 %r2, (5+3)*2; mov.u32 %r3, ~3;
st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3;
ret;)"),
                     3),
            (Words{16, 16, 0xfffffffc}));
}

TEST(Parser, CommentsAndManyStatementsOnALine) {
  EXPECT_EQ(words_of(kernel(".param .u64 out",
                            "ld.param.u64 %rd1, [out]; // { not a scope }\n/* one */ mov.u32 %r1, /* "
                            "two\nlines; { */ 7;mov.u32 %r2,8;  // begin inline asm\n"
                            "\t{.reg .b32 t;mov.u32 t, %r1;add.u32 %r1,t,%r2;}\n\t// end inline "
                            "asm\nst.global.v2.u32[%rd1],{%r1,%r2};ret;"),
                     2),
            (Words{15, 8}));
}

TEST(Parser, LineEndsTabsAndNonAsciiComments) {
  std::string text =
      kernel(".param .u64 out",
             "ld.param.u64\t%rd1 ,\t[ out ];\n// \xc3\xa9\xe2\x82\xac {\nst.global.u32\t[%rd1],\t9 ;\nret;");
  std::string windows;
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  while (windows.back() == '\n' || windows.back() == '\r') windows.pop_back();
  EXPECT_EQ(words_of(windows, 1), (Words{9}));
  EXPECT_EQ(words_of(text + "// no newline at the end", 1), (Words{9}));
}

TEST(Parser, LocFilesAndSections) {
  EXPECT_EQ(words_of(module_header() + ".file\t1 \"/a b/k.cu\"\n.file 2 \"x.h\", 1700000000, 1234\n" +
                         entry("kernel", ".param .u64 out", R"(
	.loc	1 11 3
	.loc	1 10 5
$L__func_begin0:
ld.param.u64 %rd1, [out];
	.loc	2 20 7, function_name $L__info_string0, inlined_at 1 11 3
$L__tmp3:
st.global.u32 [%rd1], 3;
	.pragma "nounroll";
	.loc 1 12 1
ret;
$L__func_end0:)") + R"(
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b8 17
.b8 0
	}
	.section	.debug_info
	{
.b32 100
.b32 .debug_abbrev
.b64 $L__func_begin0
	}
	.section .debug_str { $L__info_string0: .b8 107,101,0 }
)",
                     1),
            (Words{3}));
}

TEST(Parser, EntryAfterASection) {
  const Module module =
      parse_valid(module_header() + "\t.section\t.debug_macinfo\t{\t}\n" + entry("kernel", "", "ret;"));
  EXPECT_EQ(module.entries().size(), 1u);
}

TEST(Parser, LabelsWithBlanksAndForwardBranches) {
  EXPECT_EQ(words_of(kernel(".param .u64 out", R"(
ld.param.u64 %rd1, [out]; mov.u32 %r1, 0;
bra.uni $L__BB0_2;
$L__BB0_1 :
add.u32 %r1, %r1, 100;
bra LAB_END;
$L__BB0_2: add.u32 %r1, %r1, 1; bra $L__BB0_1;
LAB_END:
st.global.u32 [%rd1], %r1; ret;)"),
                     1),
            (Words{101}));
}

TEST(Parser, SeveralEntriesOfOneModule) {
  const Module module = parse_valid(
      module_header() + ".global .align 4 .u32 common;\n" +
      entry("one", ".param .u64 out", "ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\nret;") +
      entry("two", ".param .u32 x, .param .u64 out",
            "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [x];\nst.global.u32 [%rd1], %r1;\nret;"));
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 4);
  expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out), {}, 0, "one"));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 1u);
  expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u32(22).u64(out), {}, 0, "two"));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 22u);
}

TEST(Parser, DeviceFunctionsAreRunOrRefusedBeforeTheFirstThread) {
  const std::string text = module_header() + R"(
.extern .func (.param .b32 func_retval0) vprintf(.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.func (.param .b32 func_retval0) twice(.param .b32 twice_param_0)
{
.reg .b32 %r<3>;
ld.param.b32 %r1, [twice_param_0]; add.u32 %r2, %r1, %r1; st.param.b32 [func_retval0+0], %r2; ret;
}
)" + entry("kernel", ".param .u64 out", R"(
ld.param.u64 %rd1, [out]; mov.u32 %r1, 21; st.global.u32 [%rd1], 1;
{
.reg .b32 temp_param_reg;
.param .b32 param0; st.param.b32 [param0+0], %r1;
.param .b32 retval0;
call.uni (retval0), twice, (
param0
);
ld.param.b32 %r2, [retval0+0];
}
st.global.u32 [%rd1], %r2; ret;)");
  const Module module = parse_valid(text);
  Memory memory;
  const std::uint64_t out = memory.add_zeroed("out", 4);
  const LaunchReport report = run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out));
  if (module.entries().at(0).unsupported.empty()) {
    expect_clean(report);
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 42u);
  } else {
    EXPECT_TRUE(report.error.has_value());
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 0u) << "a thread ran";
  }
}

}  // namespace
}  // namespace moe4::ptx::test
