// The buffers behind a Memory.
//
// Address space: slots of 64 GiB; a buffer starts 8 GiB and 256 bytes into its slot and ends at least 4 GiB
// before the end of its last one. Slot 0 holds the windows of program.h.
//
// A writable buffer is tracked in pages of 4 KiB. A page that a launch touches for the first time is saved,
// so that the launch can be undone; a page of an output that nothing has touched holds poison without
// existing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/ptx/memory/sparse_bytes.h"
#include "gpu/ptx/program/program.h"
#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr unsigned kSlotShift = 36;

struct Buffer {
  enum class Kind : std::uint8_t { kInput, kOutput, kZeroed };
  std::string name;
  Kind kind = Kind::kInput;
  std::uint64_t address = 0, bytes = 0;
  std::byte* host = nullptr;  // const for inputs, by construction: stores to them are refused

  // Writable buffers only.
  SparseBytes owned, written;  // written: one flag a byte
  SparseBytes pages;           // launch number that last touched each page, 0 never
  SparseBytes races;           // race.h
  unsigned race_granule = 0;   // of `races`

  bool writable() const { return kind != Kind::kInput; }
  std::atomic_ref<std::uint32_t> page(std::uint64_t index) const {
    return std::atomic_ref<std::uint32_t>(reinterpret_cast<std::uint32_t*>(pages.data())[index]);
  }
  std::uint64_t page_count() const { return (bytes + kPageBytes - 1) / kPageBytes; }
};

class Memory::Impl {
 public:
  std::uint64_t add(std::string name, Buffer::Kind kind, std::uint64_t bytes, const std::byte* host);

  // The buffer whose slots hold `address`, in bounds or not; nullptr when there is none.
  Buffer* near(std::uint64_t address) const {
    const std::uint64_t slot = address >> kSlotShift;
    if (slot >= slots_.size() || slots_[slot] == kNoBuffer) return nullptr;
    return buffers_[slots_[slot]].get();
  }
  Buffer* find(std::uint64_t address, std::uint64_t bytes) const {
    Buffer* buffer = near(address);
    if (buffer == nullptr || address < buffer->address || bytes > buffer->bytes ||
        address - buffer->address > buffer->bytes - bytes) {
      return nullptr;
    }
    return buffer;
  }
  Buffer* starting_at(std::uint64_t address) const;
  const std::vector<std::unique_ptr<Buffer>>& buffers() const { return buffers_; }

  // A launch: begin, touch pages before storing to them, then nothing, or undo.
  void begin_launch(std::byte poison);
  void undo_launch();
  void touch(Buffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t page = offset / kPageBytes; page <= (offset + bytes - 1) / kPageBytes; ++page) {
      if (buffer.page(page).load(std::memory_order_acquire) != launch_) touch_page(buffer, page);
    }
  }
  // Whether the page at `offset` exists; an output's page that doesn't is all poison.
  bool exists(const Buffer& buffer, std::uint64_t offset) const {
    return buffer.kind != Buffer::Kind::kOutput ||
           buffer.page(offset / kPageBytes).load(std::memory_order_acquire) != 0;
  }
  std::byte poison() const { return poison_; }
  void read(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> to) const;

  // 64 bytes of zeros for the grid barrier of cooperative launches: made at the first one. 0: no room left.
  std::uint64_t grid_workspace() {
    if (grid_workspace_ == 0) grid_workspace_ = add("grid workspace", Buffer::Kind::kZeroed, 64, nullptr);
    return grid_workspace_;
  }

  // .global variables of a module: made at its first launch, kept for the later ones.
  Buffer& globals_of(const Program& program);

 private:
  static constexpr std::uint32_t kNoBuffer = 0xffffffffu;
  struct Saved {
    Buffer* buffer = nullptr;
    std::uint64_t page = 0;
    std::uint32_t previous = 0;  // launch number of the page before; 0 and an output: it did not exist
    std::vector<std::byte> data, flags;
  };
  struct ModuleGlobals {
    std::uint64_t program = 0;
    std::unique_ptr<Buffer> buffer;
  };
  void touch_page(Buffer& buffer, std::uint64_t page);
  void refresh_poison(std::byte from, std::byte to);
  void make_writable(Buffer& buffer);

  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::uint32_t> slots_{kNoBuffer};
  std::vector<ModuleGlobals> globals_;
  std::byte poison_{0xFF};
  std::uint64_t grid_workspace_ = 0;
  std::uint32_t launch_ = 0;
  std::vector<Saved> saved_;
  std::vector<std::pair<Buffer*, std::uint64_t>> existing_;  // pages of outputs
  std::mutex mutex_;
};

}  // namespace moe4::ptx
