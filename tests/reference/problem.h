// A small expert linear for tests, set element by element in plain numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "reference/linear/mxfp4_expert_linear.h"

namespace moe4::test {

// The encoding of a number that dtype can represent; a test failure if it can't. Written without reference/.
std::uint64_t encode(Dtype dtype, double value);
std::uint64_t canonical_nan(Dtype dtype);

// Element `index` of a contiguous tensor, as an encoding.
std::uint64_t bits_at(const Tensor& tensor, std::int64_t index);
void set_bits(Tensor& tensor, std::int64_t index, std::uint64_t bits);
void set(Tensor& tensor, std::int64_t index, double value);  // float dtypes by encode, integers by value
void fill(Tensor& tensor, double value);

struct Sizes {
  std::int64_t tokens = 1;
  std::int64_t experts = 1;
  std::int64_t in = 32;
  std::int64_t out = 1;
  std::int64_t top_k = 1;
};

struct Dtypes {
  Dtype x = Dtype::kBF16;
  Dtype p = Dtype::kF32;
  Dtype s = Dtype::kBF16;
  Dtype id = Dtype::kI32;
};

// Begins as: tokens 1, all codes 2 (1.0), all scale bytes 127 (1), expert 0 in every slot, p = 1, shared
// output 0.
struct Problem {
  explicit Problem(const Sizes& sizes = {}, const Dtypes& dtypes = {});

  Problem& x(std::int64_t t, std::int64_t i, double value);
  Problem& x(double value);                                                            // all tokens
  Problem& byte(std::int64_t e, std::int64_t o, std::int64_t j, std::uint8_t packed);  // byte j of a row
  Problem& code(std::int64_t e, std::int64_t o, std::int64_t i, std::uint8_t code);
  Problem& code(std::uint8_t code);  // everywhere
  Problem& scale(std::int64_t e, std::int64_t o, std::int64_t g, std::uint8_t byte);
  Problem& scale(std::uint8_t byte);                      // everywhere
  Problem& ids(std::initializer_list<std::int64_t> ids);  // [T,K] in row order
  Problem& p(std::initializer_list<double> weights);      // [T,K] in row order
  Problem& shared(std::initializer_list<double> values);  // [T,O] in row order

  ExpertLinearInputs inputs() const;
  Result<Tensor> run() const;

  Sizes sizes;
  Policy policy;
  Tensor latent_tokens;
  Tensor packed_weights;
  Tensor scale_bytes;
  Tensor selected_experts;
  Tensor mixture_weights;
  Tensor shared_output;
};

// Every output by its encoding: NaN stands for the canonical NaN, -0.0 for the negative zero.
void expect_outputs(const Problem& problem, const std::vector<double>& expected,
                    const std::string& what = "");
void expect_output(const Problem& problem, double expected,
                   const std::string& what = "");  // all outputs the same

// Bytes that end exactly at a page that may not be touched.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  std::uint8_t* data() const { return data_; }

 private:
  void* map_;
  std::size_t mapped_;
  std::uint8_t* data_;
};

}  // namespace moe4::test
