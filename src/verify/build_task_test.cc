// Builds with the real worker.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "program/task_json.h"
#include "verify/candidate_build.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr BuildPlan kBuildWait{milliseconds(120000), milliseconds(120000)};

constexpr const char* kScaleModel = R"(import torch
import triton
import triton.language as tl

SIZE = 64


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=inside) * factor, mask=inside)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(SIZE, 32)

    def forward(self, x):
        hidden = self.linear(x)
        result = torch.empty_like(hidden)
        scale[(triton.cdiv(hidden.numel(), 128),)](hidden, result, hidden.numel(), 3.0, BLOCK=128)
        return result


def get_inputs():
    return [torch.randn(8, SIZE)]


def get_init_inputs():
    return []
)";

RecordRequest scale_request(const std::string& text) {
  RecordRequest request;
  request.text = text;
  request.file = "model.py";
  request.profile = device_profile("h200");
  return request;
}

// With the real worker, which takes seconds to start: one test for all of it.
TEST(BuildTaskOnProcesses, RecordsAndCompilesWithTheRealWorker) {
  WorkerPool pool(default_worker_config());
  pool.start();
  EXPECT_TRUE(pool.versions().contains("torch"));
  const auto& layers = pool.sandbox();
  EXPECT_TRUE(std::any_of(layers.begin(), layers.end(), [](const SandboxLayer& layer) {
    return layer.name == "resource limits";
  }));

  std::vector<RecordRequest> requests(5, scale_request(kScaleModel));
  requests[2].text += "\nthis is no Python\n";
  requests[3].cls = "Missing";
  requests[4].text +=
      "\nclass Model(Model):\n"
      "    def forward(self, x):\n"
      "        return x.sum().item()\n";
  const auto outcomes = build_tasks(pool, requests, kBuildWait);
  ASSERT_EQ(outcomes.size(), requests.size());
  for (int i : {0, 1}) {
    ASSERT_TRUE(outcomes[i].value.has_value()) << outcomes[i].fault->text();
    const Task& task = outcomes[i].value->task;
    EXPECT_EQ(task.target, "sm_90");
    ASSERT_EQ(task.kernels.size(), 1u);
    const Kernel& kernel = task.kernels[0];
    EXPECT_EQ(kernel.name, "scale");
    EXPECT_NE(kernel.source.find("def scale"), std::string::npos);
    ASSERT_TRUE(kernel.compiled.has_value());
    EXPECT_EQ(kernel.compiled->cubin.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(kernel.compiled->reads, std::vector<int>{0});
    EXPECT_EQ(kernel.compiled->writes, std::vector<int>{1});
    ASSERT_EQ(task.state.size(), 2u);  // weight and bias
    EXPECT_EQ(task.init.values.at(task.init.outputs.at(0)).shape, (std::vector<int64_t>{32, 64}));
    EXPECT_EQ(task_from_frame(task_to_frame(task)), task);
  }
  ASSERT_TRUE(outcomes[2].fault.has_value());
  EXPECT_EQ(outcomes[2].fault->code, "syntax");
  EXPECT_EQ(outcomes[2].fault->file, "model.py");
  const std::string text = requests[2].text;
  EXPECT_EQ(outcomes[2].fault->line, std::count(text.begin(), text.end(), '\n'));
  ASSERT_TRUE(outcomes[3].fault.has_value());
  EXPECT_EQ(outcomes[3].fault->code, "missing");
  ASSERT_TRUE(outcomes[4].fault.has_value());
  EXPECT_EQ(outcomes[4].fault->code, "host-read") << outcomes[4].fault->text();

  // Hostile ones, and the pool still works.
  for (const char* text : {"import os\nos._exit(0)\n", "import os\nos.abort()\n",
                           "import os, threading\nthreading.Thread(target=lambda: [None for _ in "
                           "iter(int, 1)]).start()\nos._exit(0)\n"}) {
    const auto outcome = build_task(pool, scale_request(text), kBuildWait);
    ASSERT_TRUE(outcome.fault.has_value()) << text;
    EXPECT_EQ(job_status_name(outcome.fault->status), "killed") << outcome.fault->text();
  }
  const auto endless =
      build_task(pool, scale_request("while True:\n    pass\n"), build_within(milliseconds(300)));
  ASSERT_TRUE(endless.fault.has_value());
  EXPECT_EQ(job_status_name(endless.fault->status), "timeout") << endless.fault->text();
  EXPECT_EQ(endless.fault->text().substr(0, 10), "model.py: ");
  const auto latin =
      build_task(pool, scale_request("import torch\nNAME = 'caf\xE9'\n"), kBuildWait);
  ASSERT_TRUE(latin.fault.has_value());
  EXPECT_EQ(latin.fault->code, "syntax");
  EXPECT_EQ(latin.fault->text().substr(0, 12), "model.py:2: ");
  EXPECT_TRUE(build_task(pool, scale_request(kScaleModel), kBuildWait).value.has_value());
}

}  // namespace
}  // namespace kw
