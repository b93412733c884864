#include "gpu/device/two_patterns.h"

#include <algorithm>

namespace moe4::gpu {
namespace {

ptx::Finding uninitialized(const std::string& kernel, std::string message) {
  ptx::Finding finding;
  finding.check = ptx::Check::kUninitialized;
  finding.kernel = kernel;
  finding.message = std::move(message);
  return finding;
}

bool same_fault(const ptx::Finding& a, const ptx::Finding& b) {
  return a.check == b.check && a.place.ptx_line == b.place.ptx_line && a.place.block == b.place.block &&
         a.place.thread == b.place.thread;
}

}  // namespace

std::optional<OutputDifference> compare_output(const ptx::Memory& one, const ptx::Memory& other,
                                               std::uint64_t address, std::uint64_t bytes) {
  std::vector<std::byte> a(bytes), b(bytes);
  one.read(address, a);
  other.read(address, b);
  const std::vector<bool> written_a = one.written(address);
  const std::vector<bool> written_b = other.written(address);
  OutputDifference difference;
  for (std::uint64_t n = 0; n < bytes; ++n) {
    if (written_a[n] == written_b[n] && (!written_a[n] || a[n] == b[n])) continue;
    if (difference.bytes++ == 0) difference.first = n;
  }
  if (difference.bytes == 0) return std::nullopt;
  return difference;
}

ptx::Finding finding_of(const std::string& kernel, const std::string& buffer,
                        const OutputDifference& difference) {
  return uninitialized(kernel,
                       std::to_string(difference.bytes) + " bytes of " + buffer + ", first at offset " +
                           std::to_string(difference.first) +
                           ", depend on memory that nothing wrote: they differ between two fill patterns");
}

void add_differences(const std::string& kernel, const ptx::LaunchReport& one, const ptx::LaunchReport& other,
                     std::vector<ptx::Finding>& findings) {
  const std::vector<ptx::Finding> known = findings;
  for (const ptx::Finding& finding : other.findings) {
    const bool seen = std::any_of(known.begin(), known.end(),
                                  [&](const ptx::Finding& f) { return same_fault(f, finding); });
    if (!seen) findings.push_back(finding);
  }
  if (one.completed != other.completed || one.path_hash != other.path_hash) {
    findings.push_back(uninitialized(
        kernel,
        "a branch or an address depends on memory that nothing wrote: it differs between two fill patterns"));
  }
}

}  // namespace moe4::gpu
