#include "runtime/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/base/error.h"

namespace kw {
namespace {

TEST(SessionConfig, KeepsAllCoresBusyAndTakesTheBackend) {
  const SessionConfig config = default_session_config(device_profile("a100"), "cuda");
  EXPECT_EQ(config.profile.name, device_profile("a100").name);
  EXPECT_EQ(config.workers.parallel, std::max(2, threads_of(0)));
  EXPECT_EQ(config.executor.backend, "cuda");
}

// A command that uses none of its processes does not wait for any.
TEST(Session, StartsNothingBeforeItIsUsed) {
  SessionConfig config = default_session_config(device_profile("h200"), "cpu");
  config.workers.python = config.executor.binary = "/nonexistent";
  Session session(config);
  EXPECT_EQ(session.profile.name, device_profile("h200").name);
  EXPECT_EQ(session.pool.pending(), 0u);
  EXPECT_EQ(session.executor.processes(), 1u);
}

TEST(Session, SaysWhenItsProcessesDoNotStart) {
  SessionConfig config = default_session_config(device_profile("h200"), "cpu");
  config.workers.python = config.executor.binary = "/nonexistent";
  Session session(config);
  EXPECT_THROW(session.pool.start(), EnvironmentError);
  EXPECT_THROW(session.executor.hello(), EnvironmentError);
}

}  // namespace
}  // namespace kw
