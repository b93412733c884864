#include "oracle/file/exchange_file.h"

#include <cstring>

#include "oracle/file/case_file.h"
#include "oracle/file/case_tensors.h"
#include "oracle/file/safetensors.h"

namespace moe4::oracle {
namespace {

struct Content {
  std::map<std::string, const Tensor*> tensors;
  Metadata metadata;
};

// FILE-20.
Content content_of(const CaseData& data, bool packed) {
  Content content{tensors_of(data), case_metadata(data)};
  if (data.layout == nullptr || !packed) return content;
  content.metadata["moe4.layout"] = std::string(data.layout->name);
  const std::string scales(scale_tensor_name(*data.layout));
  content.tensors["packed_weights"] = &data.packed.codes;
  content.tensors[scales] = &data.packed.scales;
  if (data.layout->scales_among_codes()) content.tensors.erase(scales);
  return content;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

}  // namespace

Status write_exchange_case(const std::filesystem::path& path, const CaseData& data, bool packed) {
  const Content content = content_of(data, packed);
  return write_safetensors(path, content.tensors, content.metadata);
}

bool holds_exchange_case(const std::filesystem::path& path, const CaseData& data, bool packed) {
  const Content content = content_of(data, packed);
  const Result<SafeTensors> file = read_safetensors(path);
  if (!file.ok() || file->metadata != content.metadata || file->tensors.size() != content.tensors.size()) {
    return false;
  }
  for (const auto& [name, tensor] : content.tensors) {
    const auto found = file->tensors.find(name);
    if (found == file->tensors.end() || !same(found->second, *tensor)) return false;
  }
  return true;
}

}  // namespace moe4::oracle
