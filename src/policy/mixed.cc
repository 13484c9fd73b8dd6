#include "policy/mixed.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

class Mixed : public Policy {
 public:
  explicit Mixed(std::vector<std::unique_ptr<Policy>> policies) : policies_(std::move(policies)) {}

  std::string name() const override {
    return joined([](const Policy& p) { return p.name(); });
  }
  std::string fingerprint() const override {
    return joined([](const Policy& p) { return p.name() + ":" + p.fingerprint(); });
  }

  void prepare() override {
    for (const auto& policy : policies_) policy->prepare();
  }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed, Clock::time_point deadline) override {
    const int share = share_of(count);
    std::vector<std::vector<Proposal>> answers(policies_.size());
    of_each([&](size_t i) {
      answers[i] = policies_[i]->propose(task, profile, share, seed, deadline);
    });
    std::vector<Proposal> out;
    for (size_t k = 0; k < static_cast<size_t>(share); ++k) {
      for (std::vector<Proposal>& answer : answers) {
        if (k < answer.size()) out.push_back(std::move(answer[k]));
      }
    }
    if (out.size() > static_cast<size_t>(count)) out.resize(count);
    return out;
  }

  void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                    Clock::time_point deadline, const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override {
    const int share = share_of(count);
    std::mutex one_at_a_time;
    std::atomic<int> left = count;
    const auto take_one = [&](Proposal one) {
      const std::lock_guard lock(one_at_a_time);
      if (left > 0) take(std::move(one));
      --left;
    };
    of_each([&](size_t i) {
      policies_[i]->propose_each(task, profile, share, seed, deadline, take_one,
                                 [&] { return left > 0 && wanted(); });
    });
  }

  // The most cautious guess: a policy that knows a kernel's cost is believed before one that knows
  // only a lower bound.
  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    std::optional<Guess> out;
    for (const auto& policy : policies_) {
      const std::optional<Guess> guess = policy->guess(task, profile);
      if (guess && (!out || guess->seconds > out->seconds)) out = guess;
    }
    return out;
  }
  int at_once() const override {
    int out = 1;
    for (const auto& policy : policies_) out = std::max(out, policy->at_once());
    return out;
  }
  bool draws() const override {
    return std::ranges::any_of(policies_, [](const auto& policy) { return policy->draws(); });
  }
  std::chrono::seconds patience() const override {
    std::chrono::seconds out{0};
    for (const auto& policy : policies_) out = std::max(out, policy->patience());
    return out;
  }
  Json costs() const override {
    Json out;
    for (const auto& policy : policies_) {
      if (Json own = policy->costs(); !own.is_null()) out[policy->name()] = std::move(own);
    }
    return out;
  }
  void learn(const std::vector<std::pair<Json, double>>& measured) override {
    for (const auto& policy : policies_) policy->learn(measured);
  }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return joined([&](Policy& p) {
      const std::string reason = p.refusal(task, profile);
      return p.name() + ": " + (reason.empty() ? "gave nothing" : reason);
    });
  }

 private:
  int share_of(int count) const {
    const int policies = std::max(1, static_cast<int>(policies_.size()));
    return (count + policies - 1) / policies;
  }
  // Policies that wait do so together, and while the others compute.
  template <class Work>
  void of_each(const Work& work) const {
    std::vector<std::future<void>> asked;
    for (size_t i = 0; i < policies_.size(); ++i) {
      if (policies_[i]->at_once() > 1) {
        asked.push_back(std::async(std::launch::async, [&work, i] { work(i); }));
      }
    }
    for (size_t i = 0; i < policies_.size(); ++i) {
      if (policies_[i]->at_once() <= 1) work(i);
    }
    for (std::future<void>& one : asked) one.get();
  }
  template <class Text>
  std::string joined(Text text) const {
    std::string out;
    for (const auto& policy : policies_) out += (out.empty() ? "" : "; ") + text(*policy);
    return out;
  }

  const std::vector<std::unique_ptr<Policy>> policies_;
};

}  // namespace

std::unique_ptr<Policy> make_mixed(std::vector<std::unique_ptr<Policy>> policies) {
  if (policies.size() == 1) return std::move(policies[0]);
  return std::make_unique<Mixed>(std::move(policies));
}

}  // namespace kw
