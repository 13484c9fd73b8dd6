#include "verify/blame.h"

#include <gtest/gtest.h>

#include "worker/test_folder.h"

namespace kw {
namespace {

// A zygote of a machine that has no room for another process.
constexpr const char* kZygoteThatCannotFork = R"(
import json, os, socket, sys
control = socket.socket(fileno=int(sys.argv[sys.argv.index("--socket") + 1]))
control.send(json.dumps({"ready": True, "python": "fake", "sandbox": []}).encode())
while True:
    data, fds, _, _ = socket.recv_fds(control, 65536, 4)
    if not data:
        break
    for fd in fds:
        os.close(fd)
    control.send(json.dumps({"job": json.loads(data)["job"], "error": "no processes left"}).encode())
)";

const JobFault kFailure{JobResult::Status::kFailed, "", "out of memory", "candidate.py", 0};

TEST(BlameOnProcesses, AFailureIsTheProgramsWhereWorkersWork) {
  WorkerPool pool(default_worker_config());
  const JobFault fault = blamed(pool, device_profile("h200"), kFailure);
  EXPECT_EQ(fault.status, JobResult::Status::kRefused);
  EXPECT_EQ(fault.code, "failed");
  EXPECT_NE(fault.message.find("out of memory"), std::string::npos) << fault.message;
}

TEST(BlameOnProcesses, AFailureIsTheMachinesWhereNoProgramIsRecorded) {
  TestFolder folder;
  folder.write("zygote.py", kZygoteThatCannotFork);
  WorkerConfig config = default_worker_config();
  config.worker_dir = folder.path();
  WorkerPool pool(config);
  const JobFault fault = blamed(pool, device_profile("h200"), kFailure);
  EXPECT_EQ(fault.status, JobResult::Status::kFailed);
  EXPECT_EQ(fault.message, kFailure.message);
}

TEST(BlameOnProcesses, ARefusalStaysWhatItIs) {
  WorkerPool pool(default_worker_config());
  const JobFault refusal{JobResult::Status::kRefused, "raised", "an error", "candidate.py", 3};
  EXPECT_EQ(blamed(pool, device_profile("h200"), refusal).text(), refusal.text());
}

}  // namespace
}  // namespace kw
