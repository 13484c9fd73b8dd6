#include "policy/answer_files.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"
#include "policy/chat/prompt.h"
#include "policy/task_key.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSamples = 1'000'000;

struct Stored {
  std::string text;
  bool code = false;  // the module alone, not an answer that holds it
};
using Samples = std::map<int64_t, Stored>;

// Returns the task and sample of a name: "conv.3" (conv.3.py) is sample 3 of conv, and a name
// without a number is sample 0.
std::pair<std::string, int64_t> split_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  const std::string number = dot == std::string::npos ? "" : name.substr(dot + 1);
  const bool digits = !number.empty() && number.size() <= 6 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || dot == 0) return {name, 0};
  return {name.substr(0, dot), std::stoll(number)};
}

class Folder {
 public:
  explicit Folder(const fs::path& answers) {
    if (!fs::exists(answers)) throw InputError("--answers " + answers.string() + ": not found");
    if (!fs::is_directory(answers)) {
      read_lines(answers);
    } else {
      std::set<fs::path> files;  // in order
      try {
        for (const auto& entry : fs::recursive_directory_iterator(answers)) {
          if (entry.is_regular_file()) files.insert(entry.path());
        }
      } catch (const fs::filesystem_error& error) {
        throw InputError("--answers " + answers.string() +
                         ": cannot be read: " + error.code().message());
      }
      for (const fs::path& file : files) read(file, answers, files);
    }
    if (tasks_.empty()) {
      throw InputError("--answers " + answers.string() +
                       ": no answers; expected <model>.<sample>.py, .txt or .md, or *.jsonl");
    }
  }

  const std::map<std::string, Samples>& tasks() const { return tasks_; }

 private:
  void read(const fs::path& file, const fs::path& answers, const std::set<fs::path>& files) {
    const std::string end = file.extension().string();
    if (end == ".jsonl") {  // in folders below there are other things, such as logs
      if (file.parent_path().lexically_relative(answers) == ".") read_lines(file);
      return;
    }
    if (end != ".py" && end != ".txt" && end != ".md") return;
    fs::path name = file.lexically_relative(answers).replace_extension();
    if (name.extension() == ".reference") return;  // the model, as `eval --out` leaves it
    if (name.extension() == ".fragment") {
      name.replace_extension();
    } else {
      // `eval --out` writes the policy's text and, next to it, the model with the text in place.
      fs::path fragment = file;
      if (end == ".py" && files.contains(fragment.replace_extension(".fragment.py"))) return;
    }
    const auto [task, sample] = split_name(name.generic_string());
    add(task, sample, {read_file(file, kMostSource), end == ".py"}, file.string());
  }

  void read_lines(const fs::path& file) {
    LineReader lines(file);
    for (std::string line; lines.next(line);) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string place = lines.place();
      const Json json = parse_json(line, place);
      const JsonReader in(json, place);
      // Lines of `eval --out`, opinions on them and rows made of them are no answers.
      if (lines.number() == 1 && (in.has("eval") || in.has("judge") || in.has("messages"))) return;
      const std::string& task = in.at("task").string();
      const auto known = tasks_.find(task);
      const int64_t next = known == tasks_.end() ? 0 : known->second.rbegin()->first + 1;
      const int64_t sample = in.has("sample") ? in.at("sample").integer(0, kMostSamples) : next;
      add(task, sample, {in.at("answer").string()}, place);
    }
  }

  void add(const std::string& task, int64_t sample, Stored stored, const std::string& place) {
    if (!tasks_[task].emplace(sample, std::move(stored)).second) {
      throw InputError(place + ": another answer is sample " + std::to_string(sample) + " of " +
                       task);
    }
  }

  std::map<std::string, Samples> tasks_;
};

class Replay : public Policy {
 public:
  Replay(const fs::path& answers, std::map<std::string, FunctionForm> functions)
      : path_(answers), folder_(answers), functions_(std::move(functions)) {}

  std::string name() const override { return "replay"; }
  std::string fingerprint() const override {
    std::string all;
    for (const auto& [task, samples] : folder_.tasks()) {
      for (const auto& [sample, stored] : samples) {
        all += sha256_hex(task) + std::to_string(sample) + sha256_hex(stored.text);
      }
    }
    return sha256_hex(all);
  }

  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count, uint64_t,
                                std::chrono::steady_clock::time_point) override {
    const auto* found = find(task);
    note(found);
    std::vector<Proposal> out;
    if (!found) return out;
    const auto form = functions_.find(model_name(task));
    for (const auto& [sample, stored] : found->second) {
      if (static_cast<int>(out.size()) == count) break;
      out.push_back(proposal_of(
          form == functions_.end()
              ? stored
              : Stored{with_model(stored.text, stored.code, form->second), stored.code}));
      out.back().model_seconds = least_seconds(task, profile);
    }
    return out;
  }

  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    if (!find(task)) return {};
    return Guess{"replay", least_seconds(task, profile)};
  }

  std::string refusal(const Task& task, const DeviceProfile&) override {
    if (find(task)) return "";
    const std::string name = model_name(task);
    return path_.string() + " has no answer for " + (name.empty() ? "" : name + ", ") + "task " +
           forward_hash(task);
  }

  Json costs() const override {
    const std::lock_guard lock(mutex_);
    size_t answers = 0;
    Json unused = Json::array();
    for (const auto& [task, samples] : folder_.tasks()) {
      answers += samples.size();
      if (!used_.contains(task)) unused.push_back(is_utf8(task) ? task : "(not UTF-8)");
    }
    return {{"answers", answers}, {"tasks_without", without_}, {"tasks_unused", unused}};
  }

 private:
  using Entry = std::map<std::string, Samples>::value_type;

  const Entry* find(const Task& task) const {
    const auto& tasks = folder_.tasks();
    // "suites/kb/level1/softmax", "kb/level1/softmax", "level1/softmax", "softmax".
    std::string name = model_name(task);
    auto found = name.empty() ? tasks.end() : tasks.find(name);
    while (found == tasks.end() && name.find('/') != std::string::npos) {
      name.erase(0, name.find('/') + 1);
      found = tasks.find(name);
    }
    if (found == tasks.end()) found = tasks.find(forward_hash(task));
    if (found == tasks.end()) found = tasks.find(forward_structure_hash(task));
    return found == tasks.end() ? nullptr : &*found;
  }

  void note(const Entry* found) {
    const std::lock_guard lock(mutex_);
    if (found) {
      used_.insert(found->first);
    } else {
      ++without_;
    }
  }

  static Proposal proposal_of(const Stored& stored) {
    Proposal out;
    out.family = "replay";
    if (stored.code) {
      out.source = stored.text;
      if (!is_utf8(out.source)) out.fault = "the answer is not UTF-8", out.source.clear();
      if (out.source.empty() && out.fault.empty()) out.fault = "the answer is empty";
      return out;
    }
    Answer answer = parse_answer(stored.text);
    out.plan = std::move(answer.plan);
    out.source = std::move(answer.source);
    out.fault = std::move(answer.fault);
    return out;
  }

  const fs::path path_;
  const Folder folder_;
  const std::map<std::string, FunctionForm> functions_;
  mutable std::mutex mutex_;  // of what follows
  std::set<std::string> used_;
  int64_t without_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_replay(const fs::path& answers,
                                    std::map<std::string, FunctionForm> functions) {
  return std::make_unique<Replay>(answers, std::move(functions));
}

}  // namespace kw
