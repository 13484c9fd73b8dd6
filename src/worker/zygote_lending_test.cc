// With the real worker: that a borrowed copy works is what is tested.
#include "worker/zygote_lending.h"

#include <gtest/gtest.h>

#include <thread>

#include "formats/base/error.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

class LendingOnProcesses : public testing::Test {
 protected:
  LendingOnProcesses() {
    config_.visible = {folder_.path()};
    keeper_.emplace(config_, socket());
    thread_ = std::thread([this] { keeper_->serve(stop_); });
  }
  ~LendingOnProcesses() override {
    stop_ = true;
    thread_.join();
    keeper_.reset();
    EXPECT_FALSE(std::filesystem::exists(socket()));
  }
  std::string socket() const { return folder_.path() / "zygote.sock"; }

  const TestFolder folder_;
  WorkerConfig config_ = default_worker_config();
  std::optional<ZygoteKeeper> keeper_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(LendingOnProcesses, LendsWhatItHasAndRefusesTheRest) {
  const std::unique_ptr<Zygote> mine = borrow_zygote(socket(), config_);
  ASSERT_NE(mine, nullptr);
  EXPECT_TRUE(mine->versions().contains("torch"));
  if (config_.sandbox) {
    const auto has = [&](const std::string& name) {
      for (const SandboxLayer& layer : mine->walls()) {
        if (layer.name == name) return true;
      }
      return false;
    };
    EXPECT_TRUE(has("no network"));  // the keeper's walls are told to the borrower
  }
  const std::unique_ptr<Zygote> copy = Zygote::copy_of(*mine);  // as every pool has it
  EXPECT_EQ(copy->versions(), mine->versions());
  EXPECT_EQ(copy->walls().size(), mine->walls().size());

  WorkerConfig other = config_;
  other.python = "/another/python3";
  EXPECT_EQ(borrow_zygote(socket(), other), nullptr);
  other = config_;
  other.sandbox = !config_.sandbox;
  EXPECT_EQ(borrow_zygote(socket(), other), nullptr);
  other = config_;
  other.visible = {folder_.path() / "below"};
  EXPECT_NE(borrow_zygote(socket(), other), nullptr);
  other.visible = {folder_.path().string() + "-beside"};  // no folder below the one that is shown
  EXPECT_EQ(borrow_zygote(socket(), other), nullptr);
  other.visible = {folder_.path() / "../other"};
  EXPECT_EQ(borrow_zygote(socket(), other), nullptr);
}

TEST_F(LendingOnProcesses, ASocketIsNotTakenOver) {
  EXPECT_THROW(ZygoteKeeper(config_, socket()), EnvironmentError);
  EXPECT_NE(borrow_zygote(socket(), config_), nullptr);
}

TEST(Lending, NobodyAnswers) {
  const TestFolder folder;
  const WorkerConfig config;
  EXPECT_EQ(borrow_zygote(folder.path() / "none.sock", config), nullptr);
  EXPECT_EQ(borrow_zygote(folder.write("file", ""), config), nullptr);
  EXPECT_THROW(borrow_zygote(std::string(200, 'x'), config), InputError);
}

}  // namespace
}  // namespace kw
