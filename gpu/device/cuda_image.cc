#include "gpu/device/cuda_image.h"

#include <algorithm>
#include <cctype>

namespace moe4::gpu {
namespace {

constexpr std::string_view kCode = "sm_", kText = "compute_";

std::string_view number_of(std::string_view target) {
  for (const std::string_view prefix : {kCode, kText}) {
    if (target.starts_with(prefix)) return target.substr(prefix.size());
  }
  return {};
}

}  // namespace

int capability_of(std::string_view target) {
  int capability = 0;
  for (const char c : number_of(target)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    capability = 10 * capability + (c - '0');
  }
  return capability;
}

bool runs_on(std::string_view target, int capability) {
  const int own = capability_of(target);
  if (own == 0) return false;
  if (std::isalpha(static_cast<unsigned char>(target.back())) != 0) return own == capability;
  return target.starts_with(kText) ? own <= capability : own / 10 == capability / 10 && own <= capability;
}

const KernelImage* pick_image(std::span<const KernelImage> images, int capability) {
  const KernelImage* best = nullptr;
  const auto rank = [](const KernelImage& image) {
    return std::pair(image.target.starts_with(kCode), capability_of(image.target));
  };
  for (const KernelImage& image : images) {
    if (runs_on(image.target, capability) && (best == nullptr || rank(*best) < rank(image))) best = &image;
  }
  return best;
}

std::string ptx_target(std::string_view ptx) {
  const std::size_t at = ptx.find(".target");
  if (at == std::string_view::npos) return "";
  const std::size_t word = ptx.find("sm_", at);
  if (word == std::string_view::npos) return "";
  std::size_t end = word + 3;
  while (end < ptx.size() && std::isalnum(static_cast<unsigned char>(ptx[end])) != 0) ++end;
  return std::string(kText) + std::string(ptx.substr(word + 3, end - word - 3));
}

}  // namespace moe4::gpu
