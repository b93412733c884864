// Test support: ptxas on a file, and the machine code inside the cubin it makes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace moe4::gpu::test {

struct Assembled {
  bool ok = false;
  std::string log;  // with -v: registers, spills
  // ".text.ENTRY" -> its bytes, for every code section.
  std::map<std::string, std::vector<std::uint8_t>> code;
};

// ptxas -arch=sm_ARCH -v FLAGS ptx_path.
Assembled assemble(const std::string& ptx_path, const std::string& arch, const std::string& flags);

// The same for text, by way of a file in the test's temporary folder.
Assembled assemble_text(const std::string& text, const std::string& arch, const std::string& flags);

}  // namespace moe4::gpu::test
