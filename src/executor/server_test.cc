#include "executor/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "executor/aten/torch_version.h"
#include "executor/device/test_backend.h"
#include "program/task_json.h"

namespace kw::exec {
namespace {

Task relu_task() {
  return make_task(random_inputs({{4}}),
                   make_program({value_json("float32", {4}, 0), value_json("float32", {4}, 1)}, {0},
                                {step_json("aten.relu.default", {{"self", v(0)}}, {1})}, {1}));
}

class ServerTest : public testing::Test {
 protected:
  Json ask(const Json& request) { return server_.answer({request, {}}).json; }
  Json load(int id, const Task& task) {
    Frame frame = task_to_frame(task);
    frame.json["kind"] = "load";
    frame.json["id"] = id;
    return server_.answer(frame).json;
  }
  FakeBackend backend_;
  Server server_{backend_, nullptr};
};

TEST_F(ServerTest, HelloTellsWhatRunsHere) {
  const Json hello = ask({{"kind", "hello"}});
  EXPECT_EQ(hello["status"], "ok");
  EXPECT_EQ(hello["torch"], KW_TORCH_VERSION);
  EXPECT_EQ(hello["backend"], "fake");
}

TEST_F(ServerTest, LoadsTriesAndUnloads) {
  EXPECT_EQ(load(3, relu_task())["status"], "ok");
  const Json request = to_json(TrialRequest{3, 3, 7, Variation::kPlain});
  const Json reply = ask(request);
  const TrialReport report = trial_report_from_json(JsonReader(reply, "reply"));
  EXPECT_EQ(report.status, ReplyStatus::kOk);
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_TRUE(report.outputs[0].exact_equal);
  EXPECT_EQ(ask({{"kind", "unload"}, {"id", 3}})["status"], "ok");
  EXPECT_EQ(ask(request)["status"], "failed");
}

TEST_F(ServerTest, ATaskThatCannotBePreparedIsRefusedByPlace) {
  Task task = relu_task();
  std::get<AtenCall>(task.forward.steps[0]).op = "aten.no_such_thing.default";
  const Json reply = load(1, task);
  EXPECT_EQ(reply["status"], "failed");
  EXPECT_NE(reply["message"].get<std::string>().find("forward: step 0"), std::string::npos)
      << reply;
  EXPECT_EQ(ask(to_json(TrialRequest{1, 1}))["status"], "failed");
}

// Kept answers of references are released too, and the next trial makes them again.
TEST_F(ServerTest, ReleasesWhatItKeeps) {
  struct Keeping : FakeBackend {
    int released = 0;
    void release_memory() override { ++released; }
  } backend;
  Server server(backend, nullptr);
  Frame frame = task_to_frame(relu_task());
  frame.json["kind"] = "load", frame.json["id"] = 3;
  server.answer(frame);
  const Json trial = to_json(TrialRequest{3, 3, 7, Variation::kPlain});
  EXPECT_EQ(server.answer({trial, {}}).json["status"], "ok");
  EXPECT_EQ(backend.released, 0);
  EXPECT_EQ(server.answer({{{"kind", "release"}}, {}}).json["status"], "ok");
  EXPECT_EQ(backend.released, 1);
  EXPECT_EQ(server.answer({trial, {}}).json["status"], "ok");
}

TEST_F(ServerTest, RunsACandidateForSomebodyWhoWatches) {
  EXPECT_EQ(load(1, relu_task())["status"], "ok");
  EXPECT_EQ(load(2, relu_task())["status"], "ok");
  EXPECT_EQ(ask(to_json(BareRequest{1, 2, 7}))["status"], "ok");
  EXPECT_EQ(ask(to_json(BareRequest{1, 3, 7}))["status"], "failed");
  EXPECT_EQ(ask({{"kind", "bare"}, {"reference", 1}})["status"], "not-judged");
}

TEST_F(ServerTest, NonsenseIsAnswered) {
  for (const Json& request :
       {Json::object(), Json{{"kind", "sing"}}, Json{{"kind", 3}}, Json::array(), Json()}) {
    EXPECT_EQ(ask(request)["status"], "failed") << request;
    EXPECT_FALSE(server_.lost());
  }
}

// A supervisor of another build sends other requests, and no candidate is to blame for it.
TEST_F(ServerTest, WhatIsNotUnderstoodIsNotJudged) {
  Json newer = to_json(TrialRequest{});
  newer["variation"] = "upside-down";
  for (const Json& request : {Json{{"kind", "load"}, {"id", 1}}, Json{{"kind", "trial"}}, newer,
                              Json{{"kind", "time"}, {"rounds", -1}}}) {
    const Json reply = ask(request);
    EXPECT_EQ(reply["status"], "not-judged") << request;
  }
}

TEST_F(ServerTest, NoClockMeansNotJudged) {
  EXPECT_EQ(ask(to_json(TimeRequest{}))["status"], "not-judged");
}

TEST_F(ServerTest, ALostDeviceEndsTheProcess) {
  const std::vector<Kernel> kernels = {make_kernel("wild", {"*fp32"}, {0})};
  backend_.kernels["wild"] = [](std::span<const at::Tensor>) {
    throw DeviceLost("illegal memory access");
  };
  load(1, relu_task());
  load(2, make_task(random_inputs({{4}}),
                    make_program({value_json("float32", {4}, 0)}, {0}, {launch_json(0, {v(0)})},
                                 {0}, kernels),
                    kernels));
  const Json reply = ask(to_json(TrialRequest{1, 2, 7, Variation::kPlain}));
  EXPECT_EQ(reply["status"], "died");
  EXPECT_TRUE(server_.lost());
}

TEST_F(ServerTest, ServesFramesUntilTheOtherEndCloses) {
  auto [ours, theirs] = socket_pair(SOCK_STREAM);
  FrameChannel client(std::move(ours)), server(std::move(theirs));
  ASSERT_EQ(client.send({{{"kind", "hello"}}, {}}), ChannelStatus::kOk);
  ASSERT_EQ(client.send({{{"kind", "sing"}}, {}}), ChannelStatus::kOk);
  shutdown(client.fd(), SHUT_WR);
  EXPECT_EQ(server_.serve(server), 0);
  EXPECT_EQ(client.receive().frame.json["status"], "ok");
  EXPECT_EQ(client.receive().frame.json["status"], "failed");
}

// The backend gets ready after the greeting, before anything waits for it. A failure there changes
// no answer.
TEST(Readiness, FollowsTheGreeting) {
  struct Slow : FakeBackend {
    int made_ready = 0;
    void get_ready() override {
      ++made_ready;
      throw ReplayError("no room");
    }
  } backend;
  Server server(backend, nullptr);
  auto [ours, theirs] = socket_pair(SOCK_STREAM);
  FrameChannel client(std::move(ours)), channel(std::move(theirs));
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(client.send({{{"kind", "hello"}}, {}}), ChannelStatus::kOk);
  }
  shutdown(client.fd(), SHUT_WR);
  EXPECT_EQ(server.serve(channel), 0);
  EXPECT_EQ(backend.made_ready, 1);
  EXPECT_EQ(client.receive().frame.json["status"], "ok");
  EXPECT_EQ(client.receive().frame.json["status"], "ok");
}

TEST(TorchVersion, IsTheOneBuiltWith) {
  EXPECT_EQ(loaded_torch_version(), KW_TORCH_VERSION);
  EXPECT_NO_THROW(check_torch_version());
}

}  // namespace
}  // namespace kw::exec
