// With the real worker: that a borrowed copy works is what is tested.
#include "worker/zygote_lending.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <thread>

#include "formats/base/error.h"
#include "worker/process/sockets.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

UniqueFd listen_at(const std::string& path) {
  UniqueFd out(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path).value();
  EXPECT_EQ(::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(out.get(), 4), 0);
  return out;
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd out(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path).value();
  EXPECT_EQ(::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return out;
}

class LendingOnProcesses : public testing::Test {
 protected:
  LendingOnProcesses() {
    config_.visible = {folder_.path()};
    ::setenv("KERNELWRIGHT_ZYGOTE", elsewhere_.c_str(), 1);
    { const UniqueFd killed = listen_at(socket()); }  // what it leaves is replaced
    keeper_.emplace(config_, socket());
    thread_ = std::thread([this] { keeper_->serve(stop_); });
  }
  ~LendingOnProcesses() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    keeper_.reset();
    EXPECT_FALSE(std::filesystem::exists(socket()));
    ::unsetenv("KERNELWRIGHT_ZYGOTE");
  }
  std::string socket() const { return folder_.path() / "zygote.sock"; }

  const TestFolder folder_;
  const std::string elsewhere_ = folder_.path() / "elsewhere.sock";
  const UniqueFd other_ = listen_at(elsewhere_);  // where the keeper could borrow, but does not
  WorkerConfig config_ = default_worker_config();
  std::optional<ZygoteKeeper> keeper_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(LendingOnProcesses, LendsWhatItHasAndRefusesTheRest) {
  EXPECT_FALSE(wait_for(other_.get(), POLLIN, deadline_in(std::chrono::milliseconds(0))));
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
  std::string why;
  EXPECT_EQ(borrow_zygote(socket(), other, &why), nullptr);
  EXPECT_EQ(why, "python differs");
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

TEST_F(LendingOnProcesses, SilenceDelaysNobodyForLong) {
  const auto start = std::chrono::steady_clock::now();
  const UniqueFd silent = connect_to(socket());
  EXPECT_NE(borrow_zygote(socket(), config_), nullptr);
  const UniqueFd another = connect_to(socket());
  stop_ = true;
  thread_.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST(Lending, WhatIsNoSocketIsNotReplaced) {
  const TestFolder folder;
  const std::string path = folder.write("zygote.sock", "mine");
  EXPECT_THROW(ZygoteKeeper(default_worker_config(), path), EnvironmentError);
  EXPECT_TRUE(std::filesystem::exists(path));
}

// Takes one request at `listener` and answers with `reply` and a descriptor.
void answer_once(int listener, const std::string& reply) {
  const UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  char bytes[4096];
  std::vector<UniqueFd> fds;
  receive_with_fds(connection.get(), bytes, sizeof bytes, &fds, 0);
  send_with_fds(connection.get(), reply, {connection.get()}, 0);
}

TEST(Lending, AKeeperThatAnswersNonsenseLendsNothing) {
  const TestFolder folder;
  const UniqueFd listener = listen_at(folder.path() / "zygote.sock");
  for (const std::string reply : {"{oh", "[]", "{}", R"({"walls": 7})"}) {
    std::thread keeper([&] { answer_once(listener.get(), reply); });
    EXPECT_EQ(borrow_zygote(folder.path() / "zygote.sock", WorkerConfig()), nullptr) << reply;
    keeper.join();
  }
}

TEST(Lending, AnotherUsersKeeperIsNotAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs to be another user for a moment";
  const TestFolder folder;
  const UniqueFd listener = listen_at(folder.path() / "zygote.sock");
  ASSERT_EQ(::seteuid(65534), 0);
  EXPECT_EQ(::listen(listener.get(), 4), 0);  // the kernel notes who listens
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(borrow_zygote(folder.path() / "zygote.sock", WorkerConfig()), nullptr);
  const UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  char byte = 0;
  EXPECT_EQ(::recv(connection.get(), &byte, 1, 0), 0);  // nothing was sent
}

TEST(Lending, NobodyAnswers) {
  const TestFolder folder;
  const WorkerConfig config;
  EXPECT_EQ(borrow_zygote(folder.path() / "none.sock", config), nullptr);
  EXPECT_EQ(borrow_zygote(folder.write("file", ""), config), nullptr);
  EXPECT_EQ(borrow_zygote(std::string(200, 'x'), config), nullptr);
  EXPECT_EQ(borrow_zygote("", config), nullptr);
  for (const std::string& path : {std::string(), std::string(200, 'x')}) {
    try {
      ZygoteKeeper(config, path);
      FAIL() << "not thrown";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(path.empty() ? "is empty" : "more than 107"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace kw
