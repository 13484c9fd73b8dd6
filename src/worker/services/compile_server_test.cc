// The process that runs torch.compile, when it dies: a real one, asked for what it does not know.
#include "worker/services/compile_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "formats/base/scratch_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Processes that this one started for it, by /proc.
std::vector<int> servers() {
  std::vector<int> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto text = [&](const char* file) {
      std::ifstream in(entry.path() / file);
      return std::string{std::istreambuf_iterator<char>(in), {}};
    };
    const bool is_ours =
        text("status").find("PPid:\t" + std::to_string(::getpid()) + "\n") != std::string::npos;
    if (is_ours && text("cmdline").find("compile_server.py") != std::string::npos) {
      out.push_back(std::stoi(name));
    }
  }
  return out;
}

bool is_answer(const std::string& error) {
  return !error.empty() && error.find("did not answer") == std::string::npos;
}

TEST(CompileServerOnProcesses, IsStartedAgainOnceWhoeverFindsItDead) {
  const ScratchFolder folder;
  CompileServer server("cpu", 2);
  const auto ask = [&](int place) {
    const fs::path out = folder.path() / std::to_string(place);
    return server.ask({{"task", "no such task"}, {"out", out.string()}}, std::chrono::seconds(60));
  };
  EXPECT_TRUE(is_answer(ask(0)));
  ASSERT_EQ(servers().size(), 1u);
  const int first = servers()[0];
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  std::vector<std::string> said(6);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < said.size(); ++i) {
      threads.emplace_back([&, i] { said[i] = ask(1 + static_cast<int>(i)); });
    }
  }
  for (const std::string& each : said) EXPECT_FALSE(each.empty());
  EXPECT_TRUE(is_answer(ask(7)));
  ASSERT_EQ(servers().size(), 1u);
  EXPECT_NE(servers()[0], first);
}

}  // namespace
}  // namespace kw
