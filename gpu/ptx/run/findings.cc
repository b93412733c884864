#include "gpu/ptx/run/findings.h"

#include <array>
#include <cstdio>

namespace moe4::ptx {

std::string_view name_of(Check check) {
  constexpr std::array<std::string_view, 16> kNames{
      "out-of-bounds", "misaligned",       "input-written",      "uninitialized",   "shared-race",
      "global-race",   "barrier-deadlock", "barrier-divergence", "invalid-operand", "trap",
      "budget",        "async-pending",    "proxy-fence",        "mbarrier",        "wgmma",
      "cluster"};
  const auto index = static_cast<std::size_t>(check);
  return index < kNames.size() ? kNames[index] : "?";
}

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string to_string(Dim3 dim) {
  return "(" + std::to_string(dim.x) + "," + std::to_string(dim.y) + "," + std::to_string(dim.z) + ")";
}

Place place_of(const Program& program, const Function& function, std::uint32_t instr) {
  const SourcePlace& source = function.sources[function.code[instr].source];
  Place place;
  place.ptx_line = source.line;
  place.instruction = source.text;
  if (source.file < program.files.size()) place.source_file = program.files[source.file];
  place.source_line = source.source_line;
  return place;
}

namespace {

std::string to_string(const Place& place) {
  std::string text = "`" + place.instruction + "` (PTX line " + std::to_string(place.ptx_line);
  if (place.source_line > 0) text += ", " + place.source_file + ":" + std::to_string(place.source_line);
  return text + ") in block " + moe4::ptx::to_string(place.block) + " thread " +
         moe4::ptx::to_string(place.thread);
}

}  // namespace

std::string to_string(const Finding& finding) {
  std::string text(name_of(finding.check));
  if (finding.formal) text += " (formal)";
  text += " in " + finding.kernel + ": " + finding.message;
  if (finding.place.ptx_line > 0) text += "; at " + to_string(finding.place);
  if (finding.other) text += "; the other side: " + to_string(*finding.other);
  if (finding.count > 1) text += "; " + std::to_string(finding.count) + " times";
  return text;
}

}  // namespace moe4::ptx
