#include "tests/properties/planted.h"

#include <omp.h>

#include <algorithm>

namespace properties {
namespace {

using moe4::ExpertLinearInputs;
using moe4::MutableTensorView;
using moe4::Policy;
using moe4::Status;
using moe4::TensorView;

std::byte* low_byte(const MutableTensorView& output, std::int64_t element) {
  return static_cast<std::byte*>(output.data) +
         static_cast<std::size_t>(element) * moe4::size_of(output.dtype);
}

void flip_last_bit(const MutableTensorView& output, std::int64_t element) {
  *low_byte(output, element) ^= std::byte{1};
}

std::int64_t elements(const MutableTensorView& output) { return output.shape[0] * output.shape[1]; }

// The reference, and then something done to the output.
template <class Edit>
Kernel then(Edit edit) {
  return [edit](const ExpertLinearInputs& inputs, MutableTensorView output, const Policy& policy) -> Status {
    const Status status = moe4::mxfp4_expert_linear(inputs, output, policy);
    if (!status && elements(output) > 0) edit(inputs, output);
    return status;
  };
}

// The reference on edited views.
template <class Edit>
Kernel first(Edit edit) {
  return [edit](ExpertLinearInputs inputs, MutableTensorView output, const Policy& policy) -> Status {
    edit(inputs);
    return moe4::mxfp4_expert_linear(inputs, output, policy);
  };
}

void shorten(TensorView& view, std::size_t axis, std::int64_t by) {
  view.strides = view.strides_or_contiguous();
  view.shape[axis] -= by;
}

}  // namespace

Kernel second_row_off() {
  return then([](const ExpertLinearInputs&, const MutableTensorView& output) {
    if (output.shape[0] > 1) flip_last_bit(output, output.shape[1]);
  });
}

Kernel last_slot_ignored() {
  return first([](ExpertLinearInputs& inputs) {
    if (inputs.selected_experts.shape[1] == 0) return;
    shorten(inputs.selected_experts, 1, 1);
    shorten(inputs.mixture_weights, 1, 1);
  });
}

Kernel expert_zero_taken_for_last() {
  return [](ExpertLinearInputs inputs, MutableTensorView output, const Policy& policy) -> Status {
    const TensorView& ids = inputs.selected_experts;
    moe4::Tensor mapped(ids.dtype, ids.shape);
    const std::size_t size = moe4::size_of(ids.dtype);
    std::copy_n(static_cast<const std::byte*>(ids.data), mapped.bytes(), mapped.data());
    const auto last = static_cast<std::byte>(inputs.packed_weights.shape[0] - 1);
    for (std::size_t n = 0; n < mapped.bytes(); n += size) {
      if (mapped.data()[n] == std::byte{0}) mapped.data()[n] = last;  // ids here are below 256
    }
    inputs.selected_experts = mapped.view();
    return moe4::mxfp4_expert_linear(inputs, output, policy);
  };
}

Kernel last_group_ignored() {
  return first([](ExpertLinearInputs& inputs) {
    if (inputs.scale_bytes.shape[2] == 1) return;
    shorten(inputs.latent_tokens, 1, 32);
    shorten(inputs.packed_weights, 2, 1);
    shorten(inputs.scale_bytes, 2, 1);
  });
}

Kernel wrong_for_three_tokens() {
  return then([](const ExpertLinearInputs&, const MutableTensorView& output) {
    if (output.shape[0] == 3) flip_last_bit(output, 0);
  });
}

Kernel second_column_off() {
  return then([](const ExpertLinearInputs&, const MutableTensorView& output) {
    if (output.shape[1] > 1) flip_last_bit(output, 1);
  });
}

Kernel every_scale_read() {
  return then([](const ExpertLinearInputs& inputs, const MutableTensorView& output) {
    const auto* scales = static_cast<const std::uint8_t*>(inputs.scale_bytes.data);
    const std::int64_t count = *moe4::element_count(inputs.scale_bytes.shape);
    if (std::count(scales, scales + count, 255) > 0) {
      std::fill_n(low_byte(output, 0), moe4::size_of(output.dtype), std::byte{0x7F});
    }
  });
}

Kernel strides_ignored() {
  return first([](ExpertLinearInputs& inputs) {
    for (TensorView* view : {&inputs.latent_tokens, &inputs.packed_weights, &inputs.scale_bytes,
                             &inputs.mixture_weights, &inputs.shared_output}) {
      view->strides.clear();
    }
  });
}

Kernel writes_behind_the_output() {
  return then([](const ExpertLinearInputs&, const MutableTensorView& output) {
    *low_byte(output, elements(output)) = std::byte{0};
  });
}

Kernel writes_an_input() {
  return then([](const ExpertLinearInputs& inputs, const MutableTensorView&) {
    *static_cast<std::byte*>(const_cast<void*>(inputs.shared_output.data)) ^= std::byte{1};
  });
}

Kernel depends_on_threads() {
  return then([](const ExpertLinearInputs&, const MutableTensorView& output) {
    if (omp_get_max_threads() == 4) flip_last_bit(output, 0);
  });
}

Kernel wrong_for_even_exponents() {
  return then([](const ExpertLinearInputs&, const MutableTensorView& output) {
    const int mantissa_bits = output.dtype == moe4::Dtype::kBF16  ? 7
                              : output.dtype == moe4::Dtype::kF16 ? 10
                              : output.dtype == moe4::Dtype::kF32 ? 23
                                                                  : 52;
    for (std::int64_t n = 0; n < elements(output); ++n) {
      const std::byte exponent = low_byte(output, n)[mantissa_bits / 8];
      if ((exponent & std::byte{1} << mantissa_bits % 8) == std::byte{0}) flip_last_bit(output, n);
    }
  });
}

}  // namespace properties
