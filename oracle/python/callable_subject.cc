#include "oracle/python/callable_subject.h"

#include <chrono>
#include <cstring>
#include <map>

#include "oracle/file/case_tensors.h"
#include "oracle/python/views.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

using oracle::CaseData;
using oracle::SubjectRun;

// The tensors as the subject reads them: the weights in the layout of the case.
std::map<std::string, const Tensor*> given(const CaseData& data) {
  std::map<std::string, const Tensor*> tensors = oracle::tensors_of(data);
  if (data.layout == nullptr) return tensors;
  tensors["packed_weights"] = &data.packed.codes;
  const std::string scales(scale_tensor_name(*data.layout));
  if (data.layout->scales_among_codes()) {
    tensors.erase(scales);
  } else {
    tensors[scales] = &data.packed.scales;
  }
  return tensors;
}

}  // namespace

nb::dict numbers_of(const CaseData& data) {
  nb::dict all;
  if (data.op == oracle::Op::kIndexed) {
    all["top_k"] = data.top_k;
    all["block_m"] = data.block_m;
  }
  if (data.op == oracle::Op::kGroupedMasked) all["expected_m"] = data.expected_m;
  return all;
}

namespace {

void call(const nb::callable& run, const CaseData& data, SubjectRun& result) {
  nb::dict inputs;
  struct Copy {
    const Tensor* original;
    nb::ndarray<nb::ro> array;
  };
  std::vector<Copy> copies;
  for (const auto& [name, tensor] : given(data)) {
    if (tensor->bytes() >= CallableSubject::kWithoutCopy) {
      inputs[name.c_str()] = borrowed(*tensor, nb::none());
      continue;
    }
    const nb::tuple copy = to_python(Tensor(*tensor));
    copies.push_back({tensor, nb::cast<nb::ndarray<nb::ro>>(copy[0])});
    inputs[name.c_str()] = copy;
  }
  const nb::tuple answer = nb::cast<nb::tuple>(run(inputs, numbers_of(data)));
  result.output = copy_of(nb::cast<const View&>(answer[0]).tensor());
  if (!answer[1].is_none()) {
    const Tensor written = copy_of(nb::cast<const View&>(answer[1]).tensor());
    if (written.dtype() == Dtype::kU8) {
      const std::span<const std::uint8_t> rows = written.as<std::uint8_t>();
      result.written.assign(rows.begin(), rows.end());
    }
  }
  for (const Copy& copy : copies) {
    const std::size_t bytes = copy.original->bytes();
    if (bytes > 0 && std::memcmp(copy.array.data(), copy.original->data(), bytes) != 0) {
      result.inputs_unchanged = false;
    }
  }
}

}  // namespace

SubjectRun CallableSubject::run(const CaseData& data) {
  const auto start = std::chrono::steady_clock::now();
  SubjectRun result;
  const nb::gil_scoped_acquire gil;
  try {
    call(run_, data, result);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    result = {};
    result.outcome = SubjectRun::Outcome::kCrashed;
    result.reason = error.what();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace moe4::python
