// What the tools' logs say, and runs whose tool is a small script. Logs were recorded on an H200.
#include "runtime/sanitizer.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "formats/base/error.h"
#include "runtime/fake_frames.h"
#include "worker/test_folder.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr const char* kOutOfBounds = R"(========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at beyond+0xc0
=========     by thread (110,0,0) in block (2,0,0)
=========     Access to 0x7fd22e832ae0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7fd22e82fc00 of size 12,000 bytes
========= 
========= Invalid __global__ read of size 16 bytes
=========     at beyond+0xc0
=========     by thread (111,0,0) in block (2,0,0)
=========     Access to 0x7fd22e832af0 is out of bounds
=========     and is 17 bytes after the nearest allocation at 0x7fd22e82fc00 of size 12,000 bytes
========= 
========= Error: process didn't terminate successfully
========= ERROR SUMMARY: 2 errors
)";

constexpr const char* kUnwritten = R"(========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at uninit+0x150 in san.py:9
=========     by thread (64,0,0) in block (0,0,0)
=========     Address 0x7f6f80802400
========= 
========= ERROR SUMMARY: 1 error
)";

// From NVIDIA/compute-sanitizer-samples#19.
constexpr const char* kShared = R"(========= COMPUTE-SANITIZER
========= Invalid __shared__ ? of size 2048 bytes
=========     at product+0x2570 in matmul.py:223
=========     by thread (224,0,0) in block (4,0,0)
=========     Address 0x1bc20 is out of bounds
========= 
)";

// A tool that still runs has written its title.
constexpr const char* kNothing = "========= COMPUTE-SANITIZER\n";

TEST(Findings, SayWhatWhereAndHowOften) {
  const auto found = read_findings("memcheck", kOutOfBounds, {"beyond"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tool, "memcheck");
  EXPECT_EQ(found[0].what, "Invalid __global__ read of size 16 bytes");
  EXPECT_EQ(found[0].where, "beyond");
  EXPECT_EQ(found[0].count, 2);
  const auto unwritten = read_findings("initcheck", kUnwritten, {"other", "uninit"});
  ASSERT_EQ(unwritten.size(), 1u);
  EXPECT_EQ(unwritten[0].where, "uninit in san.py:9");
}

TEST(Findings, InSharedMemoryAreLeftOut) {
  EXPECT_TRUE(read_findings("memcheck", kShared, {"product"}).empty());
}

TEST(Findings, InOtherKernelsAreLeftOut) {
  EXPECT_TRUE(read_findings("memcheck", kOutOfBounds, {"eyond", "beyon", "by"}).empty());
  EXPECT_TRUE(read_findings("memcheck", kNothing, {"beyond"}).empty());
  EXPECT_TRUE(read_findings("memcheck", "", {"beyond"}).empty());
}

TEST(Findings, AreShortInOneLine) {
  SanitizerReport report;
  EXPECT_EQ(findings_text(to_json(report)["findings"]), "");
  report.findings = read_findings("memcheck", kOutOfBounds, {"beyond"});
  const std::string first = "memcheck: Invalid __global__ read of size 16 bytes in beyond";
  EXPECT_EQ(findings_text(to_json(report)["findings"]), first);
  EXPECT_EQ(findings_text(to_json(report)["noted"]), "");
  report.findings.push_back(report.findings.front());
  EXPECT_EQ(findings_text(to_json(report)["findings"]), first + ", and 1 more");
}

// An executor that runs nothing. Its seed says how a run ends.
const std::string kExecutor = kFakeFrames + R"(
open(os.path.join(os.path.dirname(sys.argv[0]), "pid-" + os.environ["TOOL"]), "w").write(str(os.getpid()))
if "--no-loading-ahead" not in sys.argv or os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING") != "1":
    sys.exit("not as it is to be started: " + repr(sys.argv))
while True:
    request = receive()
    seed = request.get("seed", 0)
    if request["kind"] == "bare" and seed == 1:
        time.sleep(60)
    if request["kind"] == "bare" and seed == 2:
        send({"status": "died", "message": "the device is lost"})
        sys.exit(17)
    send({"status": "ok", "message": ""})
)";

// compute-sanitizer as far as the supervisor sees it: it runs a program and writes a log.
constexpr const char* kTool = R"(#!/bin/sh
tool=$2 log=$4
while [ "$1" != "$EXECUTOR" ]; do shift; done
echo $tool >> HERE/starts
cp "HERE/$tool.txt" "$log"
TOOL=$tool PYTHON "$@"
exit 0
)";

constexpr std::array<const char*, 2> kTools = {"memcheck", "initcheck"};
std::string log_of(const std::string& tool) { return tool + ".txt"; }

class SanitizerTest : public testing::Test {
 protected:
  SanitizerTest() {
    write("executor.py", kExecutor);
    for (const char* tool : kTools) write(log_of(tool).c_str(), kNothing);
    std::string script = kTool;
    const auto replace = [&](const std::string& name, const std::string& by) {
      for (size_t at; (at = script.find(name)) != std::string::npos;) {
        script.replace(at, name.size(), by);
      }
    };
    replace("PYTHON", default_worker_config().python);
    replace("HERE", folder_.path().string());
    replace("$EXECUTOR", (folder_.path() / "executor.py").string());
    write("tool", script);
    std::filesystem::permissions(folder_.path() / "tool", std::filesystem::perms::owner_all);
  }
  void write(const char* name, const std::string& text) const { folder_.write(name, text); }
  SanitizerReport inspect(uint64_t seed, milliseconds deadline = milliseconds(20000)) {
    if (!sanitizer_) {
      ExecutorConfig config = default_executor_config("cpu");
      config.binary = (folder_.path() / "executor.py").string();
      sanitizer_ = std::make_unique<Sanitizer>(config, (folder_.path() / "tool").string());
    }
    Task candidate;
    candidate.kernels.emplace_back().compiled.emplace().symbol = "beyond";
    return sanitizer_->inspect({}, candidate, seed, deadline);
  }
  // How often each tool was started.
  size_t starts() const {
    std::ifstream file(folder_.path() / "starts");
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
  TestFolder folder_;
  std::unique_ptr<Sanitizer> sanitizer_;
};

TEST_F(SanitizerTest, LastsUntilAToolSaysSomething) {
  for (int i = 0; i < 3; ++i) {
    const SanitizerReport report = inspect(0);
    EXPECT_TRUE(report.findings.empty());
    EXPECT_EQ(report.fault, "");
  }
  EXPECT_EQ(starts(), 2u);
  sanitizer_.reset();
  write("memcheck.txt", kOutOfBounds);
  for (int i = 0; i < 3; ++i) {
    const SanitizerReport report = inspect(0);
    EXPECT_EQ(report.fault, "");
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].tool, "memcheck");
    EXPECT_EQ(report.findings[0].count, 2);
  }
  EXPECT_EQ(starts(), 2u + 3 + 1);
}

// memcheck ends a device in which a kernel went wrong.
TEST_F(SanitizerTest, ALostDeviceIsAFaultWithoutAFinding) {
  EXPECT_NE(inspect(2).fault.find("the device is lost"), std::string::npos);
  for (const char* tool : kTools) write(log_of(tool).c_str(), kOutOfBounds);
  const SanitizerReport report = inspect(2);
  EXPECT_EQ(report.fault, "");
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.noted.size(), 1u);
}

TEST_F(SanitizerTest, WhatHangsIsKilledWithTheTool) {
  const SanitizerReport report = inspect(1, milliseconds(1500));
  EXPECT_NE(report.fault.find("in time"), std::string::npos) << report.fault;
  for (const char* tool : kTools) {
    int pid = 0;
    std::ifstream(folder_.path() / (std::string("pid-") + tool)) >> pid;
    ASSERT_GT(pid, 0) << tool;
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {  // it is reaped by somebody else
      gone = ::kill(pid, 0) != 0;
      std::string state;
      std::ifstream(("/proc/" + std::to_string(pid)) + "/stat") >> state >> state >> state;
      gone |= state == "Z";
      if (!gone) std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_TRUE(gone) << tool;
  }
}

TEST_F(SanitizerTest, AToolThatIsNotThereIsAFault) {
  std::filesystem::remove(folder_.path() / "tool");
  const SanitizerReport report = inspect(0);
  EXPECT_NE(report.fault.find("cannot execute"), std::string::npos) << report.fault;
  EXPECT_TRUE(report.findings.empty());
}

TEST(SanitizerProgram, NeedsAGpu) {
  ::setenv("KERNELWRIGHT_SANITIZER", "/usr/bin/true", 1);
  EXPECT_THROW(Sanitizer(default_executor_config("cpu")), InputError);
  ::unsetenv("KERNELWRIGHT_SANITIZER");
}

}  // namespace
}  // namespace kw
