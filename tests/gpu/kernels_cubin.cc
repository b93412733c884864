#include "tests/gpu/kernels_cubin.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace moe4::gpu::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, Bytes> code_sections(const Bytes& cubin) {
  std::map<std::string, Bytes> sections;
  Elf64_Ehdr header;
  if (cubin.size() < sizeof(header)) return sections;
  std::memcpy(&header, cubin.data(), sizeof(header));
  std::vector<Elf64_Shdr> table(header.e_shnum);
  if (header.e_shoff + table.size() * sizeof(Elf64_Shdr) > cubin.size()) return sections;
  std::memcpy(table.data(), cubin.data() + header.e_shoff, table.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : table) {
    const std::string name(reinterpret_cast<const char*>(
        cubin.data() + table.at(header.e_shstrndx).sh_offset + section.sh_name));
    if (!name.starts_with(".text.")) continue;
    const auto begin = cubin.begin() + static_cast<std::ptrdiff_t>(section.sh_offset);
    sections[name] = Bytes(begin, begin + static_cast<std::ptrdiff_t>(section.sh_size));
  }
  return sections;
}

std::string scratch_path(const std::string& extension) {
  static int count = 0;
  return testing::TempDir() + "moe4_ptxas_" + std::to_string(getpid()) + "_" + std::to_string(++count) +
         extension;
}

}  // namespace

Assembled assemble(const std::string& ptx_path, const std::string& arch, const std::string& flags) {
  Assembled result;
  const std::string cubin = scratch_path(".cubin");
  const std::string command = std::string("'") + MOE4_PTXAS + "' -v -arch=sm_" + arch + " " + flags + " '" +
                              ptx_path + "' -o '" + cubin + "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char line[512];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) result.log += line;
  result.ok = pclose(pipe) == 0;
  if (result.ok) result.code = code_sections(read_file(cubin));
  std::remove(cubin.c_str());
  return result;
}

Assembled assemble_text(const std::string& text, const std::string& arch, const std::string& flags) {
  const std::string path = scratch_path(".ptx");
  std::ofstream(path) << text;
  Assembled result = assemble(path, arch, flags);
  std::remove(path.c_str());
  return result;
}

}  // namespace moe4::gpu::test
