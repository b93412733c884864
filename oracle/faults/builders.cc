#include "oracle/faults/builders.h"

#include <fmt/format.h>

#include <algorithm>

namespace moe4::oracle {
namespace {

constexpr std::int64_t kTile = 16;

// Rows begin … and columns begin … of the output.
struct Block {
  std::int64_t row, rows, column, columns;
};

void take_block(const Tensor& from, const Block& block, std::int64_t out, Tensor& to) {
  for (std::int64_t r = block.row; r < block.row + block.rows; ++r) {
    for (std::int64_t o = block.column; o < block.column + block.columns; ++o)
      take_output(from, r * out + o, to);
  }
}

// site: a row and a column inside of the block.
Plant edited_block(Edit edit, std::function<Block(const Scene&, const Site&)> block_at) {
  return [edit = std::move(edit), block_at = std::move(block_at)](Scene& scene, SubjectRun& run) -> Status {
    const std::optional<Site> site = scene.site();
    if (!site) return {};
    CaseData seen = scene.copy();
    edit(scene, seen);
    SubjectRun other = run;
    if (Status error = recompute(scene, seen, other)) return error;
    const Block block = block_at(scene, *site);
    take_block(other.output, block, scene.shape().out, run.output);
    scene.note(fmt::format("rows {}..{}, columns {}..{}", block.row, block.row + block.rows - 1, block.column,
                           block.column + block.columns - 1));
    return {};
  };
}

std::string words(Place place, const Site& site) {
  std::string text = fmt::format("expert {}, row {}", site.expert, site.out);
  if (place == Place::kWeightGroup) text += fmt::format(", group {}", site.group);
  if (place == Place::kWeight) text += fmt::format(", column {}", site.in);
  return text;
}

}  // namespace

Plant edited(Edit edit) {
  return [edit = std::move(edit)](Scene& scene, SubjectRun& run) -> Status {
    CaseData seen = scene.copy();
    edit(scene, seen);
    return recompute(scene, seen, run);
  };
}

Planting edited_row(Edit edit) {
  const auto whole_row = [](const Scene& scene, const Site& site) {
    return Block{site.row, 1, 0, scene.shape().out};
  };
  return {edited_block(std::move(edit), whole_row), Place::kRow};
}

Planting edited_tile(Edit edit) {
  const auto tile = [](const Scene& scene, const Site& site) {
    const std::int64_t row = site.row / kTile * kTile;
    const std::int64_t column = site.out / kTile * kTile;
    return Block{row, std::min(kTile, scene.shape().rows - row), column,
                 std::min(kTile, scene.shape().out - column)};
  };
  return {edited_block(std::move(edit), tile), Place::kTile};
}

Planting altered(Place place, std::function<void(Weights&, const Site&)> change) {
  Planting planting(edited([place, change](Scene& scene, CaseData& seen) {
                      const std::optional<Site> site = scene.site();
                      if (!site || site->expert >= seen.packed_weights.dim(0)) return;
                      Weights weights(seen);
                      change(weights, *site);
                      scene.note(words(place, *site));
                    }),
                    place);
  planting.change = std::move(change);
  return planting;
}

Plant arithmetic(Arith alter) {
  return [alter = std::move(alter)](Scene& scene, SubjectRun& run) -> Status {
    if (!scene.small()) return {};
    Arithmetic wrong;
    wrong.order.kind = Order::Kind::kSeq;
    if (scene.declared() != nullptr) wrong = *scene.declared();
    const Arithmetic declared = wrong;
    alter(wrong);
    if (wrong == declared && scene.declared() != nullptr) return {};
    const CaseData& data = scene.data();
    const bool weights = data.op != Op::kCombine;
    const ArithmeticUse use = {scene.shape().dtype,
                               weights ? std::optional<WeightFormat>(data.weights) : std::nullopt};
    if (check_arithmetic(wrong, use)) return {};
    Result<Norm> result = declared_result(data, wrong);
    if (!result.ok()) return result.error();
    run.output = std::move(result->output);
    return {};
  };
}

Plant output(OutputEdit edit) {
  return [edit = std::move(edit)](Scene& scene, SubjectRun& run) -> Status {
    edit(scene, run);
    return {};
  };
}

Planting output(Place place, OutputEdit edit) { return {output(std::move(edit)), place}; }

}  // namespace moe4::oracle
