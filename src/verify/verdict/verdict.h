// The verdict on a candidate: stages in order, each a value with evidence. The first stage that
// fails names the rejection. A rejection is a result, not an error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/json.h"
#include "verify/verdict/call_times.h"

namespace kw {

enum class Stage { kLoad, kRecord, kCompile, kCoverage, kCorrect, kTime };
std::string_view stage_name(Stage stage);
Stage stage_from_json(const JsonReader& in);  // its name; InputError

struct StageResult {
  Stage stage = Stage::kLoad;
  bool passed = false;
  std::string reason;  // one line when it failed
  Json evidence = Json::object();
  double seconds = 0;  // wall time spent on it
};

struct Interval {
  double estimate = 0, lower = 0, upper = 0;
};

// One configuration of an autotuned kernel, timed with the others in the first one that runs.
struct ConfigurationResult {
  std::string kernel, configuration;
  std::string reason;    // why it could not be timed
  double device_ms = 0;  // 0: not timed
  bool chosen = false;   // in the Program that was judged
};

// A verdict is about a Program, not about the Python that described it: the candidate's file may do
// something else when it is run. Whether the file does what the Program does.
enum class FileDoes { kNotTried, kSame, kOther };
std::string_view file_does_name(FileDoes file);
FileDoes file_does_from_json(const JsonReader& in);  // its name; InputError

struct Verdict {
  enum class Outcome { kAccepted, kRejected, kNotJudged };
  Outcome outcome = Outcome::kNotJudged;
  std::optional<Stage> rejected_at;
  std::string reason;
  std::vector<StageResult> stages;
  std::vector<ConfigurationResult> configurations;  // none when nothing is autotuned
  double share = 0;                                 // Triton share of the reference's cost
  std::optional<Interval> speedup_eager;            // eager time / candidate time
  std::optional<Interval> speedup_compile;
  std::optional<CallTimes> calls;  // of optimized.py, where it was timed so
  bool degenerate = false;         // zeros, or the answer to other inputs, would pass
  std::string program;             // canonical hash of what was judged; empty: nothing was
  FileDoes file = FileDoes::kNotTried;
  std::string file_reason;            // why it is other, or not tried; empty: nobody asked
  std::string key;                    // content address
  Json environment = Json::object();  // backend, device, versions, sandbox layers
};

// Returns the result of a stage that the verdict came to, else null.
const StageResult* find_stage(const Verdict& verdict, Stage stage);
// Returns what compute-sanitizer said (docs/formats/verdict.md); null if the candidate did not run
// under it.
const Json* sanitizer_evidence(const Verdict& verdict);
std::string_view outcome_name(Verdict::Outcome outcome);
Verdict::Outcome outcome_from_json(const JsonReader& in);  // its name; InputError

// The executor's seconds by phase of trials and timing, as the evidence has them, summed.
std::map<std::string, double> phase_seconds(const Verdict& verdict);

Json interval_to_json(const std::optional<Interval>& interval);  // null when there is none
std::optional<Interval> interval_from_json(const JsonReader& in);
Json to_json(const Verdict& verdict);
Verdict verdict_from_json(const JsonReader& in);

}  // namespace kw
