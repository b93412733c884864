// FILE-12: the writer's bytes are a function of the content alone.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "oracle/file/atomic_file.h"
#include "oracle/file/safetensors.h"

namespace moe4::oracle {
namespace {

using Named = std::pair<std::string, const Tensor*>;

// Wide elements first, then by name: so every tensor is aligned to its element without holes.
std::vector<Named> data_order(const std::map<std::string, const Tensor*>& tensors) {
  std::vector<Named> order(tensors.begin(), tensors.end());
  std::stable_sort(order.begin(), order.end(), [](const Named& a, const Named& b) {
    return size_of(a.second->dtype()) > size_of(b.second->dtype());
  });
  return order;
}

std::string header_text(const std::vector<Named>& order, const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();  // keys sorted
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : order) {
    const std::uint64_t end = at + tensor->bytes();
    header[name] = {{"dtype", std::string(name_of(tensor->dtype()))},
                    {"shape", tensor->shape()},
                    {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path,
                         const std::map<std::string, const Tensor*>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  const std::vector<Named> order = data_order(tensors);
  const std::string text = header_text(order, metadata);
  unsigned char length[8];
  for (std::size_t n = 0; n < sizeof length; ++n)
    length[n] = static_cast<unsigned char>(text.size() >> (8 * n));

  AtomicFile file(path);
  file.write(length, sizeof length);
  file.write(text.data(), text.size());
  for (const auto& [name, tensor] : order) file.write(tensor->data(), tensor->bytes());
  return file.commit();
}

}  // namespace moe4::oracle
