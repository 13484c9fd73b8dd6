// Copies on a CPU, where they stand for those of several GPUs.
#include "train/step/replicas.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "formats/base/error.h"
#include "train/run/test_run.h"

namespace kw::train {
namespace {

at::Tensor embedding_of(const Transformer& model) {
  return model.parameters().at("model.embed_tokens.weight");
}

TEST(Replicas, CopiesFollowAndShareNothing) {
  const Transformer model = tiny_model(40);
  Replicas models(model, 3);
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(&models.first(), &model);
  {
    const at::NoGradGuard guard;
    embedding_of(model).add_(1);
  }
  for (const auto& copy : models.copies()) {
    EXPECT_FALSE(at::equal(embedding_of(*copy), embedding_of(model)));
  }
  models.follow();
  for (const auto& copy : models.copies()) {
    for (const auto& [name, parameter] : model.parameters()) {
      EXPECT_TRUE(at::equal(copy->parameters().at(name), parameter)) << name;
    }
  }
}

TEST(Replicas, WorkTogetherEachOnAModelOfItsOwn) {
  const Transformer model = tiny_model(40);
  Replicas models(model, 3);
  std::mutex mutex;
  std::set<const Transformer*> seen;
  std::atomic<int> here = 0;
  models.each(3, [&](const Transformer& own, size_t i) {
    EXPECT_EQ(&own, i == 0 ? &model : models.copies()[i - 1].get());
    ++here;  // the others come without this one's end
    while (here < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    seen.insert(&own);
  });
  EXPECT_EQ(seen.size(), 3u);
  int calls = 0;
  models.each(1, [&](const Transformer& own, size_t) {
    EXPECT_EQ(&own, &model);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

// If one fails, the others are waited for, as they use what the caller owns.
TEST(Replicas, AFailureIsToldWhenAllAreDone) {
  const Transformer model = tiny_model(40);
  Replicas models(model, 3);
  for (const size_t failing : {0, 1, 2}) {
    std::atomic<int> done = 0;
    EXPECT_THROW(models.each(3,
                             [&](const Transformer&, size_t i) {
                               if (i == failing) throw InputError("this one");
                               std::this_thread::sleep_for(std::chrono::milliseconds(20));
                               ++done;
                             }),
                 InputError);
    EXPECT_EQ(done, 2);
  }
}

}  // namespace
}  // namespace kw::train
