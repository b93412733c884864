// FILE-17: a case line and the tensors beside it.
#include <fmt/format.h>

#include <tuple>

#include "oracle/case/output_rows.h"
#include "oracle/file/case_tensors.h"

namespace moe4::oracle {
namespace {

class Agreement {
 public:
  void same(const char* key, std::int64_t said, std::int64_t is) {
    if (said != is) disagree(key, std::to_string(said));
  }
  void same(const char* key, const std::optional<std::int64_t>& said, std::int64_t is) {
    if (said) same(key, *said, is);
  }
  void same(const char* key, std::string_view said, std::string_view is) {
    if (said != is) disagree(key, std::string(said));
  }
  void same(const char* key, Dtype said, Dtype is) { same(key, name_of(said), name_of(is)); }
  const Status& status() const { return status_; }

 private:
  void disagree(const char* key, std::string value) {
    if (status_) return;
    status_ =
        Error{"moe4.case", std::move(value), fmt::format("FILE-17: {} disagrees with the tensors", key)};
  }
  Status status_;
};

}  // namespace

Status check_line(const Case& line, const CaseData& data, const Policy& of_file) {
  Agreement agree;
  agree.same("op", name_of(line.op), name_of(data.op));
  if (agree.status()) return agree.status();
  agree.same("weights", name_of(line.weights), name_of(data.weights));
  if (agree.status()) return agree.status();
  if (data.op != Op::kCombine) {
    agree.same("experts", line.local_experts(), data.packed_weights.dim(0));
    agree.same("in", line.in, in_of(data));
    agree.same("dtype", line.dtype, data.latent_tokens.dtype());
  } else {
    agree.same("dtype", line.dtype, data.output_dtype);
  }
  agree.same("out", line.out, output_shape(data).out);
  if (data.op == Op::kExpertLinear || data.op == Op::kIndexed) {
    agree.same("tokens", line.tokens, data.latent_tokens.dim(0));
  }
  if (!is_row_op(data.op)) {
    agree.same("tokens", line.tokens, data.mixture_weights.dim(0));
    agree.same("top_k", line.top_k, data.mixture_weights.dim(1));
    agree.same("mixture", line.mixture_dtype(), data.mixture_weights.dtype());
    agree.same("shared", line.shared_dtype(), data.shared_output.dtype());
    if (data.has_selected_experts) agree.same("ids_dtype", line.ids_dtype, data.selected_experts.dtype());
  }
  if (data.op == Op::kIndexed) {
    agree.same("top_k", line.top_k, data.top_k);
    agree.same("block_m", line.block_rows(), data.block_m);
    agree.same("capacity", line.capacity, data.sorted_ids.dim(0));
  }
  if (data.op == Op::kGroupedContiguous) agree.same("capacity", line.capacity, data.m_indices.dim(0));
  if (data.op == Op::kGroupedMasked) {
    if (line.local_experts() > 0) {
      agree.same("max_m", line.max_m, output_shape(data).rows / line.local_experts());
    }
    agree.same("expected_m", line.expected_m, data.expected_m);
  }
  if (agree.status()) return agree.status();
  if (line.policy == of_file) return {};
  return Error{"moe4.policy", moe4::to_string(of_file), "FILE-17: the policy disagrees with moe4.case"};
}

}  // namespace moe4::oracle
