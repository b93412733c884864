// What ptxas said of an entry, from the log that the build embeds beside its machine code.
#pragma once

#include <optional>
#include <string_view>

namespace moe4::gpu {

struct EntryResources {
  int registers = 0;
  int stack = 0, spill_stores = 0, spill_loads = 0;  // bytes
  int barriers = 0;
  int static_shared = 0;  // bytes
};

// nullopt: the log does not speak of the entry.
std::optional<EntryResources> resources_of(std::string_view log, std::string_view entry);

}  // namespace moe4::gpu
