// Opinions on the samples of a run of eval (policy/chat/reviewer.h): their file in the run's
// folder, and their agreement with verdicts. Pure, except for reading files. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/run/eval_run.h"
#include "policy/chat/reviewer.h"

namespace kw {

// The file in the run's folder, with a line for each opinion. A later line of a sample replaces an
// earlier one, but a line without an opinion never replaces an opinion (docs/review.md).
inline constexpr const char* kOpinionsFile = "opinions.jsonl";

struct SampleKey {
  std::string model, label;
  int sample = 0;
  auto operator<=>(const SampleKey&) const = default;
};
using Opinions = std::map<SampleKey, Opinion>;

// Returns the line of an opinion, without a newline. `candidate` is the text that the opinion is
// on.
std::string opinion_line(const SampleKey& key, const Opinion& opinion, std::string_view candidate);
// Reads the opinions of a run's folder; there are none without a file. An opinion on another text
// than the sample has now is ignored, and so is an unfinished last line. Throws InputError for any
// other malformed line.
Opinions read_opinions(const EvalRun& run);

// The counts of one policy's samples by verdict and opinion. Samples without a verdict
// (verdict_of()) or without an opinion are in none of the four.
struct Agreement {
  size_t accepted_functional = 0, accepted_not = 0;
  size_t rejected_functional = 0, rejected_not = 0;
  size_t no_opinion = 0, no_verdict = 0;
  // Rejected samples by the stage that rejected them: those called functional, and those not.
  std::map<std::string, std::pair<size_t, size_t>> by_stage;
  size_t delegates = 0, omits = 0, hard_codes = 0;  // over all opinions

  size_t both() const {
    return accepted_functional + accepted_not + rejected_functional + rejected_not;
  }
  // Returns the share of samples on which both agree. Requires both() > 0.
  double share() const;
  // Returns Cohen's kappa (Educ. Psychol. Meas. 20, 1960): (share - chance) / (1 - chance). Returns
  // nothing if chance alone agrees on all, as both give all samples one and the same answer.
  // Requires both() > 0.
  std::optional<double> kappa() const;
};
// Counts one policy's samples.
Agreement agreement_of(const EvalRun& run, const std::string& label, const Opinions& opinions);

// Returns the policy's table for people.
std::string agreement_text(const std::string& label, const Agreement& agreement);
Json to_json(const Agreement& agreement);

}  // namespace kw
