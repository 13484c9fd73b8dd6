#include "cli/policy_flags.h"

#include <cstdlib>
#include <set>
#include <sstream>

#include "formats/error.h"
#include "policy/mixed.h"
#include "policy/replay.h"

namespace kw {
namespace {

constexpr char kGroup[] = "Policies that are asked (docs/policies.md)";

// Numbers without the zeros behind them.
std::string number_text(const Json& value) {
  if (!value.is_number_float())
    return value.is_array() ? std::to_string(value.size()) : value.dump();
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
                 "who writes the kernels: teacher, openai, replay, or several: openai,teacher")
      ->capture_default_str();
  app.add_option("--answers", answers,
                 "replay: folder of <model>.<sample>.py, .txt or .md, or a file of JSON lines")
      ->group(kGroup);
  app.add_option("--policy-url", openai.url,
                 "openai: address of the API, such as http://localhost:8000/v1")
      ->group(kGroup);
  app.add_option("--policy-model", openai.model, "openai: the model's name there")->group(kGroup);
  app.add_option("--policy-key-env", key_env, "openai: environment variable that holds the API key")
      ->group(kGroup)
      ->capture_default_str();
  app.add_option("--temperature", openai.temperature, "openai: of the draw of an answer's words")
      ->check(CLI::Range(0.0, 10.0))
      ->group(kGroup);
  app.add_option("--top-p", openai.top_p,
                 "openai: share of the likeliest words that are drawn from")
      ->check(CLI::Range(0.0, 1.0))
      ->group(kGroup);
  app.add_option("--max-tokens", openai.max_tokens,
                 "openai: of one answer; 0: the endpoint's limit")
      ->check(CLI::Range(0, 1 << 30))
      ->group(kGroup)
      ->capture_default_str();
  app.add_option("--concurrency", openai.concurrency, "openai: requests under way at once")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup)
      ->capture_default_str();
  app.add_option("--policy-retries", openai.retries,
                 "openai: further tries of a request that failed")
      ->check(CLI::Range(0, 100))
      ->group(kGroup)
      ->capture_default_str();
  app.add_option("--policy-timeout", openai.timeout_seconds,
                 "openai: seconds for the answers to one task, retries and all")
      ->check(CLI::Range(1, 86400))
      ->group(kGroup)
      ->capture_default_str();
  app.add_option("--prompt-price", openai.prompt_price,
                 "openai: price of a million tokens of questions, for the cost that is shown")
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_option("--completion-price", openai.completion_price, "openai: and of answers")
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
}

std::unique_ptr<Policy> PolicyFlags::make(const TeacherOptions& teacher) const {
  std::vector<std::unique_ptr<Policy>> out;
  std::set<std::string> seen;
  std::istringstream names(policy);
  for (std::string name; std::getline(names, name, ',');) {
    if (!seen.insert(name).second) throw InputError("--policy " + policy + ": " + name + " twice");
    if (name == "teacher") {
      out.push_back(make_teacher(teacher));
    } else if (name == "replay") {
      if (answers.empty()) throw InputError("--policy replay needs --answers DIR");
      out.push_back(make_replay(answers));
    } else if (name == "openai") {
      if (openai.url.empty() || openai.model.empty()) {
        throw InputError("--policy openai needs --policy-url and --policy-model");
      }
      OpenAiOptions options = openai;
      if (const char* key = std::getenv(key_env.c_str())) options.key = key;
      out.push_back(make_openai(options, make_socket_transport(), make_steady_clock()));
    } else {
      throw InputError("--policy " + policy + ": there is no policy \"" + name +
                       "\"; expected teacher, openai or replay, with commas between several");
    }
  }
  if (out.empty()) throw InputError("--policy is empty; expected teacher, openai or replay");
  return make_mixed(std::move(out));
}

std::string costs_text(const Policy& policy) {
  const Json costs = policy.costs();
  return costs.is_object() ? "policy " + policy.name() + ": " + pairs_text(costs) : "";
}

}  // namespace kw
