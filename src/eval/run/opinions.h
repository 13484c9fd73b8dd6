// Opinions on the samples of a run of eval (policy/chat/reviewer.h): how they lie beside it, and
// how they agree with verdicts. Pure but for reading. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/run/eval_run.h"
#include "policy/chat/reviewer.h"

namespace kw {

// In the run's folder: a line each, later ones of one sample stand for earlier ones, but one that
// is no opinion for none that is (docs/review.md).
inline constexpr const char* kOpinionsFile = "opinions.jsonl";

struct SampleKey {
  std::string model, label;
  int sample = 0;
  auto operator<=>(const SampleKey&) const = default;
};
using Opinions = std::map<SampleKey, Opinion>;

// `candidate`: the text that the opinion is on.
std::string opinion_line(const SampleKey& key, const Opinion& opinion, std::string_view candidate);
// Those of a run's folder on the samples that are there now: one on another text counts for
// nothing. None where there is no file. A last line that was cut off is passed over. InputError
// where another is none.
Opinions read_opinions(const EvalRun& run);

// Samples by what both say, of one policy. Samples without a verdict (verdict_of()), or without an
// opinion, are in none of the four.
struct Agreement {
  size_t accepted_functional = 0, accepted_not = 0;
  size_t rejected_functional = 0, rejected_not = 0;
  size_t no_opinion = 0, no_verdict = 0;
  // Of the rejected: by the stage that did, those that are called functional and those that are
  // not.
  std::map<std::string, std::pair<size_t, size_t>> by_stage;
  size_t delegates = 0, omits = 0, hard_codes = 0;  // of all opinions

  size_t both() const {
    return accepted_functional + accepted_not + rejected_functional + rejected_not;
  }
  // The share of samples that both say the same of. both() > 0.
  double share() const;
  // Cohen's kappa (Educ. Psychol. Meas. 20, 1960): (share - chance) / (1 - chance). Nothing where
  // chance alone would agree on all: both say one thing of all samples, and the same. both() > 0.
  std::optional<double> kappa() const;
};
// Of one policy's samples.
Agreement agreement_of(const EvalRun& run, const std::string& label, const Opinions& opinions);

// The policy's table, for people.
std::string agreement_text(const std::string& label, const Agreement& agreement);
Json to_json(const Agreement& agreement);

}  // namespace kw
