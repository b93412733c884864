// Linked into tests that make thousands of tiny calls: waking a team of threads for each takes longer than
// the work, many times longer on a busy machine. A test that is about threads sets their number itself.
#include <gtest/gtest.h>
#include <omp.h>

namespace {

class OneThread : public ::testing::Environment {
 public:
  void SetUp() override { omp_set_num_threads(1); }
};

const auto* const kOneThread = ::testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace
