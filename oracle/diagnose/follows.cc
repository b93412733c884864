#include "oracle/diagnose/follows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "oracle/case/declared_outputs.h"
#include "oracle/case/output_rows.h"
#include "oracle/judge/encodings.h"

namespace moe4::oracle {
namespace {

using Slicing = Order::Slicing;

// Chains as kernels have them, without slices of i.
std::vector<Order> usual_chains(Order::Kind first) {
  std::vector<std::string> words = {"seq"};
  for (const int block : {32, 64, 128, 256}) words.push_back(fmt::format("groups({})", block));
  for (const int lanes : {2, 4, 8, 16, 32}) {
    for (const int columns : {1, 2, 4, 8, 16, 32}) {
      for (const char* join : {"shfl", "seq"})
        words.push_back(fmt::format("lanes({},{})+{}", lanes, columns, join));
    }
  }
  for (const int slab : {32, 64, 128}) {
    for (const int warps : {2, 4, 8}) words.push_back(fmt::format("warps({},{})+tree", slab, warps));
  }
  std::vector<Order> orders;
  for (const std::string& word : words) orders.push_back(parse_order(word).value());
  std::stable_partition(orders.begin() + 1, orders.end(), [&](const Order& o) { return o.kind == first; });
  return orders;
}

bool same_sums(const Order& a, const Order& b, std::int64_t in) {
  const ChainPlan x = plan_chains(a, in), y = plan_chains(b, in);
  return x.chains == y.chains && x.joins == y.joins && x.partials == y.partials;
}

class Variants {
 public:
  Variants(const CaseData& data, const Arithmetic& declared) : declared_(declared) {
    use_ = {output_shape(data).dtype,
            data.op == Op::kCombine ? std::nullopt : std::optional<WeightFormat>(data.weights)};
    // At a given width some words mean the same sums: one of them stands for all, of the declared kind if it
    // can be.
    std::vector<Order> distinct = {declared.order};
    for (Order chains : usual_chains(declared.order.kind)) {
      chains.slicing = declared.order.slicing;
      chains.slices = declared.order.slices;
      const auto same = [&](const Order& order) { return same_sums(order, chains, in_of(data)); };
      if (std::any_of(distinct.begin(), distinct.end(), same)) continue;
      distinct.push_back(chains);
      add([&](Arithmetic& a) { a.order = chains; });
    }
    slices(Slicing::kNone, 1);
    for (std::int64_t n = 2; n <= 8; ++n) slices(Slicing::kSplit, n);
    for (std::int64_t n = 2; n <= 4; ++n) slices(Slicing::kStreamK, n);
    accumulations();
    for (const RoundingProfile profile :
         {RoundingProfile::kOnce, RoundingProfile::kLate, RoundingProfile::kLateBf16Sum, RoundingProfile::kHf,
          RoundingProfile::kEarly}) {
      add([&](Arithmetic& a) { a.profile = profile; });
    }
    for (const Int4OrderInfo& info : int4_orders()) add([&](Arithmetic& a) { a.dequant = info.order; });
    add([](Arithmetic& a) { a.product_rounded = !a.product_rounded; });
    add([](Arithmetic& a) { a.ftz = !a.ftz; });
    add([](Arithmetic& a) {
      a.weight = a.weight == WeightOperand::kExact ? WeightOperand::kBf16 : WeightOperand::kExact;
    });
  }

  const std::vector<Arithmetic>& all() const { return all_; }

 private:
  template <class Change>
  void add(const Change& change) {
    Arithmetic a = declared_;
    change(a);
    if (a != declared_ && !check_arithmetic(a, use_)) all_.push_back(a);
  }

  void slices(Slicing slicing, std::int64_t n) {
    add([&](Arithmetic& a) {
      a.order.slicing = slicing;
      a.order.slices = n;
    });
  }

  void accumulations() {
    for (const Accumulation::Kind kind : {Accumulation::Kind::kExact, Accumulation::Kind::kSequential})
      add([&](Arithmetic& a) { a.accumulation = {kind, nullptr}; });
    for (const TensorCore& unit : tensor_cores()) {
      add([&](Arithmetic& a) {
        a.accumulation = {Accumulation::Kind::kTensorCore, &unit};
        a.product_rounded = false;
      });
    }
  }

  const Arithmetic& declared_;
  ArithmeticUse use_;
  std::vector<Arithmetic> all_;
};

// Most arithmetics leave at the first output: those that differ are asked first.
bool follows(const CaseData& data, const Arithmetic& arithmetic, const Tensor& output,
             const DeclaredBits& compared, const std::vector<std::int64_t>& wrong) {
  const Result<DeclaredOutputs> outputs = DeclaredOutputs::create(data, arithmetic);
  if (!outputs.ok()) return false;
  const Encodings encodings(output.dtype());
  const std::int64_t out = output_shape(data).out;
  const auto same = [&](std::int64_t index) {
    return outputs->output(index / out, index % out) == encodings.load(output, index);
  };
  return std::all_of(wrong.begin(), wrong.end(), same) &&
         std::all_of(compared.index.begin(), compared.index.end(), same);
}

}  // namespace

Followed followed_arithmetics(const CaseData& data, const Arithmetic& declared, const Tensor& output,
                              const DeclaredBits& compared, const std::vector<std::int64_t>& wrong) {
  const Variants variants(data, declared);
  Followed followed;
  for (const Arithmetic& arithmetic : variants.all()) {
    ++followed.tried;
    if (follows(data, arithmetic, output, compared, wrong)) followed.arithmetics.push_back(arithmetic);
  }
  return followed;
}

}  // namespace moe4::oracle
