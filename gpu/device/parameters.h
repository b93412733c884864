// The parameter block of an entry: arguments laid out as its PTX declares them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device/device.h"

namespace moe4::gpu {

// The 128 bytes that the device has for a map whose address is set; nullopt, and why, where it takes none.
using MapEncoder =
    std::function<std::optional<ptx::TensorMapBytes>(const ptx::TensorMap& map, std::string* error)>;

// `address` turns a buffer into the device's address of it. nullopt: *error says which argument does not fit
// the entry, because their number or the size of one differs, or which map the encoder refuses.
std::optional<std::vector<std::byte>> parameter_block(const ptx::EntryInfo& entry,
                                                      const std::vector<Argument>& arguments,
                                                      const std::function<std::uint64_t(BufferId)>& address,
                                                      const MapEncoder& encode_map, std::string* error);

}  // namespace moe4::gpu
