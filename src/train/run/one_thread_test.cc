// Models of these tests are so small that threads only wait for each other, and long where other
// work has the cores: one thread does for all of them.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace kw::train {
namespace {

class OneThread : public testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};

const testing::Environment* const kOneThread = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace
}  // namespace kw::train
