// Verified answers from runs of eval, as rows to learn from (docs/formats/conversations.md): which
// answers there are, which are kept, and why others are not. Pure, except that it reads runs'
// files.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eval/collect/similarity.h"
#include "eval/run/eval_run.h"
#include "policy/chat/prompt.h"
#include "verify/verdict/verdict.h"

namespace kw {

// An answer that was accepted in full.
struct FoundAnswer {
  std::string route;  // the policy that wrote it
  std::string run, model;
  int sample = 0;
  std::string family, plan, code;
  std::optional<double> speedup;        // over eager, the estimate
  std::string program;                  // hash of the program that was judged; empty: not known
  FileDoes file = FileDoes::kNotTried;  // whether the answer's text does what that does
};

// A model that runs judged, identified by its text.
struct FoundTask {
  std::string name, level, text, cls;  // cls: the model's class in its text
  int judged = 0, right = 0;           // answers, of all routes
  std::vector<FoundAnswer> answers;
};

// The counts of a route's answers: each is kept, or counted by the reason why it is not.
struct RouteYield {
  int64_t models = 0, answers = 0, kept = 0;
  std::map<std::string, int64_t> dropped;
};
using Yields = std::map<std::string, RouteYield>;  // by route

// Returns all tasks of the runs in the order of their names. `hybrids` adds answers that leave a
// part of the work to PyTorch, which the question forbids. Throws InputError if a run is lines
// without a folder.
std::vector<FoundTask> find_answers(const std::vector<EvalRun>& runs, Yields& yields,
                                    bool hybrids = false);

struct KeepOptions {
  int answers = 4;          // of a task, the fastest first
  int variants = 5;         // tasks of one structure, whatever their sizes
  double alike = 0.9;       // similarity, by runs of five tokens, at which only one of two answers
                            // of a task is kept
  bool same_file = false;   // only answers whose text does the same in plain Python
  double known_text = 0.5;  // share of telling runs of thirteen tokens that a held-out model has
};

// Chooses among answers as tasks come.
class Keeper {
 public:
  Keeper(KeepOptions options, Yields& yields) : options_(options), yields_(yields) {}
  // Adds a model that rows must not hold, by its structure and text.
  void hold_out(const std::string& structure, const std::string& text);
  // Returns the answers of a task of this structure that are kept, the fastest first.
  std::vector<FoundAnswer> keep(FoundTask task, const std::string& structure);
  // Drops all answers of a task that cannot be used.
  void drop(const FoundTask& task, const std::string& reason);

 private:
  const KeepOptions options_;
  Yields& yields_;
  std::set<std::string> held_out_;
  KnownTexts texts_;
  std::map<std::string, int> tasks_of_;  // tasks with rows, by structure
};

// Returns the number of the first step's result in the question's text, as the answer's plan shows
// it. Models that are trained here are asked with kAskedName, others with 0.
int asked_name(const std::string& plan);

// Returns "easy" if two thirds of a task's answers are right, "medium" if a third is, else "hard".
std::string difficulty(const FoundTask& task);

Json yields_json(const Yields& yields);

}  // namespace kw
