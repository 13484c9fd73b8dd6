// kernelwright review RUN --review-url URL --review-model NAME
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "cli/support/last_words.h"
#include "cli/support/policy_flags.h"
#include "cli/support/progress.h"
#include "eval/run/opinions.h"
#include "formats/appended_lines.h"
#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "formats/output.h"
#include "policy/chat/reviewer.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct ReviewFlags {
  std::string run, key_env = "OPENAI_API_KEY";
  ChatOptions chat;
  bool json = false;
};

struct Open {
  SampleKey key;
  std::string reference, candidate;
};

// Returns the samples that have a verdict and a kept text, and no opinion of this reviewer yet.
std::vector<Open> open_samples(const EvalRun& run, const Opinions& known,
                               const std::string& reviewer) {
  std::vector<Open> out;
  for (const Json& line : run.lines) {
    const auto reference = kept_file(run, line, ".reference.py");
    const Json& samples = line.at("samples");
    for (size_t i = 0; i < samples.size() && reference; ++i) {
      if (!verdict_of(samples[i])) continue;  // there is nothing to compare an opinion with
      SampleKey key{line.at("model"), line.value("label", ""), static_cast<int>(i)};
      const auto found = known.find(key);
      const bool has_one = found != known.end() && found->second.fault.empty();
      if (has_one && found->second.reviewer == reviewer) continue;
      auto candidate = kept_file(run, line, "." + std::to_string(i) + ".fragment.py");
      if (candidate) out.push_back({std::move(key), *reference, std::move(*candidate)});
    }
  }
  return out;
}

// Removes an unfinished last line, which a run that was killed may have left.
void drop_cut_line(AppendedLines& file) {
  const LinesEnd end = read_whole_lines(file.file(), [](const std::string&, const LineReader&) {});
  if (!is_cut_line(end.rest, {R"({"candidate":)"})) {
    throw InputError(file.file().string() + ": does not end in an opinion; mend or remove it");
  }
  file.cut(end.bytes);
}

int run_review(ReviewFlags flags) {
  const EvalRun run = read_eval_run(flags.run);
  if (run.folder.empty()) {
    throw InputError(
        flags.run +
        " is a file of lines; give the folder that eval --out wrote, which has the samples");
  }
  refuse_search(run);
  if (const char* key = std::getenv(flags.key_env.c_str())) flags.chat.key = key;
  flags.chat.flags = "--review";
  Reviewer reviewer(flags.chat, make_socket_transport(), make_steady_clock());
  const fs::path path = run.folder / kOpinionsFile;
  AppendedLines file(path);
  Opinions opinions = read_opinions(run);
  const std::vector<Open> open = open_samples(run, opinions, flags.chat.model);
  drop_cut_line(file);
  std::mutex mutex;
  size_t done = 0;
  std::map<std::string, size_t> faults;
  const LastWords words([&] {
    std::fprintf(stderr, "\nreview: stopped: opinions so far are in %s; the same command goes on\n",
                 path.c_str());
  });
  std::optional<PacedLine> progress(std::in_place);
  on_threads(flags.chat.concurrency, open.size(), [&](size_t i) {
    Opinion opinion = reviewer.review(open[i].reference, open[i].candidate, reviewer.deadline());
    const std::lock_guard lock(mutex);
    file.append(opinion_line(open[i].key, opinion, open[i].candidate));
    if (!opinion.fault.empty()) ++faults[opinion.fault];
    const auto known = opinions.find(open[i].key);
    if (opinion.fault.empty() || known == opinions.end() || !known->second.fault.empty()) {
      opinions[open[i].key] = std::move(opinion);
    }
    if (!progress->is_due(++done == open.size())) return;
    progress->show("review: " + std::to_string(done) + " of " + std::to_string(open.size()) +
                   " samples");
  });
  progress.reset();  // ends its line
  Json out = {{"run", run.name}, {"costs", reviewer.costs()}, {"policies", Json::array()}};
  for (const std::string& label : run.labels) {
    const Agreement one = agreement_of(run, label, opinions);
    out["policies"].push_back({{"label", policy_name(run, label)}, {"agreement", to_json(one)}});
    if (!flags.json) std::cout << agreement_text(label, one);
  }
  if (flags.json) std::cout << out.dump();
  std::cout << std::endl;
  std::fprintf(stderr, "%s\n",
               costs_text("reviewer " + flags.chat.model, reviewer.costs()).c_str());
  std::fprintf(stderr, "%s\n", path.c_str());
  for (const auto& [fault, count] : faults) {
    std::fprintf(stderr, "review: no opinion on %zu of %zu samples: %s\n", count, open.size(),
                 fault.c_str());
  }
  const Json costs = reviewer.costs();
  if (costs["requests"] == 0 || costs["failures"] < costs["requests"]) return 0;
  throw EnvironmentError(flags.chat.url + ": no request was answered");
}

}  // namespace

Command add_review(CLI::App& app) {
  auto flags = std::make_shared<ReviewFlags>();
  ChatOptions& chat = flags->chat;
  chat.max_tokens = 8192;
  app.add_option("run", flags->run, "a folder that kernelwright eval --out left")->required();
  app.add_option("--review-url", chat.url, "address of the API, such as http://localhost:8000/v1")
      ->required();
  app.add_option("--review-model", chat.model, "the model's name there")->required();
  app.add_option("--review-key-env", flags->key_env, "environment variable that holds the API key")
      ->capture_default_str();
  app.add_option("--concurrency", chat.concurrency, "requests under way at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-tokens", chat.max_tokens, "of one answer; 0: the endpoint's limit")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--review-retries", chat.retries, "further tries of a request that failed")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_option("--review-timeout", chat.timeout_seconds,
                 "seconds for one opinion, retries and all")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--prompt-price", chat.prompt_price,
                 "price of a million tokens of questions, for the cost that is shown")
      ->check(real_number(0, 1e9));
  app.add_option("--completion-price", chat.completion_price, "and of answers")
      ->check(real_number(0, 1e9));
  app.add_flag("--json", flags->json, "print one object, in place of text");
  app.footer(
      "Opinions are kept in RUN/opinions.jsonl: the same command goes on, and asks again where\n"
      "there was no answer; kernelwright report has them in its page. An opinion changes no\n"
      "verdict (docs/review.md).\n\n"
      "  kernelwright eval models/ --policy local --samples 4 --out run\n"
      "  kernelwright review run --review-url http://localhost:8000/v1 --review-model NAME\n"
      "  kernelwright report run");
  return [flags] { return run_review(*flags); };
}

}  // namespace kw
