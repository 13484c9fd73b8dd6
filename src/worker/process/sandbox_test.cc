#include "worker/process/sandbox.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>

#include "formats/json.h"
#include "worker/test_folder.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

struct Outcome {
  int status = -1;
  Json answer;  // what the program printed on stderr, as JSON
  std::vector<SandboxLayer> layers;
  bool active(const std::string& name) const {
    for (const SandboxLayer& layer : layers) {
      if (layer.name == name) return layer.active;
    }
    ADD_FAILURE() << "no layer " << name;
    return false;
  }
};

// Runs a Python program inside; it answers by printing one JSON value to stderr.
Outcome run_inside(const std::string& program, SandboxSpec spec = {}) {
  // The interpreter's prefix, and the one behind a virtual environment's link, may be below /tmp.
  const std::filesystem::path python = default_worker_config().python;
  for (const auto& file : {python, std::filesystem::weakly_canonical(python)}) {
    spec.visible.push_back(file.parent_path().parent_path());
  }
  Sandbox sandbox(std::move(spec));
  OutputTail tail;
  ProcessSpec process_spec;
  process_spec.argv = {default_worker_config().python, "-I", "-S", "-c",
                       "import json, os, socket, sys\n"
                       "def answer(x): sys.stderr.write(json.dumps(x))\n" +
                           program};
  process_spec.environment = sandbox.environment();
  process_spec.err = tail.write_end();
  Process process = Process::start(process_spec, &sandbox);
  tail.close_write_end();
  Outcome outcome;
  if (auto status = process.wait(deadline_in(milliseconds(20000)))) outcome.status = *status;
  tail.drain();
  const std::string text = tail.last_lines(10);
  outcome.answer = Json::parse(text, nullptr, false);
  if (outcome.answer.is_discarded()) outcome.answer = text;
  outcome.layers = sandbox.layers();
  return outcome;
}

TEST(SandboxOnProcesses, ReportsEveryLayerOnce) {
  const Outcome outcome = run_inside("answer(1)");
  EXPECT_EQ(outcome.status, 0) << outcome.answer;
  std::vector<std::string> names;
  for (const SandboxLayer& layer : outcome.layers) {
    names.push_back(layer.name);
    EXPECT_EQ(layer.active, layer.detail.empty()) << layer.name << ": " << layer.detail;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(SandboxOnProcesses, WritesOnlyToItsOwnFolder) {
  TestFolder folder;
  const std::string outside = (folder.path() / "written").string();
  const Outcome outcome = run_inside(R"(
def writable(path):
    try:
        open(path, "w").close()
        return True
    except OSError:
        return False
answer({"outside": writable(")" + outside +
                                     R"("), "tmp": writable("/tmp/x"),
        "home": writable(os.environ["HOME"] + "/x"), "here": writable("x"),
        "sysctl": writable("/proc/sys/kernel/core_pattern"), "null": writable("/dev/null"),
        "seen": os.path.exists(os.path.dirname(")" +
                                     outside + R"("))})
)");
  if (!outcome.active("hidden /tmp")) GTEST_SKIP() << "no private /tmp on this host";
  EXPECT_EQ(outcome.answer, Json({{"outside", false},
                                  {"tmp", false},
                                  {"home", true},
                                  {"here", true},
                                  {"sysctl", false},
                                  {"null", true},
                                  {"seen", false}}));
  EXPECT_FALSE(std::filesystem::exists(outside));
}

TEST(SandboxOnProcesses, KeepsVisibleFoldersReadable) {
  TestFolder folder;
  std::filesystem::create_directories(folder.path() / "deep" / "er");
  folder.write("deep/er/model.py", "answer = 42\n");
  const std::string path = (folder.path() / "deep" / "er").string();
  SandboxSpec spec;
  spec.visible = {path};
  const Outcome outcome = run_inside(R"(
text = open(")" + path + R"(/model.py").read()
try:
    open(")" + path + R"(/new.py", "w")
    wrote = True
except OSError:
    wrote = False
answer([text, wrote])
)",
                                     spec);
  if (!outcome.active("read-only root")) GTEST_SKIP() << "no read-only root on this host";
  EXPECT_EQ(outcome.answer, Json({"answer = 42\n", false}));
}

TEST(SandboxOnProcesses, SeesNoNetworkNoDevicesNoOtherProcesses) {
  const Outcome outcome = run_inside(R"(
def connects():
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect(("127.0.0.1", 9))
        return "connected"
    except OSError as error:
        return error.errno
answer({"network": connects() == 101, "interfaces": len(socket.if_nameindex()),
        "pid": os.getpid(), "processes": [p for p in os.listdir("/proc") if p.isdigit()],
        "devices": sorted(os.listdir("/dev")), "host": os.uname().nodename})
)");
  if (outcome.active("no network")) {
    EXPECT_EQ(outcome.answer["network"], true);
    EXPECT_EQ(outcome.answer["interfaces"], 1);
  }
  if (outcome.active("pid namespace")) {
    EXPECT_EQ(outcome.answer["pid"], 1);
  }
  if (outcome.active("private /proc")) {
    EXPECT_EQ(outcome.answer["processes"], Json({"1"}));
  }
  if (outcome.active("no devices")) {
    EXPECT_EQ(outcome.answer["devices"],
              Json({"fd", "full", "null", "random", "shm", "urandom", "zero"}));
  }
  if (outcome.active("uts namespace")) {
    EXPECT_EQ(outcome.answer["host"], "worker");
  }
}

TEST(SandboxOnProcesses, HandsOnNoSecretsAndNoDescriptors) {
  ::setenv("KW_TEST_SECRET", "secret", 1);
  ::setenv("LD_PRELOAD", "", 1);
  UniqueFd leaked(::dup(0));  // not close-on-exec
  const Outcome outcome = run_inside(R"(
answer({"env": sorted(k for k in os.environ if k in ("KW_TEST_SECRET", "LD_PRELOAD")),
        "fds": [f for f in range(3, 200) if os.path.exists("/proc/self/fd/%d" % f)],
        "threads": os.environ["OMP_NUM_THREADS"]})
)");
  ::unsetenv("LD_PRELOAD");
  EXPECT_EQ(outcome.answer,
            Json({{"env", Json::array()}, {"fds", Json::array()}, {"threads", "1"}}));
}

TEST(SandboxOnProcesses, SwitchedOffStillRunsAndSaysSo) {
  SandboxSpec spec;
  spec.enabled = false;
  std::string scratch;
  {
    const Outcome outcome = run_inside("answer(os.environ['TMPDIR'])", spec);
    EXPECT_EQ(outcome.status, 0);
    scratch = outcome.answer;
    for (const SandboxLayer& layer : outcome.layers) {
      EXPECT_FALSE(layer.active);
      EXPECT_EQ(layer.detail, "switched off");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(scratch));  // removed with the sandbox
}

TEST(Process, MissingProgramIsAnEnvironmentError) {
  ProcessSpec spec;
  spec.argv = {"/nonexistent/python"};
  EXPECT_THROW(Process::start(spec), EnvironmentError);
  Sandbox sandbox({});
  EXPECT_THROW(Process::start(spec, &sandbox), EnvironmentError);
}

TEST(Process, DiesWithItsOwner) {
  pid_t pid;
  {
    ProcessSpec spec;
    spec.argv = {"/bin/cat", "/dev/zero"};
    Process process = Process::start(spec);
    pid = process.pid();
    EXPECT_FALSE(process.wait(deadline_in(milliseconds(1))).has_value());
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

// What a child has started ends with it if that is asked for, however it ends.
TEST(Process, KillsItsSession) {
  for (const bool ends : {false, true}) {
    OutputTail said;
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", std::string("sleep 60 & echo $! >&2; ") + (ends ? "" : "wait")};
    spec.err = said.write_end();
    spec.kill_session = true;
    Process process = Process::start(spec);
    said.close_write_end();
    std::string text;
    for (int i = 0; i < 200 && text.empty(); ++i) {
      said.drain();
      text = said.last_lines(1);
      ::usleep(10000);
    }
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(process.wait(deadline_in(std::chrono::seconds(ends ? 10 : 0))).has_value(), ends);
    process.kill();
    // It has nobody to reap it here but the system, so a dead one may still have its number.
    const std::string stat = "/proc/" + text + "/stat";
    std::string state = "R";
    for (int i = 0; i < 200 && state != "Z" && state != "gone"; ++i) {
      std::string number, name;
      if (!(std::ifstream(stat) >> number >> name >> state)) state = "gone";
      ::usleep(10000);
    }
    EXPECT_NE(state, "R");
    EXPECT_NE(state, "S");
  }
}

TEST(Process, NamesHowItEnded) {
  EXPECT_EQ(describe_status(W_EXITCODE(3, 0)), "exited with status 3");
  EXPECT_EQ(describe_status(W_EXITCODE(0, SIGSEGV)), "was killed by SIGSEGV (segmentation fault)");
}

TEST(Process, OneLineIsPrintable) {
  EXPECT_EQ(one_line("a\n\tb \x1b[31mred\n"), "a b [31mred");
  EXPECT_EQ(one_line("abcdef", 3), "abc...");
  const std::string cut = one_line("\xc3\xa4\xc3\xa4", 3);  // cut inside a character
  EXPECT_NO_THROW(Json(cut).dump());
}

TEST(OutputTail, KeepsTheLastLines) {
  OutputTail tail;
  for (int i = 0; i < 3000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n\n";
    ASSERT_EQ(::write(tail.write_end(), line.data(), line.size()),
              static_cast<ssize_t>(line.size()));
    tail.drain();
  }
  EXPECT_EQ(tail.last_lines(2), "line 2998 | line 2999");
}

}  // namespace
}  // namespace kw
