#include "gpu/launch/embedded_images.h"

#include <map>

namespace moe4::gpu {

std::span<const KernelImage> embedded_images(std::string_view file) {
  static const std::map<std::string_view, std::vector<KernelImage>> by_file = [] {
    std::map<std::string_view, std::vector<KernelImage>> files;
    for (const EmbeddedImage& image : all_embedded_images()) files[image.file].push_back(image.image);
    return files;
  }();
  const auto found = by_file.find(file);
  return found == by_file.end() ? std::span<const KernelImage>() : found->second;
}

}  // namespace moe4::gpu
