// What each layer of judging makes of a run's samples, one after another and by itself: the rule by
// text, a model's opinion, the compiler, what is left to PyTorch, KernelBench's allclose, and the
// verdict, by which the others are measured. Reads what the run kept. Any thread.
#pragma once

#include <string>
#include <vector>

#include "eval/run/eval_run.h"
#include "eval/run/opinions.h"

namespace kw {

struct Layer {
  std::string name;
  size_t known = 0;    // samples that it says something of
  size_t removed = 0;  // of these and of what the layers before it left
  size_t left = 0;     // behind it; what it says nothing of is among them
  // By itself, of all that it says something of:
  size_t rejected = 0;           // all that it would remove
  size_t rejected_accepted = 0;  // of these, accepted by the verdict
  size_t passed_rejected = 0;    // that it lets through, and the verdict rejects
};

// Of one policy's samples that were judged. The rule stands there where sources were kept, opinions
// where there are any; the last one is the verdict.
std::vector<Layer> layers_of(const EvalRun& run, const std::string& label,
                             const Opinions& opinions);
Json to_json(const std::vector<Layer>& layers);

}  // namespace kw
