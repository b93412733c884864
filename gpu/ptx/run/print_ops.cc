// vprintf and __assertfail: what a kernel has to say.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr std::size_t kMaxString = 4096, kMaxField = 512;

// Memory as one lane sees it by generic addresses.
class LaneMemory {
 public:
  LaneMemory(Warp& warp, unsigned lane) : warp_(warp), block_(*warp.block), lane_(lane) {}

  // False: part of it is nowhere.
  bool read(std::uint64_t address, std::span<std::byte> to) const {
    const Run& run = block_.run();
    const std::uint64_t window = address & ~(kWindowBytes - 1), at = address & (kWindowBytes - 1);
    const auto copy = [&](const std::byte* from, std::uint64_t bytes) {
      if (at > bytes || to.size() > bytes - at) return false;
      std::memcpy(to.data(), from + at, to.size());
      return true;
    };
    if (window == kSharedWindow) return copy(block_.shared(), run.shared_end);
    if (window == kLocalWindow) return frame(at, to);
    if (window == kParamWindow) return copy(run.launch->parameters.data(), run.launch->parameters.size());
    if (window == kConstWindow) return copy(run.constants.data(), run.constants.size());
    const Buffer* buffer = window == kGlobalsWindow ? run.globals : run.memory->find(address, to.size());
    if (buffer == nullptr || address - buffer->address > buffer->bytes ||
        to.size() > buffer->bytes - (address - buffer->address)) {
      return false;
    }
    read_global(block_, *buffer, address - buffer->address, to);
    return true;
  }
  // Of the lane's local memory, where the arguments of a call lie too.
  bool frame(std::uint64_t at, std::span<std::byte> to) const {
    const std::uint64_t bytes = block_.function().local_bytes;
    if (at > bytes || to.size() > bytes - at) return false;
    std::memcpy(to.data(), block_.local(warp_) + std::size_t{lane_} * block_.local_stride() + at, to.size());
    return true;
  }
  std::uint64_t frame_value(std::uint64_t at, unsigned bytes) const {
    std::uint64_t value = 0;
    frame(at, std::as_writable_bytes(std::span(&value, 1)).first(bytes));
    return value;
  }
  std::string string(std::uint64_t address) const {
    std::string text;
    for (char c = 0; text.size() < kMaxString; text += c, ++address) {
      if (!read(address, std::as_writable_bytes(std::span(&c, 1)))) return text + "…";
      if (c == '\0') break;
    }
    return text;
  }

 private:
  Warp& warp_;
  Block& block_;
  unsigned lane_;
};

// The arguments of a vprintf: packed as C does, each on a multiple of its size.
class PrintArguments {
 public:
  PrintArguments(const LaneMemory& memory, std::uint64_t address) : memory_(memory), at_(address) {}
  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    memory_.read(at_, std::as_writable_bytes(std::span(&value, 1)));
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  std::uint32_t count() const { return count_; }

 private:
  const LaneMemory& memory_;
  std::uint64_t at_;
  std::uint32_t count_ = 0;
};

// One conversion, its flags, width and precision bounded.
template <class T>
std::string formatted(const std::string& spec, T value) {
  char text[kMaxField];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(text, sizeof text, spec.c_str(), value);
#pragma GCC diagnostic pop
  return text;
}

std::string format(const LaneMemory& memory, const std::string& text, PrintArguments& arguments) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    std::string spec = "%";
    const auto digits = [&] {
      int value = 0;
      bool any = false;
      if (i + 1 < text.size() && text[i + 1] == '*') {
        ++i;
        value = static_cast<int>(arguments.next<std::int32_t>());
        any = true;
      } else {
        for (; i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9'; ++i, any = true) {
          value = std::min(value * 10 + (text[i + 1] - '0'), 256);
        }
      }
      if (any) spec += std::to_string(std::clamp(value, -256, 256));
    };
    for (; i + 1 < text.size() && std::strchr("-+ #0", text[i + 1]) != nullptr; ++i) spec += text[i + 1];
    digits();
    if (i + 1 < text.size() && text[i + 1] == '.') {
      ++i;
      spec += '.';
      digits();
    }
    unsigned longs = 0;
    for (; i + 1 < text.size() && std::strchr("hlLjzt", text[i + 1]) != nullptr; ++i) {
      if (text[i + 1] != 'h') ++longs;
    }
    if (++i >= text.size()) break;
    switch (const char conversion = text[i]) {
      case '%':
        out += '%';
        break;
      case 'd':
      case 'i':
        out += formatted(spec + "lld", static_cast<long long>(longs != 0 ? arguments.next<std::int64_t>()
                                                                         : arguments.next<std::int32_t>()));
        break;
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        out += formatted(spec + "ll" + conversion,
                         static_cast<unsigned long long>(longs != 0 ? arguments.next<std::uint64_t>()
                                                                    : arguments.next<std::uint32_t>()));
        break;
      case 'c':
        out += static_cast<char>(arguments.next<std::int32_t>());
        break;
      case 's':
        out += formatted(spec + "s", memory.string(arguments.next<std::uint64_t>()).c_str());
        break;
      case 'p':
        out += formatted(spec + "llx", static_cast<unsigned long long>(arguments.next<std::uint64_t>()));
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        out += formatted(spec + conversion, arguments.next<double>());
        break;
      default:
        out += spec + conversion;
        break;
    }
  }
  return out;
}

}  // namespace

void run_print(Warp& warp, const Instr& instr, LaneMask mask) {
  const std::uint32_t* offsets = warp.function->lists.data() + instr.aux;
  Block& block = *warp.block;
  for_lanes(mask, [&](unsigned lane) {
    const LaneMemory memory(warp, lane);
    PrintArguments arguments(memory, memory.frame_value(offsets[1], 8));
    block.print(format(memory, memory.string(memory.frame_value(offsets[0], 8)), arguments));
    if (instr.imm == 0) return;  // the result is not wanted
    const std::uint32_t count = arguments.count();
    std::memcpy(block.local(warp) + std::size_t{lane} * block.local_stride() + offsets[2], &count,
                sizeof count);
  });
}

void run_assert(Warp& warp, const Instr& instr, LaneMask mask) {
  const std::uint32_t* offsets = warp.function->lists.data() + instr.aux;
  const LaneMemory memory(warp, first_lane(mask));
  const auto text = [&](unsigned i) { return memory.string(memory.frame_value(offsets[i], 8)); };
  warp.block->fault(Check::kTrap, warp, instr_index(warp, instr), first_lane(mask),
                    "the assertion `" + text(0) + "` of " + text(3) + " at " + text(1) + ":" +
                        std::to_string(memory.frame_value(offsets[2], 4)) + " does not hold",
                    static_cast<std::uint64_t>(std::popcount(mask)));
}

}  // namespace moe4::ptx
