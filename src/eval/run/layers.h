// The effect of each layer of judging on a run's samples, both in sequence and alone. The layers
// are the rule by text, a reviewer's opinion, the compiler, the share left to PyTorch,
// KernelBench's allclose, and the verdict, which the others are compared with. Reads the run's
// files. Any thread.
#pragma once

#include <string>
#include <vector>

#include "eval/run/eval_run.h"
#include "eval/run/opinions.h"

namespace kw {

struct Layer {
  std::string name;
  size_t known = 0;    // samples that it has a result for
  size_t removed = 0;  // those of them that earlier layers left and this one removes
  size_t left = 0;     // samples left after it, with those that it has no result for
  // The layer alone, over all samples that it has a result for:
  size_t rejected = 0;           // samples that it would remove
  size_t rejected_accepted = 0;  // those of them that the verdict accepts
  size_t passed_rejected = 0;    // samples that it passes and the verdict rejects
};

// Returns the layers for one policy's judged samples. The rule by text needs kept sources, and the
// reviewer's layer needs opinions. The last layer is the verdict.
std::vector<Layer> layers_of(const EvalRun& run, const std::string& label,
                             const Opinions& opinions);
Json to_json(const std::vector<Layer>& layers);

}  // namespace kw
