#include "gpu/device/parameters.h"

#include <cstring>

namespace moe4::gpu {
namespace {

std::uint32_t size_of(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kBuffer:
    case Argument::Kind::kU64:
      return 8;
    case Argument::Kind::kU8:
      return 1;
    case Argument::Kind::kU16:
      return 2;
    case Argument::Kind::kU32:
    case Argument::Kind::kF32:
      return 4;
    case Argument::Kind::kTensorMap:
      return ptx::kTensorMapBytes;
  }
  return 0;
}

}  // namespace

std::optional<std::vector<std::byte>> parameter_block(const ptx::EntryInfo& entry,
                                                      const std::vector<Argument>& arguments,
                                                      const std::function<std::uint64_t(BufferId)>& address,
                                                      const MapEncoder& encode_map, std::string* error) {
  if (arguments.size() != entry.parameters.size()) {
    *error = entry.name + " takes " + std::to_string(entry.parameters.size()) +
             " parameters, the launch gives " + std::to_string(arguments.size());
    return std::nullopt;
  }
  std::vector<std::byte> block(entry.parameter_bytes);
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const Argument& argument = arguments[n];
    const ptx::Parameter& parameter = entry.parameters[n];
    const std::uint32_t size = size_of(argument);
    if (size != parameter.size || parameter.offset + size > block.size()) {
      *error = entry.name + ": parameter " + std::to_string(n) + " (" + parameter.name + ") has " +
               std::to_string(parameter.size) + " bytes, the launch gives " + std::to_string(size);
      return std::nullopt;
    }
    if (argument.kind == Argument::Kind::kTensorMap) {
      ptx::TensorMap map = argument.map;
      map.address = address(argument.buffer);
      std::string refused;
      const std::optional<ptx::TensorMapBytes> bytes = encode_map(map, &refused);
      if (!bytes) {
        *error = entry.name + ": parameter " + std::to_string(n) + " (" + parameter.name + "): " + refused;
        return std::nullopt;
      }
      std::memcpy(block.data() + parameter.offset, bytes->data(), bytes->size());
      continue;
    }
    const std::uint64_t bits =
        argument.kind == Argument::Kind::kBuffer ? address(argument.buffer) : argument.bits;
    std::memcpy(block.data() + parameter.offset, &bits, size);  // little-endian, as PTX memory is
  }
  return block;
}

}  // namespace moe4::gpu
