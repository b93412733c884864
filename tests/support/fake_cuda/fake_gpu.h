// What stands behind the fake driver's entry points: memory, modules and launches on the PTX executor.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device/cuda_driver.h"
#include "gpu/ptx/ptx.h"
#include "tests/support/fake_cuda/fake_words.h"

namespace moe4::fake {

struct FakeFunction {
  const ptx::Module* module = nullptr;
  ptx::EntryInfo entry;
};

struct FakeModule {
  ptx::Module module;
  std::vector<std::unique_ptr<FakeFunction>> functions;
};

// A launch, or a fill, with all that it needs later.
struct Work {
  const FakeFunction* function = nullptr;
  ptx::Launch launch;
  gpu::CudaAddress to = 0;  // a fill, where there is no function
  unsigned char value = 0;
  std::size_t bytes = 0;
};

class FakeGpu {
 public:
  // The words are read anew: what an earlier test broke is whole again.
  gpu::CudaStatus start();
  const Words& words() const { return words_; }
  int capability() const { return static_cast<int>(words_.number("arch", 90)); }

  gpu::CudaStatus allocate(gpu::CudaAddress* address, std::size_t bytes);
  gpu::CudaStatus release(gpu::CudaAddress address);
  std::size_t free_bytes() const { return limit() - used_; }
  std::size_t limit() const { return static_cast<std::size_t>(words_.number("memory", 4096)) << 20; }
  // The host bytes of [address, address + bytes); null: they are not all allocated.
  std::byte* at(gpu::CudaAddress address, std::size_t bytes);

  gpu::CudaStatus load(const void* image, FakeModule** module, std::string* log);

  // A stream: what is asked for happens at once, or is recorded while it captures.
  gpu::CudaStatus submit(Work work);
  std::optional<std::vector<Work>> captured;

  // After a fault every call answers with it.
  gpu::CudaStatus broken = gpu::cuda_status::kSuccess;
  bool hangs = false;

 private:
  gpu::CudaStatus run(const Work& work);
  gpu::CudaStatus execute(const Work& work);

  Words words_;
  std::unique_ptr<ptx::Memory> memory_ = std::make_unique<ptx::Memory>();
  std::map<gpu::CudaAddress, std::size_t> blocks_;
  std::size_t used_ = 0;
  long launches_ = 0;
};

}  // namespace moe4::fake
