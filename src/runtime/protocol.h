// Requests an executor answers (frames of docs/formats/protocol.md). Torch-free: the supervisor
// and the executor both include it. The executor measures; it decides nothing.
//
//   {"kind": "hello"}                     -> {"device", "torch", "cuda", "backend", ...}
//   {"kind": "load", "id": n, task frame} -> {"status": "ok"}: builds a task for running
//   {"kind": "unload", "id": n}
//   {"kind": "release"}: memory that is kept for later goes back to the device
//   {"kind": "trial", ...TrialRequest}    -> TrialReport
//   {"kind": "time", ...TimeRequest}      -> TimeReport
//   {"kind": "examine", ...ExamineRequest}-> ExamineReport
//   {"kind": "bare", ...BareRequest}      -> {"status": "ok"}: for whoever watches the run
//
// Every reply has a "status": "ok", "failed", "not-judged" or "died" (ReplyStatus). All but "ok"
// have a "message". Numbers that JSON cannot hold are tagged as in task.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/json.h"

namespace kw {

enum class SourceChange;  // program/inputs/sources.h

// How the inputs of a trial are changed. Only floating tensors change, and masks where a line says
// so. Those of source_change() change whole numbers and flags alone, before other inputs are made
// of them (program/inputs/sources.h).
enum class Variation {
  kPlain,
  kScaleDown,
  kScaleUp,
  kNegative,
  kMixedSigns,
  kAffine,    // constant parameters become random, constant masks too
  kIntegers,  // parameters too become small integers
  kUneven,    // scales differ by position, and the first and last elements are large
  kZeros,     // some elements, rows and columns are zero, some rows constant; of random masks some
              // rows and columns hold nothing but zeros, or ones
  kBlank,     // nothing but zeros
  kParameters,  // as kAffine, and all other parameters change too, sign and all
  kUsed,        // buffers are what a few earlier calls of the reference left
  kNotFinite,   // some elements are NaN or infinite
  kFar,         // scaled up by 64, beyond where exponentials overflow
  kConstant,    // each row is one number
  kEnds,        // whole numbers are at the ends of their range
  kNamed,       // whole numbers are those that the reference names
  kShuffled,    // whole numbers are in another order, some twice
  kOther,       // equal whole numbers become smaller ones, equal flags others
  kTies,        // few different numbers, so that many are equal
  kCrossed,     // inputs or parameters are scaled so far that a threshold is crossed
  kOutliers     // as kFar, and some rows have their largest element at one end
};
// Returns how a variation changes whole numbers and flags; nullopt if it does not.
std::optional<SourceChange> source_change(Variation variation);
// Whether inputs are so large that exponentials overflow.
bool is_far(Variation variation);
std::string_view variation_name(Variation variation);
// Returns whether a variation is at the edge of a task's domain. There a candidate may be anything
// where the reference is not finite.
bool is_edge(Variation variation);

// How a draw is varied: TrialRequest.
struct Varied {
  Variation variation = Variation::kPlain;
  int only = -1;
  std::vector<int> fixed;
  bool neighbours = false;  // the reference runs on these too; the draw stays the same
  auto operator<=>(const Varied&) const = default;
};
// Task id, seed and variation. They decide what a reference gives in a trial, so that it is the
// same for each candidate.
using ReferenceKey = std::tuple<int, uint64_t, Varied>;

// What the memory holds that an operator of the empty family returns. A kernel may recognise one of
// them, so trials take turns.
enum class Unwritten {
  kPoison,   // NaN (executor/aten/guarded_memory.h)
  kNumbers,  // numbers of both signs up to 1, as in memory that was used before
  kZeros,    // as in new memory
  kLarge     // numbers of both signs up to 3e4
};

struct TrialRequest {
  int reference = 0;  // task ids
  int candidate = 0;
  uint64_t seed = 0;
  Variation variation = Variation::kPlain;
  // The one input that varies; -1: all. kCrossed: which of the thresholds that the draw does not
  // cross.
  int only = -1;
  std::vector<int> fixed;    // of the reference's state, the entries that stay as they are
  bool check_noop = false;   // run again with all launches skipped: TrialReport::no_launch_changes
  bool each_launch = false;  // run once without each forward launch: TrialReport::idle_launches
  Unwritten unwritten = Unwritten::kPoison;
  // Neighbours are inputs that are about a unit in the last place off. If true, the reference is
  // run on some of them too, and its error is at least its error there.
  bool neighbours = false;
  // False: accesses just outside of a buffer and broken promises to the compiler are ignored. For
  // selftest.
  bool guards = true;

  ReferenceKey reference_key() const {
    return {reference, seed, {variation, only, fixed, neighbours}};
  }
};

// Errors of one output against the fp64 run of the reference. `rms` is RMS(error) / RMS(oracle),
// `worst` is max |error| / RMS(oracle); both over finite elements.
struct OutputErrors {
  std::string dtype;
  bool same_meta = true;        // candidate's shape, dtype and strides class equal the reference's
  std::string meta_difference;  // for people
  bool exact_equal = false;     // bit-equal to the reference
  int64_t elements = 0;
  int64_t nonfinite_mismatch = 0;  // elements where candidate and reference differ in NaN / Inf
  int64_t int_mismatch = 0;        // integer and bool outputs: elements that differ, but for near
                                   // ties (executor/discrete/index_outputs.h)
  double reference_rms = 0, reference_worst = 0;
  double candidate_rms = 0, candidate_worst = 0;
  // What changes in the reference when near ties of rounding fall the other way.
  double near_rms = 0, near_worst = 0;
  double oracle_rms = 0, oracle_max = 0;  // absolute
  // The cross-section (all elements that share an index of one dimension) in which the candidate
  // errs most beyond what it may there: see executor/compare/cross_sections.h. At most 1 passes.
  // Without a dimension: the elements of the smaller of two scales (executor/compare/scales.h).
  double section_excess = 0, section_error = 0, section_allowed = 0;
  int64_t section_dim = -1, section_index = -1;
  // In a trial on integers: the number of elements whose exact answer the reference finds, and how
  // many of them the candidate misses (executor/discrete/integers.h). Zero if the reference misses
  // any.
  int64_t integers = 0, integers_wrong = 0;
  double allclose_worst = 0;  // max of |c - r| / (atol + rtol |r|) with 1e-2 each (KernelBench)
  bool reference_finite = true;
  // The number of elements that are finite in fp64, and how many of them are not finite in the
  // candidate. Zero if the reference is not finite in all of them.
  int64_t finite = 0, lost = 0;
};

// What became of a request.
enum class ReplyStatus {
  kOk,
  kFailed,     // the executor lives on
  kNotJudged,  // nothing can be said of what was asked for
  kDied        // the device is lost, and the executor has ended or is about to end
};
std::string_view status_name(ReplyStatus status);
// Why a reply is not judged, if the supervisor can do something about it.
enum class Cause { kNone, kOutOfMemory };
// Whose run a trial ended in.
enum class Side { kNone, kReference, kCandidate };
std::string_view side_name(Side side);  // empty for kNone

// What all replies have in common.
struct Reply {
  ReplyStatus status = ReplyStatus::kFailed;
  Cause cause = Cause::kNone;  // of kNotJudged
  std::string message;         // of all but kOk; one line for people
  bool ok() const { return status == ReplyStatus::kOk; }
};

// A launch that only copies a value that PyTorch computed, or that such a launch wrote: in any
// order, times a factor, plus an addend.
struct LaunchCopy {
  int step = 0;    // of the candidate's forward
  int source = 0;  // value number
  double factor = 1, addend = 0;
  bool operator==(const LaunchCopy&) const = default;
};
// What a run showed of the launches that read what PyTorch computed: the steps of those that do
// more than copy, and what the others copy. Of a launch that wrote nothing but zeros, for example,
// it shows nothing.
struct LaunchCopies {
  std::vector<int> others;
  std::vector<LaunchCopy> copies;
  bool operator==(const LaunchCopies&) const = default;
};

struct TrialReport : Reply {
  Side fault = Side::kNone;  // of kFailed and kNotJudged
  std::string difference;    // for people: the first thing that made a bool below false
  std::vector<OutputErrors> outputs;
  bool inputs_unchanged = true;   // candidate left its inputs as they were
  bool guards_intact = true;      // bytes around every buffer
  bool buffers_equal = true;      // buffers the reference updates agree after the call
  bool passes_zeros = false;      // an all-zero answer would be within tolerance: degenerate
  bool passes_stale = false;      // the answer to other inputs would pass
  bool no_launch_changes = true;  // with all launches no-ops, some output changes
  // Forward step indices whose omission changes no output. Of more than 16 launches, only 16 that
  // are spread over the program are tried, and more only if none of these matters.
  std::vector<int> idle_launches;
  LaunchCopies copies;
  double seconds = 0;
  // What the seconds were spent on: "draw" (inputs and parameters), "candidate", "noop" (calls
  // without launches), "reference: ..." (each of its runs, and its errors), "compare", "keep".
  std::map<std::string, double> phases;
  int64_t peak_bytes = 0;
};

// By how much medians of ratios differ from one process to the next, for any number of rounds.
// Memory is placed elsewhere, and other values are multiplied. In whole measurements of ten tasks
// on an H200, none differed by more where a run takes a millisecond (bench/intervals.py,
// bench/h200/intervals_without_allowance.json).
constexpr double kBetweenRuns = 0.005;

// Below six values no order statistics enclose a median in 95 % of cases (2 * 0.5^5 > 0.05). The
// interval of four or five values is their range and a share of it to either side. It is 1.6 ranges
// wide for four and 1.2 for five. Student's interval for normal values is 1.42 and 1.07 expected
// ranges wide.
constexpr size_t kFewRounds = 6;
constexpr double few_stretch(size_t rounds) { return rounds < 5 ? 0.3 : 0.1; }

// Task 0 as AOTInductor compiled it.
struct PackageRequest {
  std::string path;
  bool graph = false;  // captured in a CUDA graph, as torch.compile's reduce-overhead does
  bool operator==(const PackageRequest&) const = default;
};

struct TimeRequest {
  std::vector<int> tasks;                // each round runs every one, in random order
  std::vector<PackageRequest> packages;  // timed together with the tasks
  int rounds = 50;
  int input_sets = 2;
  bool own_inputs = false;  // each task is fed with its own inputs, not with task 0's
  uint64_t seed = 0;
  double max_seconds = 20;
  // If not 0, timing may end before `rounds`, after four rounds at the earliest. It ends when the
  // 95 % interval of the time of task 0 over each other's is at most this wide, relative to itself.
  // The processors' clock, and wall time of runs under a millisecond, are then taken in every
  // sixteenth round.
  double width = 0;
};

struct TimeReport : Reply {
  std::vector<std::vector<double>> device_ms;  // [task or package][round]
  std::vector<std::vector<double>> wall_ms;    // host time from call to completion
  std::vector<bool> outputs_checked;           // timed outputs equal an untimed run's
  std::vector<double> processor_mhz;           // as read after rounds; none when there is no clock
  int throttled_rounds = 0;  // slower than 95 % of the median clock, and left out above
  // What the seconds were spent on: "timing: inputs" (with runs to warm up), "timing: runs",
  // "timing: checks".
  std::map<std::string, double> phases;
};

// Examines one task alone, on inputs as it draws them.
struct ExamineRequest {
  int task = 0;
  uint64_t seed = 0;
};

// One result. Relative numbers are relative to its RMS in fp64. For integers and booleans they are
// the share of elements that differ.
struct ExaminedOutput {
  std::string dtype;
  int64_t elements = 0;
  int64_t nonfinite = 0;        // in the task's own precision or in fp64
  double rms = 0, largest = 0;  // in fp64, absolute
  double redrawn_change = 0;    // when everything it reads is drawn again
  double error = 0;             // own precision against fp64, relative RMS
  double neighbour = 0;  // the change when all that it reads is about a unit in the last place off
};

struct ExamineReport : Reply {
  std::vector<ExaminedOutput> outputs;
  // [entry of the state, then input][output]: the change when this tensor alone is replaced.
  std::vector<std::vector<double>> changes;
  double seconds = 0;
  int64_t peak_bytes = 0;
};

// Runs a candidate once, on inputs and state as the reference draws them, and compares nothing. Its
// memory is as the device gives it: with no guards around buffers, and nothing in new ones.
struct BareRequest {
  int reference = 0, candidate = 0;  // task ids
  uint64_t seed = 0;
};

// "status" and "message". The cause is not written: a message that ends with "out of memory" says
// it.
Json to_json(const Reply& reply);
Reply reply_from_json(const JsonReader& in);
Json to_json(const TrialRequest& request);
TrialRequest trial_request_from_json(const JsonReader& in);
Json to_json(const TrialReport& report);
TrialReport trial_report_from_json(const JsonReader& in);
Json to_json(const TimeRequest& request);
TimeRequest time_request_from_json(const JsonReader& in);
Json to_json(const TimeReport& report);
TimeReport time_report_from_json(const JsonReader& in);
Json to_json(const ExamineRequest& request);
ExamineRequest examine_request_from_json(const JsonReader& in);
Json to_json(const BareRequest& request);
BareRequest bare_request_from_json(const JsonReader& in);
Json to_json(const ExamineReport& report);
ExamineReport examine_report_from_json(const JsonReader& in);

}  // namespace kw
