#include "oracle/file/checkpoint/checkpoint.h"

#include <algorithm>
#include <numeric>

#include "oracle/case/index_list.h"
#include "oracle/file/checkpoint/quant_config.h"
#include "reference/layout/layouts.h"

namespace moe4::oracle {
namespace {

std::int64_t rows_of(const StoredMatrices& matrices) {
  std::int64_t rows = 0;
  for (const StoredMatrix& matrix : matrices) rows += matrix.rows;
  return rows;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& folder, const CheckpointRequest& request) {
  Result<std::optional<WeightFormat>> said = read_quant_config(folder);
  if (!said) return said.error();
  Result<CheckpointIndex> index = CheckpointIndex::open(folder);
  if (!index) return index.error();
  Result<ExpertLayer> layer = find_layer(*index, request.layer);
  if (!layer) return layer.error();

  Checkpoint result(std::move(*index));
  result.said_ = *said;
  result.layer_ = std::move(*layer);
  result.number_ = request.layer;
  result.projection_ = request.projection;
  if (Status status = result.choose(request.experts)) return *status;
  Result<StoredMatrices> first = result.matrices(result.experts_.front());
  if (!first) return first.error();
  const StoredMatrix& matrix = first->front();
  result.format_ = matrix.layout == &kCompressedTensors ? WeightFormat::kInt4 : WeightFormat::kMxfp4;
  result.extent_ = {static_cast<std::int64_t>(result.experts_.size()), rows_of(*first), matrix.whole.in};
  if (Status status = check_extent(result.layout(), result.extent_)) return *status;
  return result;
}

// CKP-6.
Status Checkpoint::choose(const std::vector<std::int64_t>& experts) {
  std::vector<std::int64_t> there = layer_.experts;
  if (layer_.stacked()) {
    if (said_ == WeightFormat::kInt4) {
      return Error{"config.json", "int4", "CKP-4: blocks and scales of all experts in one tensor are mxfp4"};
    }
    Result<std::int64_t> count = gpt_oss_experts(index_, layer_, projection_);
    if (!count) return count.error();
    if (*count > kMaxListLength)
      return Error{layer_.stem, std::to_string(*count), "CKP-6: a layer has at most 2^20 experts"};
    there.resize(static_cast<std::size_t>(*count));
    std::iota(there.begin(), there.end(), 0);
  }
  if (there.empty()) return Error{layer_.stem, "", "CKP-6: a layer has experts"};
  experts_ = experts.empty() ? there : experts;
  for (const std::int64_t e : experts_) {
    if (!std::binary_search(there.begin(), there.end(), e)) {
      return Error{"experts", std::to_string(e),
                   "CKP-6: an expert of layer " + std::to_string(number_) + "; there are " +
                       to_string_index_list(there)};
    }
  }
  return {};
}

Result<StoredMatrices> Checkpoint::matrices(std::int64_t expert) {
  if (!layer_.stacked()) return expert_modules(index_, layer_, projection_, expert, said_);
  Result<StoredMatrix> matrix = gpt_oss_matrix(index_, layer_, projection_, expert);
  if (!matrix) return matrix.error();
  return StoredMatrices{std::move(*matrix)};
}

Status Checkpoint::read(std::span<const std::int64_t> which, Tensor& codes, Tensor& scales) {
  const std::int64_t code_row = extent_.in / 2;
  const std::int64_t scale_row = extent_.groups() * static_cast<std::int64_t>(size_of(scales.dtype()));
  for (const std::int64_t n : which) {
    Result<StoredMatrices> stored = matrices(experts_[static_cast<std::size_t>(n)]);
    if (!stored) return stored.error();
    std::int64_t row = n * extent_.out;
    for (const StoredMatrix& matrix : *stored) {
      // CKP-12.
      if (matrix.layout->weights != layout().weights || rows_of(*stored) != extent_.out ||
          matrix.whole.in != extent_.in) {
        return Error{matrix.codes.label, to_string(matrix.codes.entry.shape),
                     "CKP-12: all chosen experts have the format and shape of the first, " +
                         to_string(Shape{extent_.out, extent_.in})};
      }
      if (Status status = copy_rows(matrix, codes.data() + row * code_row, scales.data() + row * scale_row))
        return status;
      row += matrix.rows;
      bytes_read_ += static_cast<std::uint64_t>(matrix.rows * (code_row + scale_row));
    }
  }
  return {};
}

std::string Checkpoint::choice() const {
  return "--layer " + std::to_string(number_) + " --projection " + std::string(name_of(projection_)) +
         " --experts " + to_string_index_list(experts_);
}

}  // namespace moe4::oracle
