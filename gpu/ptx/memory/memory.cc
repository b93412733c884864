#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu/ptx/memory/memory_impl.h"

namespace moe4::ptx {

void Memory::Impl::make_writable(Buffer& buffer) {
  const std::uint64_t whole = buffer.page_count() * kPageBytes;
  buffer.owned = SparseBytes(whole);
  buffer.written = SparseBytes(whole);
  buffer.pages = SparseBytes(buffer.page_count() * sizeof(std::uint32_t));
  buffer.host = buffer.owned.data();
}

std::uint64_t Memory::Impl::add(std::string name, Buffer::Kind kind, std::uint64_t bytes,
                                const std::byte* host) {
  constexpr std::uint64_t kBefore = (std::uint64_t{1} << 33) + 256, kAfter = std::uint64_t{1} << 32;
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 42, kMaxSlots = 1u << 16;
  if (bytes > kMaxBytes) return 0;
  auto buffer = std::make_unique<Buffer>();
  buffer->name = std::move(name);
  buffer->kind = kind;
  buffer->bytes = bytes;
  const std::uint64_t slot = slots_.size();
  const std::uint64_t slots = (kBefore + bytes + kAfter + (std::uint64_t{1} << kSlotShift) - 1) >> kSlotShift;
  if (slot + slots > kMaxSlots) return 0;
  buffer->address = (slot << kSlotShift) + kBefore;
  if (kind == Buffer::Kind::kInput) {
    buffer->host = const_cast<std::byte*>(host);
  } else {
    make_writable(*buffer);
    if (buffer->owned.data() == nullptr || buffer->written.data() == nullptr ||
        buffer->pages.data() == nullptr) {
      return 0;
    }
  }
  slots_.resize(slot + slots, static_cast<std::uint32_t>(buffers_.size()));
  buffers_.push_back(std::move(buffer));
  return buffers_.back()->address;
}

Buffer* Memory::Impl::starting_at(std::uint64_t address) const {
  Buffer* buffer = near(address);
  return buffer != nullptr && buffer->address == address ? buffer : nullptr;
}

void Memory::Impl::begin_launch(std::byte poison) {
  ++launch_;
  saved_.clear();
  if (poison != poison_) refresh_poison(poison_, poison);
  poison_ = poison;
}

void Memory::Impl::refresh_poison(std::byte, std::byte to) {
  for (const auto& [buffer, page] : existing_) {
    const std::byte* flags = buffer->written.data() + page * kPageBytes;
    std::byte* data = buffer->host + page * kPageBytes;
    for (std::uint64_t i = 0; i < kPageBytes; ++i) {
      if (flags[i] == std::byte{0}) data[i] = to;
    }
  }
}

void Memory::Impl::touch_page(Buffer& buffer, std::uint64_t page) {
  const std::lock_guard lock(mutex_);
  if (buffer.page(page).load(std::memory_order_relaxed) == launch_) return;
  std::byte* data = buffer.host + page * kPageBytes;
  std::byte* flags = buffer.written.data() + page * kPageBytes;
  Saved saved{&buffer, page, buffer.page(page).load(std::memory_order_relaxed), {}, {}};
  if (saved.previous == 0 && buffer.kind == Buffer::Kind::kOutput) {
    std::memset(data, std::to_integer<int>(poison_), kPageBytes);
    existing_.emplace_back(&buffer, page);
  } else {
    saved.data.assign(data, data + kPageBytes);
    saved.flags.assign(flags, flags + kPageBytes);
  }
  saved_.push_back(std::move(saved));
  buffer.page(page).store(launch_, std::memory_order_release);
}

void Memory::Impl::undo_launch() {
  for (Saved& saved : saved_) {
    std::byte* data = saved.buffer->host + saved.page * kPageBytes;
    std::byte* flags = saved.buffer->written.data() + saved.page * kPageBytes;
    if (saved.data.empty()) {
      std::memset(flags, 0, kPageBytes);
    } else {
      std::memcpy(data, saved.data.data(), kPageBytes);
      std::memcpy(flags, saved.flags.data(), kPageBytes);
    }
    saved.buffer->page(saved.page).store(saved.previous, std::memory_order_relaxed);
  }
  std::erase_if(existing_, [](const auto& entry) {
    return entry.first->page(entry.second).load(std::memory_order_relaxed) == 0;
  });
  saved_.clear();
}

void Memory::Impl::read(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> to) const {
  std::uint64_t done = 0;
  while (done < to.size()) {
    const std::uint64_t at = offset + done;
    const std::uint64_t step = std::min<std::uint64_t>(to.size() - done, kPageBytes - at % kPageBytes);
    if (exists(buffer, at)) {
      std::memcpy(to.data() + done, buffer.host + at, step);
    } else {
      std::memset(to.data() + done, std::to_integer<int>(poison_), step);
    }
    done += step;
  }
}

Buffer& Memory::Impl::globals_of(const Program& program) {
  for (const ModuleGlobals& globals : globals_) {
    if (globals.program == program.id) return *globals.buffer;
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->name = ".global variables of " + program.name;
  buffer->kind = Buffer::Kind::kZeroed;
  buffer->address = kGlobalsWindow;
  buffer->bytes = program.globals.bytes;
  make_writable(*buffer);
  for (const ModuleData::Piece& piece : program.globals.pieces) {
    std::memcpy(buffer->host + piece.at, piece.bytes.data(), piece.bytes.size());
  }
  globals_.push_back({program.id, std::move(buffer)});
  return *globals_.back().buffer;
}

Memory::Memory() : impl_(std::make_unique<Impl>()) {}
Memory::~Memory() = default;
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;

std::uint64_t Memory::add_input(std::string name, std::span<const std::byte> host) {
  return impl_->add(std::move(name), Buffer::Kind::kInput, host.size(), host.data());
}
std::uint64_t Memory::add_output(std::string name, std::uint64_t bytes) {
  return impl_->add(std::move(name), Buffer::Kind::kOutput, bytes, nullptr);
}
std::uint64_t Memory::add_zeroed(std::string name, std::uint64_t bytes) {
  return impl_->add(std::move(name), Buffer::Kind::kZeroed, bytes, nullptr);
}

void Memory::read(std::uint64_t address, std::span<std::byte> to) const {
  const Buffer* buffer = impl_->find(address, to.size());
  if (buffer != nullptr) impl_->read(*buffer, address - buffer->address, to);
}

std::vector<bool> Memory::written(std::uint64_t address) const {
  const Buffer* buffer = impl_->starting_at(address);
  if (buffer == nullptr || !buffer->writable()) return {};
  std::vector<bool> result(buffer->bytes, false);
  for (std::uint64_t page = 0; page < buffer->page_count(); ++page) {
    if (buffer->page(page).load(std::memory_order_relaxed) == 0) continue;
    const std::uint64_t end = std::min(buffer->bytes, (page + 1) * kPageBytes);
    for (std::uint64_t i = page * kPageBytes; i < end; ++i)
      result[i] = buffer->written.data()[i] != std::byte{0};
  }
  return result;
}

}  // namespace moe4::ptx
