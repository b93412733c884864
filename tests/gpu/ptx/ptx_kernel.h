// Test support: PTX text around a few instructions, launches, and the comparison of a table of operands with
// a host model. Nothing here knows what an instruction means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/ptx.h"

namespace moe4::ptx::test {

using Bits = std::uint64_t;
using Row = std::vector<Bits>;

// ---- whole kernels
// ---------------------------------------------------------------------------------------------

// Module header for sm_90a.
std::string module_header();

// An entry with the usual registers declared (%p<16> pred, %h<32> b16, %r<64> b32, %f<32> f32, %rd<64> b64,
// %fd<16> f64). parameters is what stands between the parentheses.
std::string entry(std::string_view name, std::string_view parameters, std::string_view body,
                  std::string_view directives = "");

// module_header() + one entry "kernel".
std::string kernel(std::string_view parameters, std::string_view body, std::string_view directives = "");

// Line (from 1) of the only line of text that contains marker; fails the test when there is not exactly one.
int line_of(std::string_view text, std::string_view marker);

// Parses; fails the test with the error when it does not.
Module parse_valid(std::string_view text);

// A parameter block by C's layout: each value aligned to its size.
class Arguments {
 public:
  Arguments& u64(std::uint64_t value);
  Arguments& u32(std::uint32_t value);
  Arguments& f32(float value);
  Arguments& u16(std::uint16_t value);
  Arguments& u8(std::uint8_t value);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  Arguments& put(std::uint64_t value, std::size_t size);
  std::vector<std::byte> bytes_;
};

// Launches entry "kernel" (or `name`) of the module.
LaunchReport run(const Module& module, Memory& memory, Dim3 grid, Dim3 block, const Arguments& arguments,
                 const Options& options = {}, std::uint32_t dynamic_shared = 0,
                 const std::string& name = "kernel");

std::string describe(const LaunchReport& report);
// Ran to the end, without error and without finding.
void expect_clean(const LaunchReport& report);

template <class T>
std::vector<T> read_all(const Memory& memory, std::uint64_t address, std::size_t count) {
  std::vector<T> values(count);
  memory.read(address, std::as_writable_bytes(std::span<T>(values)));
  return values;
}

// ---- one instruction against a model
// -------------------------------------------------------------------------

// Instructions over named registers: inputs %a %b %c %e, outputs %d %q. Types are PTX types; "pred" is loaded
// from and stored to a 32-bit 0 or 1; 8-bit types live in 16-bit registers, as PTX has no 8-bit arithmetic.
struct Snippet {
  std::string text;
  std::vector<std::string> in;
  std::vector<std::string> out;
};

// "opcode %d, %a, %b, …;" with one output.
Snippet instruction(std::string_view opcode, std::string out, std::vector<std::string> in);

// What a model demands of an output.
struct Want {
  enum class Kind { kExactly, kNan, kEither, kAnything };
  Bits bits = 0;
  Kind kind = Kind::kExactly;
  Bits other = 0;
  Want(Bits b) : bits(b) {}
  static Want nan() { return Want(0, Kind::kNan); }
  static Want anything() { return Want(0, Kind::kAnything); }
  static Want either(Bits a, Bits b) { return Want(a, Kind::kEither, b); }

 private:
  Want(Bits b, Kind k, Bits o = 0) : bits(b), kind(k), other(o) {}
};

using Model = std::function<std::vector<Want>(const Row&)>;

// Runs the snippet, one thread a row, and compares every output with the model.
void expect_model(const Snippet& snippet, const std::vector<Row>& operands, const Model& model);

// Runs it and returns the outputs; an error or a finding fails the test and leaves the result empty.
std::vector<Row> evaluate(const Snippet& snippet, const std::vector<Row>& operands);

// Bits that a value of this PTX type takes ("f16x2": 32).
int width_of(std::string_view type);
bool is_nan(std::string_view type, Bits bits);

}  // namespace moe4::ptx::test
