#include "policy/local.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <vector>

#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "formats/install.h"
#include "formats/model_folder.h"
#include "net/http.h"
#include "policy/openai.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kTemperature = 0.8;
// Between two questions whether an answer is still wanted.
constexpr std::chrono::milliseconds kLookAtServer{100};
constexpr char kStillReading[] = "the deadline came while the model was read (--policy-timeout)";

// Counts the seconds in which some caller waited for an answer; overlaps count once.
class BusyTime {
 public:
  // The wait of one caller.
  class Part {
   public:
    explicit Part(BusyTime& busy) : busy_(busy) { busy_.begin(); }
    ~Part() { busy_.end(); }
    Part(const Part&) = delete;

   private:
    BusyTime& busy_;
  };
  double seconds() const {
    const std::lock_guard lock(mutex_);
    const auto now = waiting_ > 0 ? Clock::now() - since_ : Clock::duration::zero();
    return std::chrono::duration<double>(sum_ + now).count();
  }

 private:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (waiting_++ == 0) since_ = Clock::now();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--waiting_ == 0) sum_ += Clock::now() - since_;
  }

  mutable std::mutex mutex_;
  int waiting_ = 0;
  Clock::time_point since_;
  Clock::duration sum_{0};
};

OpenAiOptions client_options(const LocalOptions& options) {
  OpenAiOptions out;
  out.name = "local";
  out.bare = true;
  out.url = "http://localhost/v1";  // its socket is given to the transport
  out.model = "local";
  out.temperature = options.temperature.value_or(kTemperature);
  if (!options.temperature) out.lone_temperature = 0;
  out.top_p = options.top_p;
  out.max_tokens = options.max_tokens;
  out.concurrency = 2 * options.server.rows;  // a row that is done finds its next request there
  out.retries = 3;                            // its server may have to be started again
  out.timeout_seconds = options.timeout_seconds;
  return out;
}

// Sends requests to the server once it is ready. A server that has ended for good is the machine's
// fault, and not a sample's.
class ServerTransport : public HttpTransport {
 public:
  explicit ServerTransport(ModelServer& server)
      : server_(server), socket_(make_unix_transport(server.socket_path())) {}
  HttpResult post(const std::string& url, const HttpHeaders& headers, const std::string& body,
                  Clock::time_point deadline, const Take& take) override {
    while (!server_.wait_until_ready(std::min(deadline, Clock::now() + kLookAtServer))) {
      if (Clock::now() >= deadline) return {{}, kStillReading, true};
      if (!take({}, "")) return {};
    }
    HttpResult out = socket_->post(url, headers, body, deadline, take);
    if (!out.fault.empty() && !out.late) server_.throw_if_ended();
    return out;
  }

 private:
  ModelServer& server_;
  const std::unique_ptr<HttpTransport> socket_;
};

class Local : public Policy {
 public:
  explicit Local(const LocalOptions& options)
      : folder_(options.server.model),
        server_(options.server),
        client_(make_openai(client_options(options), std::make_unique<ServerTransport>(server_),
                            make_steady_clock())) {}

  std::string name() const override { return "local"; }
  std::string fingerprint() const override {
    std::call_once(hashed_, [&] { hash_ = kw::fingerprint(find_model(folder_)); });
    return sha256_hex(hash_ + client_->fingerprint());
  }
  void prepare() override {
    if (server_.wait_until_ready(Clock::now() + patience())) return;
    throw EnvironmentError("the model was not read in " + std::to_string(patience().count()) +
                           " seconds: --policy-timeout gives it more");
  }
  int at_once() const override { return client_->at_once(); }
  std::chrono::seconds patience() const override { return client_->patience(); }
  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    return client_->guess(task, profile);
  }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return client_->refusal(task, profile);
  }
  Json costs() const override;
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed, Clock::time_point deadline) override;
  void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                    Clock::time_point deadline, const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override;

 private:
  bool is_ready(Clock::time_point deadline) {
    return server_.wait_until_ready(std::min(deadline, Clock::now() + patience()));
  }
  Proposal too_late() const;

  const fs::path folder_;
  ModelServer server_;
  const std::unique_ptr<Policy> client_;
  BusyTime busy_;
  mutable std::once_flag hashed_;
  mutable std::string hash_;
};

Json Local::costs() const {
  const Json all = client_->costs();
  Json out;
  for (const char* name : {"requests", "failures", "prompt_tokens", "completion_tokens"}) {
    out[name] = all.at(name);
  }
  const double seconds = busy_.seconds();
  out["seconds"] = seconds;
  out["tokens_per_second"] = seconds > 0 ? out["completion_tokens"].get<double>() / seconds : 0.0;
  return out;
}

Proposal Local::too_late() const {
  Proposal out;
  out.family = name();
  out.fault = kStillReading;
  out.unanswered = true;
  return out;
}

std::vector<Proposal> Local::propose(const Task& task, const DeviceProfile& profile, int count,
                                     uint64_t seed, Clock::time_point deadline) {
  if (!is_ready(deadline)) return {static_cast<size_t>(std::max(count, 0)), too_late()};
  const BusyTime::Part part(busy_);
  return client_->propose(task, profile, count, seed, deadline);
}

void Local::propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                         Clock::time_point deadline, const std::function<void(Proposal)>& take,
                         const std::function<bool()>& wanted) {
  const auto end = std::min(deadline, Clock::now() + patience());
  while (!is_ready(std::min(end, Clock::now() + kLookAtServer))) {
    if (!wanted()) return;
    if (Clock::now() < end) continue;
    for (int i = 0; i < count; ++i) take(too_late());
    return;
  }
  const BusyTime::Part part(busy_);
  client_->propose_each(task, profile, count, seed, deadline, take, wanted);
}

}  // namespace

fs::path embedded_model() {
  return environment_or("KERNELWRIGHT_MODEL", shipped("models/embedded-rl"));
}

std::string model_folder(const std::string& given, const fs::path& embedded) {
  const fs::path folder = given.empty() ? embedded : fs::path(given);
  const ModelFolder found = find_model(folder);
  const std::vector<fs::path> files = model_files(found.base);
  const auto has = [&](const char* ending) {
    return std::ranges::any_of(files,
                               [&](const fs::path& f) { return f.string().ends_with(ending); });
  };
  std::string missing;
  const auto needs = [&](const char* what, bool is_there) {
    if (!is_there) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  needs("config.json", has("config.json"));
  needs("tokenizer.json", fs::exists(found.tokenizer));
  needs(".safetensors", has(".safetensors"));
  if (missing.empty()) return folder.string();
  if (given.empty()) {
    throw InputError("--policy local: there is no model (" + folder.string() + " has no " +
                     missing +
                     "); give one with --model FOLDER: a Hugging Face folder, such as "
                     "kernelwright train leaves in RUN/checkpoint-STEP/model");
  }
  throw InputError("--model " + given + ": " + (found.adapter ? found.base.string() + " " : "") +
                   "has no " + missing +
                   "; expected a Hugging Face folder with config.json, tokenizer.json and "
                   "*.safetensors, such as kernelwright train leaves in RUN/checkpoint-STEP/model");
}

std::unique_ptr<Policy> make_local(const LocalOptions& options) {
  return std::make_unique<Local>(options);
}

}  // namespace kw
