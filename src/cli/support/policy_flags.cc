#include "cli/support/policy_flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <tuple>

#include "cli/support/flag_checks.h"
#include "formats/base/error.h"
#include "policy/answer_files.h"
#include "policy/inductor.h"
#include "policy/mixed.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

constexpr char kPolicies[] = "teacher, local, openai, replay or inductor";
constexpr char kGroup[] = "Policies that are asked (docs/policies.md)";

// "2 (level1-typo, other)"; "5 (a, b, c, ...)".
std::string list_text(const Json& values) {
  constexpr size_t kMost = 3;
  std::string out;
  for (size_t i = 0; i < std::min(kMost, values.size()); ++i) {
    out += (i > 0 ? ", " : "") +
           (values[i].is_string() ? values[i].get<std::string>() : values[i].dump());
  }
  if (values.size() > kMost) out += ", ...";
  return std::to_string(values.size()) + (out.empty() ? "" : " (" + out + ")");
}

// Numbers without the zeros behind them.
std::string number_text(const Json& value) {
  if (!value.is_number_float()) return value.is_array() ? list_text(value) : value.dump();
  std::ostringstream out;
  out.precision(4);
  out << value.get<double>();
  return out.str();
}

std::string pairs_text(const Json& costs) {
  std::string out;
  for (const auto& [name, value] : costs.items()) {
    if (!out.empty()) out += ", ";
    out += value.is_object() ? name + ": " + pairs_text(value) : name + " " + number_text(value);
  }
  return out;
}

}  // namespace

void PolicyFlags::add_to(CLI::App& app) {
  app.add_option("--policy", policy,
                 "who writes the kernels: teacher, local, openai, replay, inductor, or several: "
                 "local,teacher")
      ->capture_default_str();
  const auto add = [&](const char* flag, auto& slot, const char* help) {
    return app.add_option(flag, slot, help)->group(kGroup);
  };
  add("--model", local.server.model,
      "local: the model's folder (config.json, tokenizer.json, *.safetensors), as kernelwright "
      "train leaves it in RUN/checkpoint-STEP/model (default: $KERNELWRIGHT_MODEL, else the one "
      "that comes with the "
      "program)");
  add("--model-device", local.server.device, "local: where it runs; auto: a GPU where there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  add("--answers", answers,
      "replay: folder of <model>.<sample>.py, .txt or .md, or a file of JSON lines");
  add("--policy-url", openai.url, "openai: address of the API, such as http://localhost:8000/v1");
  add("--policy-model", openai.model, "openai: the model's name there");
  add("--policy-key-env", key_env, "openai: environment variable that holds the API key")
      ->capture_default_str();
  add("--temperature", openai.temperature,
      "openai, local: of the draw of an answer's words (local: 0.8, and 0, the likeliest answer, "
      "where one sample is asked for; openai: the endpoint's)")
      ->check(real_number(0, 10));
  add("--top-p", openai.top_p, "openai, local: share of the likeliest words that are drawn from")
      ->check(real_number(0, 1));
  add("--max-tokens", openai.max_tokens,
      "openai, local: of one answer; 0: the endpoint's limit, the model's context")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  add("--concurrency", concurrency,
      "openai: requests under way at once (8); local: answers that are drawn at once (16), each "
      "takes memory; inductor: tasks that are compiled at once (two thirds of the cores)")
      ->check(CLI::Range(1, 1024));
  add("--policy-retries", openai.retries, "openai: further tries of a request that failed")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  add("--policy-timeout", openai.timeout_seconds,
      "openai, local, inductor: seconds for the answers to one task, retries and all")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  add("--prompt-price", openai.prompt_price,
      "openai: price of a million tokens of questions, for the cost that is shown")
      ->check(real_number(0, 1e9));
  add("--completion-price", openai.completion_price, "openai: and of answers")
      ->check(real_number(0, 1e9));
}

PolicyFlags PolicyFlags::with(const std::string& what) const {
  PolicyFlags out = *this;
  if (what == "teacher" || what == "inductor") {
    out.policy = what;
    return out;
  }
  if (!std::filesystem::is_directory(what)) {
    throw InputError("--beside " + what +
                     ": expected teacher, inductor or the folder of a model, and @N behind it for "
                     "N samples; others can be what --policy says");
  }
  out.policy = "local";
  out.local.server.model = what;
  return out;
}

std::vector<std::string> PolicyFlags::names() const {
  std::vector<std::string> out;
  std::istringstream in(policy);
  for (std::string name; std::getline(in, name, ',');) out.push_back(name);
  return out;
}

void PolicyFlags::refuse_unused(const std::vector<PolicyFlags>& beside) const {
  std::set<std::string> asked;
  for (const std::string& name : names()) asked.insert(name);
  for (const PolicyFlags& other : beside) {
    for (const std::string& name : other.names()) asked.insert(name);
  }
  const std::tuple<const char*, const std::string&, const char*> own[] = {
      {"--model", local.server.model, "local"},
      {"--answers", answers, "replay"},
      {"--policy-url", openai.url, "openai"},
      {"--policy-model", openai.model, "openai"}};
  for (const auto& [flag, value, whose] : own) {
    if (value.empty() || asked.contains(whose)) continue;
    throw InputError(std::string(flag) + " is for --policy " + whose + ", and --policy is " +
                     policy);
  }
}

std::string PolicyFlags::label() const {
  return policy == "local" && !local.server.model.empty() ? local.server.model : policy;
}

std::unique_ptr<Policy> PolicyFlags::make_asked() const {
  if (openai.url.empty() || openai.model.empty()) {
    throw InputError("--policy openai needs --policy-url and --policy-model");
  }
  OpenAiOptions options = openai;
  options.concurrency = concurrency.value_or(options.concurrency);
  if (const char* key = std::getenv(key_env.c_str())) options.key = key;
  return make_openai(options, make_socket_transport(), make_steady_clock());
}

std::unique_ptr<Policy> PolicyFlags::make_own() const {
  LocalOptions options = local;
  options.server.model = model_folder(options.server.model);
  options.server.rows = concurrency.value_or(options.server.rows);
  options.temperature = openai.temperature;
  options.top_p = openai.top_p;
  options.max_tokens = openai.max_tokens;
  options.timeout_seconds = openai.timeout_seconds;
  return make_local(options);
}

std::unique_ptr<Policy> PolicyFlags::make_one(const std::string& name,
                                              const TeacherOptions& teacher,
                                              const std::string& backend) const {
  if (name == "teacher") return make_teacher(teacher);
  if (name == "local") return make_own();
  if (name == "openai") return make_asked();
  if (name == "replay") {
    if (answers.empty()) throw InputError("--policy replay needs --answers FOLDER or FILE");
    return make_replay(answers, functions);
  }
  if (name == "inductor") {
    // A compile has a core of its own for most of its time.
    return make_inductor({.device = backend,
                          .at_once = concurrency.value_or(std::max(1, threads_of(0) * 2 / 3)),
                          .timeout_seconds = openai.timeout_seconds});
  }
  throw InputError("--policy " + policy + ": there is no policy \"" + name + "\"; expected " +
                   kPolicies + ", with commas between several");
}

std::unique_ptr<Policy> PolicyFlags::make(const TeacherOptions& teacher,
                                          const std::string& backend) const {
  std::vector<std::unique_ptr<Policy>> out;
  std::set<std::string> seen;
  for (const std::string& name : names()) {
    if (!seen.insert(name).second)
      throw InputError("--policy " + policy + " names " + name + " twice");
    out.push_back(make_one(name, teacher, backend));
  }
  if (out.empty()) throw InputError(std::string("--policy is empty; expected ") + kPolicies);
  return make_mixed(std::move(out));
}

std::string costs_text(const std::string& whose, const Json& costs) {
  return costs.is_object() ? whose + ": " + pairs_text(costs) : "";
}

std::string costs_text(const Policy& policy) {
  return costs_text("policy " + policy.name(), policy.costs());
}

}  // namespace kw
