#include "tests/support/fake_cuda/fake_gpu.h"

#include <elf.h>

#include <csignal>
#include <cstring>
#include <set>

#include "gpu/device/cuda_image.h"
#include "gpu/launch/variant.h"
#include "gpu/ptx/memory/memory_impl.h"
#include "oracle/subject/gpu/executor_tensor_core.h"

namespace moe4::fake {
namespace {

using namespace gpu::cuda_status;

// A unit whose first output of each tile has the wrong sign.
const ptx::TensorCore& broken_core() {
  static const ptx::TensorCore kCore = [] {
    ptx::TensorCore core = *oracle::executor_tensor_core("hopper");
    core.context = oracle::executor_tensor_core("hopper");
    core.multiply_add = [](const void* context, const ptx::TensorTile& tile) {
      const auto& whole = *static_cast<const ptx::TensorCore*>(context);
      whole.multiply_add(whole.context, tile);
      tile.d[0] ^= 0x80000000u;
    };
    return core;
  }();
  return kCore;
}

// The entries of machine code: its sections ".text.ENTRY".
std::set<std::string> entries_of(const std::byte* elf) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf, sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), elf + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::set<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    const std::string name(
        reinterpret_cast<const char*>(elf + sections.at(header.e_shstrndx).sh_offset + section.sh_name));
    if (name.starts_with(".text.")) names.insert(name.substr(6));
  }
  return names;
}

// The executor runs no machine code: the text that it was made of stands for it.
std::string text_of(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return static_cast<const char*>(image);
  const std::set<std::string> entries = entries_of(bytes);
  for (const gpu::Variant& variant : gpu::variants()) {
    if (entries.contains(std::string(variant.name))) return std::string(variant.ptx);
  }
  return "";
}

}  // namespace

gpu::CudaStatus FakeGpu::start() {
  *this = FakeGpu();
  words_ = Words::of_environment();
  return words_.has("no-device") ? kNoDevice : kSuccess;
}

gpu::CudaStatus FakeGpu::allocate(gpu::CudaAddress* address, std::size_t bytes) {
  if (bytes > free_bytes()) return kOutOfMemory;
  *address = memory_->add_zeroed("allocation", bytes);
  if (*address == 0) return kOutOfMemory;
  blocks_[*address] = bytes;
  used_ += bytes;
  return kSuccess;
}

gpu::CudaStatus FakeGpu::release(gpu::CudaAddress address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return 1;
  used_ -= found->second;
  blocks_.erase(found);
  if (blocks_.empty()) memory_ = std::make_unique<ptx::Memory>();  // its address space is finite
  return kSuccess;
}

std::byte* FakeGpu::at(gpu::CudaAddress address, std::size_t bytes) {
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  const auto& [begin, size] = *std::prev(next);
  if (address - begin > size || bytes > size - (address - begin)) return nullptr;
  return memory_->impl().find(begin, size)->host + (address - begin);
}

gpu::CudaStatus FakeGpu::load(const void* image, FakeModule** module, std::string* log) {
  const bool code = std::memcmp(image, ELFMAG, SELFMAG) == 0;
  if (code && words_.has("refuse-code")) return kNoBinaryForGpu;
  if (!code && words_.has("refuse-ptx")) return kUnsupportedPtx;
  const std::string text = text_of(image);
  if (!code && !gpu::runs_on(gpu::ptx_target(text), capability())) return kNoBinaryForGpu;
  ptx::Error error;
  std::optional<ptx::Module> parsed = ptx::Module::parse(text, "fake", &error);
  if (!parsed) {
    *log = error.message;
    return 218;  // CUDA_ERROR_INVALID_PTX
  }
  auto* loaded = new FakeModule{std::move(*parsed), {}};
  for (const ptx::EntryInfo& entry : loaded->module.entries()) {
    loaded->functions.push_back(std::make_unique<FakeFunction>(FakeFunction{&loaded->module, entry}));
  }
  *module = loaded;
  return kSuccess;
}

gpu::CudaStatus FakeGpu::submit(Work work) {
  if (broken != kSuccess) return broken;
  if (captured) {
    captured->push_back(std::move(work));
    return kSuccess;
  }
  return run(work);
}

// A fault of a kernel shows when the stream is asked, not when the launch returns.
gpu::CudaStatus FakeGpu::run(const Work& work) {
  if (work.function == nullptr) {
    std::byte* to = at(work.to, work.bytes);
    if (to == nullptr) return 1;
    std::memset(to, work.value, work.bytes);
    return kSuccess;
  }
  ++launches_;
  if (launches_ == words_.number("die", 0)) std::raise(SIGKILL);
  if (launches_ == words_.number("crash", 0)) {
    broken = kIllegalAddress;
    return kSuccess;
  }
  return execute(work);
}

gpu::CudaStatus FakeGpu::execute(const Work& work) {
  const std::string model = words_.text("model", "hopper");
  ptx::Options options;
  options.checks = false;
  options.instruction_budget = static_cast<std::uint64_t>(words_.number("budget", 1L << 33));
  options.tensor_core = model == "broken" ? &broken_core() : oracle::executor_tensor_core(model);
  const ptx::LaunchReport report = ptx::launch(*work.function->module, *memory_, work.launch, options);
  if (report.error) return 1;  // CUDA_ERROR_INVALID_VALUE
  for (const ptx::Finding& finding : report.findings) {
    if (finding.formal) continue;
    switch (finding.check) {
      case ptx::Check::kBudget:
      case ptx::Check::kBarrierDeadlock:
        hangs = true;
        break;
      case ptx::Check::kMisaligned:
        broken = kMisalignedAddress;
        break;
      case ptx::Check::kTrap:
        broken = kLaunchFailed;
        break;
      case ptx::Check::kOutOfBounds:
        broken = kIllegalAddress;
        break;
      default:
        break;
    }
  }
  return kSuccess;
}

}  // namespace moe4::fake
