// A case as a plug-in sees it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracle/case/case_data.h"
#include "oracle/subject/plugin.h"
#include "oracle/subject/plugin/guarded_buffer.h"

namespace moe4::oracle {

// Copies of the tensors of `data`, between guards. `data` outlives it.
class PluginCase {
 public:
  explicit PluginCase(const CaseData& data);
  const moe4_case& get() const { return case_; }
  // Are all tensors as they were?
  bool unchanged() const;

 private:
  moe4_tensor lend(const Tensor& tensor);

  struct Lent {
    const Tensor* original;
    std::unique_ptr<GuardedBuffer> copy;
  };
  std::string line_, policy_, layout_;
  std::vector<Lent> lent_;
  moe4_case case_{};
};

std::uint32_t plugin_dtype(Dtype dtype);

}  // namespace moe4::oracle
