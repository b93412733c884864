#include "tests/gpu/ptx/ptx_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace moe4::ptx::test {
namespace {

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

std::string bits_type(int width) { return ".b" + std::to_string(width); }

// Registers keep the declared type where PTX has one; half types and 8-bit types are untyped bits.
std::string register_type(const std::string& type) {
  const int width = width_of(type);
  if (type == "pred") return ".pred";
  if (width == 8) return ".b16";
  if (type.find("f16") != std::string::npos) return bits_type(width);
  return "." + type;
}

int stored_width(const std::string& type) {
  if (type == "pred") return 32;
  return width_of(type) == 8 ? 16 : width_of(type);
}

const char* const kInputs[] = {"a", "b", "c", "e"};
const char* const kOutputs[] = {"d", "q"};

std::string snippet_text(const Snippet& snippet) {
  std::ostringstream text;
  text << module_header() << ".visible .entry kernel(.param .u32 rows";
  for (std::size_t i = 0; i < snippet.in.size(); ++i) text << ", .param .u64 in" << i;
  for (std::size_t i = 0; i < snippet.out.size(); ++i) text << ", .param .u64 out" << i;
  text << ")\n{\n.reg .pred %outside;\n.reg .b32 %row, %block, %rows, %word;\n.reg .b64 %address, %offset;\n";
  for (std::size_t i = 0; i < snippet.in.size(); ++i)
    text << ".reg " << register_type(snippet.in[i]) << " %" << kInputs[i] << ";\n";
  for (std::size_t i = 0; i < snippet.out.size(); ++i)
    text << ".reg " << register_type(snippet.out[i]) << " %" << kOutputs[i] << ";\n";
  text << "mov.u32 %row, %tid.x;\nmov.u32 %block, %ctaid.x;\nshl.b32 %block, %block, 6;\n"
          "add.u32 %row, %row, %block;\nld.param.u32 %rows, [rows];\n"
          "setp.ge.u32 %outside, %row, %rows;\n@%outside ret;\n";
  for (std::size_t i = 0; i < snippet.in.size(); ++i) {
    const int width = stored_width(snippet.in[i]);
    text << "ld.param.u64 %address, [in" << i << "];\nmul.wide.u32 %offset, %row, " << width / 8
         << ";\nadd.u64 %address, %address, %offset;\n";
    if (snippet.in[i] == "pred")
      text << "ld.global.b32 %word, [%address];\nsetp.ne.u32 %" << kInputs[i] << ", %word, 0;\n";
    else
      text << "ld.global" << bits_type(width) << " %" << kInputs[i] << ", [%address];\n";
  }
  text << snippet.text << "\n";
  for (std::size_t i = 0; i < snippet.out.size(); ++i) {
    const int width = stored_width(snippet.out[i]);
    text << "ld.param.u64 %address, [out" << i << "];\nmul.wide.u32 %offset, %row, " << width / 8
         << ";\nadd.u64 %address, %address, %offset;\n";
    if (snippet.out[i] == "pred")
      text << "selp.u32 %word, 1, 0, %" << kOutputs[i] << ";\nst.global.b32 [%address], %word;\n";
    else
      text << "st.global" << bits_type(width) << " [%address], %" << kOutputs[i] << ";\n";
  }
  text << "ret;\n}\n";
  return text.str();
}

std::string hex(Bits bits) {
  std::ostringstream out;
  out << "0x" << std::hex << bits;
  return out.str();
}

bool satisfied(const Want& want, const std::string& type, Bits got) {
  switch (want.kind) {
    case Want::Kind::kExactly:
      return got == want.bits;
    case Want::Kind::kEither:
      return got == want.bits || got == want.other;
    case Want::Kind::kNan:
      return is_nan(type, got);
    case Want::Kind::kAnything:
      return true;
  }
  return false;
}

}  // namespace

std::string module_header() { return ".version 8.0\n.target sm_90a\n.address_size 64\n"; }

std::string entry(std::string_view name, std::string_view parameters, std::string_view body,
                  std::string_view directives) {
  std::ostringstream text;
  text << ".visible .entry " << name << "(" << parameters << ")\n"
       << directives << (directives.empty() ? "" : "\n")
       << "{\n.reg .pred %p<16>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .f32 %f<32>;\n"
          ".reg .b64 %rd<64>;\n.reg .f64 %fd<16>;\n"
       << body << "\n}\n";
  return text.str();
}

std::string kernel(std::string_view parameters, std::string_view body, std::string_view directives) {
  return module_header() + entry("kernel", parameters, body, directives);
}

int line_of(std::string_view text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string_view::npos || text.find(marker, at + 1) != std::string_view::npos) {
    ADD_FAILURE() << "marker '" << marker << "' must occur exactly once";
    return -1;
  }
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Module parse_valid(std::string_view text) {
  Error error;
  std::optional<Module> module = Module::parse(text, "test", &error);
  if (!module)  // GoogleTest reports the exception as the test's failure
    throw std::runtime_error("line " + std::to_string(error.line) + ": " + error.instruction + ": " +
                             error.message + "\n" + std::string(text));
  return *module;
}

Arguments& Arguments::put(std::uint64_t value, std::size_t size) {
  while (bytes_.size() % size) bytes_.push_back(std::byte{0});
  for (std::size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  return *this;
}
Arguments& Arguments::u64(std::uint64_t value) { return put(value, 8); }
Arguments& Arguments::u32(std::uint32_t value) { return put(value, 4); }
Arguments& Arguments::u16(std::uint16_t value) { return put(value, 2); }
Arguments& Arguments::u8(std::uint8_t value) { return put(value, 1); }
Arguments& Arguments::f32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return put(bits, 4);
}

LaunchReport run(const Module& module, Memory& memory, Dim3 grid, Dim3 block, const Arguments& arguments,
                 const Options& options, std::uint32_t dynamic_shared, const std::string& name) {
  Launch what;
  what.entry = name;
  what.grid = grid;
  what.block = block;
  what.dynamic_shared_bytes = dynamic_shared;
  what.parameters = arguments.bytes();
  return launch(module, memory, what, options);
}

std::string describe(const LaunchReport& report) {
  std::ostringstream text;
  if (report.error)
    text << "error: line " << report.error->line << ": " << report.error->instruction << ": "
         << report.error->message << "\n";
  for (const Finding& finding : report.findings) text << to_string(finding) << "\n";
  text << (report.completed ? "completed" : "not completed");
  return text.str();
}

void expect_clean(const LaunchReport& report) {
  EXPECT_FALSE(report.error.has_value()) << describe(report);
  EXPECT_TRUE(report.findings.empty()) << describe(report);
  EXPECT_TRUE(report.completed) << describe(report);
}

Snippet instruction(std::string_view opcode, std::string out, std::vector<std::string> in) {
  std::string text(opcode);
  text += " %d";
  for (std::size_t i = 0; i < in.size(); ++i) text += std::string(", %") + kInputs[i];
  text += ";";
  return {text, std::move(in), {std::move(out)}};
}

int width_of(std::string_view type) {
  if (type == "pred") return 1;
  if (ends_with(type, "x2")) return 32;
  int width = 0;
  for (const char c : type)
    if (c >= '0' && c <= '9') width = width * 10 + (c - '0');
  return width;
}

bool is_nan(std::string_view type, Bits bits) {
  if (type == "f16") return (bits & 0x7fff) > 0x7c00;
  if (type == "bf16") return (bits & 0x7fff) > 0x7f80;
  if (width_of(type) == 32) return (bits & 0x7fffffff) > 0x7f800000;
  return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

std::vector<Row> evaluate(const Snippet& snippet, const std::vector<Row>& operands) {
  const std::string text = snippet_text(snippet);
  Error error;
  const std::optional<Module> module = Module::parse(text, "snippet", &error);
  if (!module) {
    ADD_FAILURE() << snippet.text << "\nline " << error.line << ": " << error.message;
    return {};
  }
  Memory memory;
  Arguments arguments;
  arguments.u32(static_cast<std::uint32_t>(operands.size()));
  std::vector<std::vector<std::byte>> columns(snippet.in.size());
  for (std::size_t i = 0; i < snippet.in.size(); ++i) {
    const std::size_t size = static_cast<std::size_t>(stored_width(snippet.in[i]) / 8);
    for (const Row& row : operands)
      for (std::size_t k = 0; k < size; ++k)
        columns[i].push_back(static_cast<std::byte>(row.at(i) >> (8 * k)));
    arguments.u64(memory.add_input("in" + std::to_string(i), columns[i]));
  }
  std::vector<std::uint64_t> outputs;
  for (std::size_t i = 0; i < snippet.out.size(); ++i) {
    const std::size_t size = static_cast<std::size_t>(stored_width(snippet.out[i]) / 8);
    outputs.push_back(memory.add_output("out" + std::to_string(i), size * operands.size()));
    arguments.u64(outputs.back());
  }
  Options options;
  options.host_threads = 1;
  const auto blocks = static_cast<std::uint32_t>((operands.size() + 63) / 64);
  const LaunchReport report = run(*module, memory, {blocks, 1, 1}, {64, 1, 1}, arguments, options);
  if (report.error || !report.findings.empty() || !report.completed) {
    ADD_FAILURE() << snippet.text << "\n" << describe(report);
    return {};
  }
  std::vector<Row> results(operands.size());
  for (std::size_t i = 0; i < snippet.out.size(); ++i) {
    const std::size_t size = static_cast<std::size_t>(stored_width(snippet.out[i]) / 8);
    const auto bytes = read_all<std::uint8_t>(memory, outputs[i], size * operands.size());
    for (std::size_t n = 0; n < operands.size(); ++n) {
      Bits value = 0;
      for (std::size_t k = 0; k < size; ++k) value |= Bits{bytes[n * size + k]} << (8 * k);
      results[n].push_back(value);
    }
  }
  return results;
}

void expect_model(const Snippet& snippet, const std::vector<Row>& operands, const Model& model) {
  const std::vector<Row> results = evaluate(snippet, operands);
  std::size_t wrong = 0;
  std::ostringstream first;
  for (std::size_t n = 0; n < results.size(); ++n) {
    const std::vector<Want> wanted = model(operands[n]);
    ASSERT_EQ(wanted.size(), snippet.out.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (satisfied(wanted[i], snippet.out[i], results[n][i])) continue;
      if (++wrong > 5) continue;
      first << "\n  operands";
      for (const Bits operand : operands[n]) first << " " << hex(operand);
      first << ": output " << i << " want "
            << (wanted[i].kind == Want::Kind::kNan ? std::string("NaN") : hex(wanted[i].bits)) << " got "
            << hex(results[n][i]);
    }
  }
  EXPECT_EQ(wrong, 0u) << snippet.text << ": " << wrong << " of " << operands.size() << " rows differ"
                       << first.str();
}

}  // namespace moe4::ptx::test
