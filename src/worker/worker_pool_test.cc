// The pool against a zygote that is a small Python script: children misbehave as their request
// tells them to. No torch, so these are quick; jobs_test.cc has the real worker.
#include "worker/worker_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include <map>
#include <set>
#include <thread>

#include "formats/base/error.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

using std::chrono::milliseconds;
using Status = JobResult::Status;

constexpr const char* kFakeZygote = R"(
import array, json, os, select, signal, socket, struct, sys

control = socket.socket(fileno=int(sys.argv[sys.argv.index("--socket") + 1]))
args = sys.argv[1:]

def with_fds(sock, data, fds):
    sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])

def receive(sock, size):
    data, ancillary, _, _ = sock.recvmsg(size, 4096)
    fds = array.array("i")
    for _, _, payload in ancillary:
        fds.frombytes(payload)
    return data, list(fds)

def exactly(sock, size):
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            os._exit(9)
        data += piece
    return data

def frame(message, blobs=()):
    text = json.dumps(message).encode()
    return (struct.pack("<IIII", 0x3152574B, len(text), len(blobs), 0)
            + b"".join(struct.pack("<Q", len(b)) for b in blobs) + text + b"".join(blobs))

def serve(sock, limits):
    if limits["memory_bytes"] == 666:
        os._exit(7)  # without reading
    while serve_one(sock, limits):
        pass
    os._exit(0)

def serve_one(sock, limits):
    first, fds = receive(sock, 1)
    head = first + exactly(sock, 15)
    _, size, count, _ = struct.unpack("<IIII", head)
    sizes = struct.unpack("<%dQ" % count, exactly(sock, 8 * count))
    request = json.loads(exactly(sock, size))
    blobs = [exactly(sock, s) for s in sizes]
    do = request["do"]
    if do == "ok":
        for fd in fds:
            os.write(fd, b"hello")
        sock.sendall(frame({"status": "ok", "echo": request, "limits": limits, "args": args,
                            "pid": os.getpid()}, blobs))
    elif do == "reply":
        sock.sendall(frame(request["reply"]))
    elif do == "pieces":
        for byte in frame({"status": "ok"}, [b"blob"]):
            sock.sendall(bytes([byte]))
    elif do == "linger":  # answers, but does not go
        sock.sendall(frame({"status": "ok"}))
        signal.pause()
    elif do == "hang":
        signal.pause()
    elif do == "exit":
        os._exit(request["code"])
    elif do == "signal":
        signal.signal(request["signal"], signal.SIG_DFL) if request["signal"] != 9 else None
        os.kill(os.getpid(), request["signal"])
    elif do == "flood":
        sock.sendall(struct.pack("<IIII", 0x3152574B, 2, 1, 0) + struct.pack("<Q", 1 << 29))
        while True:
            sock.sendall(b"x" * 65536)
    elif do == "garbage":
        sock.sendall(b"this is no frame at all")
        signal.pause()
    elif do == "partial":
        sock.sendall(frame({"status": "ok"})[:request["bytes"]])
    elif do == "close":
        sock.shutdown(socket.SHUT_RDWR)
        signal.pause()
    elif do == "grandchild":  # dies, but its socket lives on in a process of its own
        if os.fork() == 0:
            signal.pause()
        os._exit(5)
    elif do == "noise":
        os.write(2, b"noise\n" * 100000)
        sock.sendall(frame({"status": "ok"}))
    elif do == "control":  # pretends to be the zygote
        control.send(request["message"].encode())
        signal.pause()
    elif do == "shutdown":  # as if the zygote had died
        control.shutdown(socket.SHUT_RDWR)
    elif do == "babble":  # says more than it was asked
        sock.sendall(2 * frame({"status": "ok", "pid": os.getpid()}))
    elif do == "leave":
        sock.sendall(frame({"status": "ok", "pid": os.getpid()}))
        sock.close()  # before the descriptors of the job
        os._exit(0)
    return request.get("stay")

control.send(json.dumps({"ready": True, "python": "fake", "pid": os.getpid(), "sandbox": [
    {"name": "inner", "active": True, "detail": ""}]}).encode())
children = {}
poller = select.poll()
poller.register(control, select.POLLIN)
while True:
    for fd, _ in poller.poll():
        if fd != control.fileno():
            job, pid = children.pop(fd)
            poller.unregister(fd)
            os.close(fd)
            status = os.waitpid(pid, 0)[1]
            end = ({"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status)
                   else {"exit": os.WEXITSTATUS(status)})
            control.send(json.dumps({"job": job, **end}).encode())
            continue
        data, fds = receive(control, 4096)
        if not data:
            os._exit(0)
        message = json.loads(data)
        pid = os.fork()
        if pid == 0:
            serve(socket.socket(fileno=fds[0]), message["limits"])
        os.close(fds[0])
        pidfd = os.pidfd_open(pid)
        children[pidfd] = message["job"], pid
        poller.register(pidfd, select.POLLIN)
        with_fds(control, json.dumps({"job": message["job"], "pid": pid}).encode(), [pidfd])
)";

class WorkerPoolOnProcesses : public testing::Test {
 protected:
  WorkerConfig config() {
    WorkerConfig config = default_worker_config();
    folder_.write("zygote.py", script_);
    config.worker_dir = folder_.path();
    config.fake_device_library.clear();
    config.reply_bytes = 1 << 20;
    return config;
  }
  static Job job(Json request, milliseconds deadline = milliseconds(20000)) {
    Job job;
    job.request.json = std::move(request);
    job.deadline = deadline;
    return job;
  }
  TestFolder folder_;
  std::string script_ = kFakeZygote;
};

TEST_F(WorkerPoolOnProcesses, CarriesRequestBlobsAndDescriptors) {
  WorkerConfig settings = config();
  settings.memory_bytes = 12345;
  WorkerPool pool(settings);
  UniqueFd memory(::memfd_create("test", 0));
  Job request = job({{"do", "ok"}, {"x", 1}});
  request.request.blobs = {std::string("a\0b", 3), std::string(300000, 'x')};
  request.fds = {memory.get()};
  const JobResult result = pool.run(request);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.reply.json["echo"], request.request.json);
  EXPECT_EQ(result.reply.json["limits"], Json({{"memory_bytes", 12345}}));
  EXPECT_EQ(result.reply.json["args"], Json({"--socket", "3"}));
  EXPECT_EQ(result.reply.blobs, request.request.blobs);
  char text[6] = {};
  EXPECT_EQ(::pread(memory.get(), text, 5, 0), 5);
  EXPECT_STREQ(text, "hello");
  EXPECT_EQ(pool.versions(), Json({{"python", "fake"}, {"pid", pool.versions()["pid"]}}));
  EXPECT_EQ(pool.sandbox().front().name, "user namespace");
  EXPECT_EQ(pool.sandbox().back().name, "inner");
}

TEST_F(WorkerPoolOnProcesses, AChildStaysIfItsRequestAsksForThat) {
  WorkerPool pool(config());
  const auto pid_of = [&](const std::string& what, bool stays = true) {
    const JobResult result = pool.run(job({{"do", what}, {"stay", stays}}));
    EXPECT_TRUE(result.ok()) << what << ": " << result.message;
    return result.reply.json.value("pid", 0);
  };
  const int first = pid_of("ok");
  UniqueFd memory(::memfd_create("test", 0));
  Job request = job({{"do", "ok"}, {"stay", true}});
  request.request.blobs = {std::string(300000, 'x')};
  request.fds = {memory.get()};
  const JobResult result = pool.run(request);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.reply.json["pid"], first);
  EXPECT_EQ(result.reply.blobs, request.request.blobs);
  char text[6] = {};
  EXPECT_EQ(::pread(memory.get(), text, 5, 0), 5);

  EXPECT_NE(pid_of("ok", false), first);  // others have their own
  EXPECT_EQ(pid_of("ok"), first);
  // It goes with the first job that it does not answer well, and once it says what nobody asked.
  const Json refused = {{"status", "refused"},
                        {"code", "raised"},
                        {"message", "m"},
                        {"file", nullptr},
                        {"line", nullptr}};
  EXPECT_EQ(pool.run(job({{"do", "reply"}, {"stay", true}, {"reply", refused}})).status,
            Status::kRefused);
  const int second = pid_of("ok");
  EXPECT_NE(second, first);
  EXPECT_EQ(pool.run(job({{"do", "exit"}, {"code", 3}, {"stay", true}})).status, Status::kKilled);
  const int third = pid_of("babble");
  EXPECT_NE(third, second);
  const int fourth = pid_of("ok");
  EXPECT_NE(fourth, third);
  EXPECT_EQ(pool.run(job({{"do", "hang"}, {"stay", true}}, milliseconds(100))).status,
            Status::kTimeout);
  // One that has ended meanwhile is not used.
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reading(fds[0]), writing(fds[1]);
  Job leaves = job({{"do", "leave"}, {"stay", true}});
  leaves.fds = {writing.get()};
  const JobResult left = pool.run(leaves);
  ASSERT_TRUE(left.ok()) << left.message;
  writing.reset();
  pollfd entry{reading.get(), POLLIN, 0};  // ends when the child's copy is gone
  ASSERT_EQ(::poll(&entry, 1, 10000), 1);
  EXPECT_NE(pid_of("ok"), left.reply.json["pid"]);
}

TEST_F(WorkerPoolOnProcesses, RefusalsAndFailuresAreTakenApart) {
  WorkerPool pool(config());
  JobResult result = pool.run(job({{"do", "reply"},
                                   {"reply",
                                    {{"status", "refused"},
                                     {"code", "host-read"},
                                     {"message", "reads\na value"},
                                     {"file", "m.py"},
                                     {"line", 7}}}}));
  EXPECT_EQ(result.status, Status::kRefused);
  EXPECT_EQ(result.code, "host-read");
  EXPECT_EQ(result.message, "reads a value");
  EXPECT_EQ(result.file, "m.py");
  EXPECT_EQ(result.line, 7);
  result = pool.run(job({{"do", "reply"}, {"reply", {{"status", "failed"}, {"message", "m"}}}}));
  EXPECT_EQ(result.status, Status::kFailed);
  EXPECT_EQ(result.message, "m");
}

TEST_F(WorkerPoolOnProcesses, EveryMisbehaviourIsAResult) {
  struct Case {
    Json request;
    Status status;
    std::string says;
  };
  const Json refused = {
      {"status", "refused"}, {"message", "m"}, {"file", nullptr}, {"line", nullptr}};
  Json odd_code = refused, bad_line = refused;
  odd_code["code"] = "no-such-code";
  bad_line["code"] = "syntax";
  bad_line["line"] = -1;
  const std::vector<Case> cases = {
      {{{"do", "exit"}, {"code", 3}}, Status::kKilled, "status 3"},
      {{{"do", "exit"}, {"code", 0}}, Status::kKilled, "without an answer"},
      {{{"do", "signal"}, {"signal", 11}}, Status::kKilled, "SIGSEGV"},
      {{{"do", "signal"}, {"signal", 9}}, Status::kFailed, "memory"},
      {{{"do", "flood"}}, Status::kFlooded, "1048576"},
      {{{"do", "garbage"}}, Status::kKilled, "protocol"},
      {{{"do", "partial"}, {"bytes", 5}}, Status::kKilled, "without an answer"},
      {{{"do", "partial"}, {"bytes", 20}}, Status::kKilled, "without an answer"},
      {{{"do", "close"}}, Status::kKilled, "closed its socket"},
      {{{"do", "grandchild"}}, Status::kKilled, "status 5"},
      {{{"do", "reply"}, {"reply", {{"status", "great"}}}}, Status::kKilled, "protocol"},
      {{{"do", "reply"}, {"reply", Json::array()}}, Status::kKilled, "protocol"},
      {{{"do", "reply"}, {"reply", odd_code}}, Status::kKilled, "code"},
      {{{"do", "reply"}, {"reply", bad_line}}, Status::kKilled, "line"},
      {{{"do", "pieces"}}, Status::kOk, ""},
      {{{"do", "linger"}}, Status::kOk, ""},
      {{{"do", "noise"}}, Status::kOk, ""},
  };
  WorkerConfig settings = config();
  settings.parallel = 4;
  WorkerPool pool(settings);
  std::map<uint64_t, const Case*> expected;
  for (const Case& c : cases) expected[pool.submit(job(c.request))] = &c;
  EXPECT_EQ(pool.pending(), cases.size());
  while (pool.pending() > 0) {
    const JobResult result = pool.next();
    ASSERT_TRUE(expected.count(result.id));
    const Case& c = *expected[result.id];
    EXPECT_EQ(job_status_name(result.status), job_status_name(c.status))
        << c.request << ": " << result.message;
    EXPECT_NE(result.message.find(c.says), std::string::npos) << c.request << result.message;
    expected.erase(result.id);
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_TRUE(pool.run(job({{"do", "ok"}})).ok());  // and the pool lives
}

TEST_F(WorkerPoolOnProcesses, DeadlinesKillTheChild) {
  WorkerConfig settings = config();
  settings.limit_flags = {{"record", "--record-timeout"}};
  WorkerPool pool(settings);
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reading(fds[0]), writing(fds[1]);
  Job hang = job({{"do", "hang"}}, milliseconds(200));
  hang.fds = {writing.get()};
  pool.submit(hang);
  const JobResult result = pool.next();
  EXPECT_EQ(result.status, Status::kTimeout);
  EXPECT_EQ(result.message, "took longer than 0.2 s");
  const Json recording = {{"do", "hang"}, {"kind", "record"}};
  EXPECT_EQ(pool.run(job(recording, milliseconds(200))).message,
            "took longer than 0.2 s (--record-timeout)");
  EXPECT_GE(result.seconds, 0.19);
  writing.reset();
  pollfd entry{reading.get(), POLLIN, 0};  // ends when the child's copy is gone
  EXPECT_EQ(::poll(&entry, 1, 10000), 1);
}

TEST_F(WorkerPoolOnProcesses, RunsAtMostParallelAtOnceAndAllInTheEnd) {
  WorkerConfig settings = config();
  settings.parallel = 2;
  WorkerPool pool(settings);
  const auto start = std::chrono::steady_clock::now();
  std::set<uint64_t> ids;
  for (int i = 0; i < 6; ++i) ids.insert(pool.submit(job({{"do", "hang"}}, milliseconds(40))));
  while (pool.pending() > 0) ids.erase(pool.next().id);
  EXPECT_TRUE(ids.empty());
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(3 * 40));
}

TEST_F(WorkerPoolOnProcesses, CancelsQueuedAndRunningJobs) {
  WorkerConfig settings = config();
  settings.parallel = 1;
  WorkerPool pool(settings);
  const uint64_t running = pool.submit(job({{"do", "hang"}}));
  const uint64_t queued = pool.submit(job({{"do", "hang"}}));
  const uint64_t last = pool.submit(job({{"do", "ok"}}));
  pool.cancel(queued);
  pool.cancel(running);
  pool.cancel(12345);  // unknown: nothing happens
  std::map<uint64_t, Status> results;
  for (int i = 0; i < 3; ++i) {
    const JobResult result = pool.next();
    results[result.id] = result.status;
  }
  EXPECT_EQ(results,
            (std::map<uint64_t, Status>{
                {running, Status::kCancelled}, {queued, Status::kCancelled}, {last, Status::kOk}}));
  EXPECT_EQ(pool.pending(), 0u);
}

TEST_F(WorkerPoolOnProcesses, LooksWithoutWaiting) {
  using Clock = std::chrono::steady_clock;
  WorkerPool pool(config());
  const uint64_t hangs = pool.submit(job({{"do", "hang"}}));
  const uint64_t ends = pool.submit(job({{"do", "ok"}}));
  std::optional<JobResult> found;
  while (!found) {
    const auto begin = Clock::now();
    found = pool.next_until(begin + std::chrono::milliseconds(20));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  }
  EXPECT_EQ(found->id, ends);
  // What is over is over, however long ago.
  for (const auto time : {Clock::now(), Clock::now() - std::chrono::hours(1), Clock::time_point{},
                          Clock::time_point::min()}) {
    EXPECT_FALSE(pool.next_until(time));
  }
  pool.cancel(hangs);
  found = pool.next_until(Clock::now());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, Status::kCancelled);
}

TEST_F(WorkerPoolOnProcesses, APauseBeforeAJobIsNotAddedToItsTime) {
  using Clock = std::chrono::steady_clock;
  WorkerPool pool(config());
  ASSERT_TRUE(pool.run(job({{"do", "ok"}, {"stay", true}})).ok());
  std::this_thread::sleep_for(milliseconds(1500));
  const auto begin = Clock::now();
  EXPECT_EQ(pool.run(job({{"do", "hang"}, {"stay", true}}, milliseconds(100))).status,
            Status::kTimeout);
  EXPECT_LT(Clock::now() - begin, milliseconds(1400));
}

// Its time runs while somebody looks after it.
TEST_F(WorkerPoolOnProcesses, APauseIsNotTheJobs) {
  using Clock = std::chrono::steady_clock;
  WorkerPool pool(config());
  pool.run(job({{"do", "ok"}}));  // the zygote is there
  pool.submit(job({{"do", "hang"}}, milliseconds(2000)));
  EXPECT_FALSE(pool.next_until(Clock::now() + milliseconds(500)));
  std::this_thread::sleep_for(milliseconds(2500));
  EXPECT_FALSE(pool.next_until(Clock::now() + milliseconds(100)));
  EXPECT_EQ(pool.next().status, Status::kTimeout);
}

TEST_F(WorkerPoolOnProcesses, AChildThatNeverReadsIsNoDeadlock) {
  WorkerConfig settings = config();
  settings.memory_bytes = 666;
  WorkerPool pool(settings);
  Job big = job({{"do", "ok"}});
  big.request.blobs = {std::string(8 << 20, 'x')};
  const JobResult result = pool.run(big);
  EXPECT_EQ(result.status, Status::kKilled);
  EXPECT_NE(result.message.find("status 7"), std::string::npos) << result.message;
}

TEST_F(WorkerPoolOnProcesses, AZygotesDeathEndsItsJobsAndTheNextOneStartsAnother) {
  WorkerConfig settings = config();
  settings.parallel = 2;
  WorkerPool pool(settings);
  for (const Json& request :
       {Json{{"do", "shutdown"}}, Json{{"do", "control"}, {"message", "nonsense"}},
        Json{{"do", "control"}, {"message", R"({"job": -1, "pid": 1})"}},
        Json{{"do", "control"}, {"message", R"({"job": 1, "pid": 1})"}}}) {
    pool.submit(job({{"do", "hang"}}));
    pool.submit(job(request));
    for (int i = 0; i < 2; ++i) {
      const JobResult result = pool.next();
      EXPECT_EQ(result.status, Status::kFailed) << request;
      EXPECT_NE(result.message.find("parent process"), std::string::npos) << result.message;
    }
    EXPECT_TRUE(pool.versions().is_object());  // the next one's
    EXPECT_TRUE(pool.run(job({{"do", "ok"}})).ok());
  }
}

TEST(Threads, AreAsManyAsCoresThatMayBeUsed) {
  EXPECT_EQ(threads_of(7), 7);
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(threads_of(0), CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(threads_of(0), 1);
  ::sched_setaffinity(0, sizeof all, &all);
}

TEST_F(WorkerPoolOnProcesses, WorksWithoutASandbox) {
  WorkerConfig settings = config();
  settings.sandbox = false;
  WorkerPool pool(settings);
  EXPECT_TRUE(pool.run(job({{"do", "ok"}})).ok());
  EXPECT_EQ(pool.run(job({{"do", "hang"}}, milliseconds(50))).status, Status::kTimeout);
}

TEST_F(WorkerPoolOnProcesses, AZygoteThatDoesNotStartIsAnEnvironmentError) {
  for (const auto& [script, says] : std::vector<std::pair<std::string, std::string>>{
           {"raise ImportError('No module named torch')", "No module named torch"},
           {"import os; os._exit(3)", "status 3"},
           {"import socket; socket.socket(fileno=3).send(b'{}')", "protocol"}}) {
    script_ = script;
    WorkerPool pool(config());
    try {
      pool.start();
      ADD_FAILURE() << script;
    } catch (const EnvironmentError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  WorkerConfig settings = config();
  settings.python = "/nonexistent/python3";
  EXPECT_THROW(WorkerPool(settings).start(), EnvironmentError);
}

}  // namespace
}  // namespace kw
