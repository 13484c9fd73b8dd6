// The policy `local` with scripts in the place of the trainer: how it starts, ends and fails. What
// a real one answers is tested in src/train and tests/test_local.py.
#include "policy/local.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "formats/base/error.h"
#include "policy/mixed.h"
#include "policy/test_fragment.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

class LocalPolicyOnProcesses : public ::testing::Test {
 protected:
  LocalPolicyOnProcesses() {
    std::filesystem::create_directory(folder_.path() / "model");
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) {
      folder_.write(std::string("model/") + file, "x");
    }
    options_.server.model = (folder_.path() / "model").string();
  }

  void trainer(const std::string& script) {
    options_.server.binary = folder_.write("trainer", "#!/bin/sh\n" + script);
    ASSERT_EQ(::chmod(options_.server.binary.c_str(), 0700), 0);
  }
  std::vector<Proposal> ask(Policy& policy, int count, seconds patience = seconds(60)) {
    return policy.propose(teacher::softmax_task(4, 8), teacher::profile(), count, 5,
                          steady_clock::now() + patience);
  }
  template <class Error>
  std::string fault() {
    try {
      ask(*make_local(options_), 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "no such error";
  }
  std::string text_of(const std::string& name) {
    std::ifstream in(folder_.path() / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TestFolder folder_;
  LocalOptions options_;
};

TEST_F(LocalPolicyOnProcesses, SaysWhatTheTrainerRefuses) {
  trainer("echo 'kernelwright-trainer: config.json: no heads' >&2; exit 2");
  EXPECT_EQ(fault<InputError>(), "config.json: no heads");
}

TEST_F(LocalPolicyOnProcesses, SaysHowTheTrainerEnded) {
  trainer("echo before >&2; echo 'no memory' >&2; exit 3");
  EXPECT_EQ(fault<EnvironmentError>(),
            "the model's server exited with status 3: before | no memory");
  trainer("echo 'last words' >&2; kill -9 $$");
  EXPECT_EQ(fault<EnvironmentError>(), "the model's server was killed by SIGKILL: last words");
  options_.server.binary = (folder_.path() / "none").string();
  EXPECT_NE(fault<EnvironmentError>().find("cannot execute"), std::string::npos);
}

TEST_F(LocalPolicyOnProcesses, SaysThatTheServerEndedLater) {
  trainer("echo 'kernelwright-trainer: ready' >&2; echo 'then this' >&2; exit 3");
  EXPECT_NE(fault<EnvironmentError>().find("exited with status 3"), std::string::npos);
}

// Can always be asked, and has no proposals.
class Silent : public Policy {
 public:
  std::string name() const override { return "silent"; }
  std::vector<Proposal> propose(const Task&, const DeviceProfile&, int, uint64_t,
                                std::chrono::steady_clock::time_point) override {
    return {};
  }
};

TEST_F(LocalPolicyOnProcesses, SaysBeforeItIsAskedWhetherItCanAnswer) {
  trainer("echo 'kernelwright-trainer: config.json: no heads' >&2; exit 2");
  EXPECT_THROW(make_local(options_)->prepare(), InputError);
  trainer("exit 3");
  EXPECT_THROW(make_local(options_)->prepare(), EnvironmentError);
  trainer("echo 'kernelwright-trainer: ready' >&2; cat");
  make_local(options_)->prepare();
  // Also where it is one of several.
  trainer("exit 2");
  std::vector<std::unique_ptr<Policy>> both;
  both.push_back(std::make_unique<Silent>());
  both.push_back(make_local(options_));
  EXPECT_THROW(make_mixed(std::move(both))->prepare(), InputError);
}

TEST_F(LocalPolicyOnProcesses, SaysThatItsModelIsReadTooSlowly) {
  trainer("cat");  // never says that it is ready
  options_.timeout_seconds = 1;
  try {
    make_local(options_)->prepare();
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("--policy-timeout"), std::string::npos);
  }
}

TEST_F(LocalPolicyOnProcesses, IsStartedWithItsOptionsWhenItIsAsked) {
  trainer("echo \"$@\" > " + (folder_.path() / "arguments").string() + "; exit 2");
  options_.server.rows = 5;
  options_.server.device = "cpu";
  const std::unique_ptr<Policy> policy = make_local(options_);
  policy->fingerprint();
  policy->guess(teacher::softmax_task(4, 8), teacher::profile());
  EXPECT_EQ(text_of("arguments"), "");
  EXPECT_THROW(ask(*policy, 1), InputError);
  const std::string arguments = text_of("arguments");
  EXPECT_TRUE(arguments.starts_with("serve --model " + options_.server.model + " --socket "))
      << arguments;
  EXPECT_NE(arguments.find("--device cpu --rows 5"), std::string::npos) << arguments;
}

TEST_F(LocalPolicyOnProcesses, EndsTheServerThroughItsStdin) {
  trainer("cat; echo tidy > " + (folder_.path() / "ended").string());
  {
    const std::unique_ptr<Policy> policy = make_local(options_);
    // It never says that it is ready.
    const std::vector<Proposal> late = ask(*policy, 2, seconds(0));
    ASSERT_EQ(late.size(), 2u);
    for (const Proposal& proposal : late) {
      EXPECT_TRUE(proposal.unanswered);
      EXPECT_NE(proposal.fault.find("deadline"), std::string::npos);
    }
  }
  EXPECT_EQ(text_of("ended"), "tidy\n");
}

TEST_F(LocalPolicyOnProcesses, ItsFingerprintHangsOnTheModelAndOnSampling) {
  const auto fingerprint = [&] { return make_local(options_)->fingerprint(); };
  const std::string first = fingerprint();
  EXPECT_EQ(fingerprint(), first);
  options_.server.rows = 99;  // changes no answer
  EXPECT_EQ(fingerprint(), first);
  std::filesystem::copy(folder_.path() / "model", folder_.path() / "copy");
  options_.server.model = (folder_.path() / "copy").string();
  EXPECT_EQ(fingerprint(), first);
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) {
    folder_.write(std::string("copy/") + file, "y");
    EXPECT_NE(fingerprint(), first) << file;
    folder_.write(std::string("copy/") + file, "x");
  }
  folder_.write("copy/README.md", "no part of the model");
  EXPECT_EQ(fingerprint(), first);
  options_.temperature = 0.8;  // of one sample, which would be the likeliest
  EXPECT_NE(fingerprint(), first);
}

TEST_F(LocalPolicyOnProcesses, ManyAreWaitedForAtOnce) {
  options_.server.rows = 16;
  options_.timeout_seconds = 70;
  const std::unique_ptr<Policy> policy = make_local(options_);
  EXPECT_GE(policy->at_once(), 16);
  EXPECT_EQ(policy->patience(), seconds(70));
  EXPECT_EQ(policy->name(), "local");
  const Json costs = policy->costs();
  EXPECT_EQ(costs.at("requests"), 0);
  EXPECT_EQ(costs.at("tokens_per_second"), 0.0);
}

TEST_F(LocalPolicyOnProcesses, AModelsFolderHasItsFiles) {
  const std::filesystem::path model = folder_.path() / "model", none = folder_.path() / "none";
  EXPECT_EQ(model_folder(model.string(), none), model.string());
  EXPECT_EQ(model_folder("", model), model.string());
  const auto fault = [&](const std::string& given) -> std::string {
    try {
      return model_folder(given, none);
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_NE(fault("").find("--model FOLDER"), std::string::npos);
  EXPECT_NE(fault(none.string()).find("config.json, tokenizer.json"), std::string::npos);
  std::filesystem::remove(model / "tokenizer.json");
  EXPECT_NE(fault(model.string()).find("has no tokenizer.json;"), std::string::npos);
}

}  // namespace
}  // namespace kw
