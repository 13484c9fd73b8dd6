#include "verify/verdict/checks.h"

#include <algorithm>

namespace kw {

const std::vector<Check>& checks() {
  static const std::vector<Check> kAll = {
      {"host-read", Stage::kRecord, true, "values are not read on the host"},
      {"address", Stage::kRecord, true, "addresses are no numbers"},
      {"option", Stage::kRecord, true, "launch options do not replace code"},
      {"hidden-launch", Stage::kRecord, true, "nothing hides what it launches"},
      {"compile-api", Stage::kRecord, true, "no other compiler's code"},
      {"survives", Stage::kRecord, true, "a call leaves nothing for the next"},
      {"varies", Stage::kRecord, true, "each call does the same"},
      {"lazy", Stage::kRecord, true, "results are plain, and done when forward returns"},
      {"adopt", Stage::kRecord, false, "weights are the reference's"},
      {"export", Stage::kRecord, false, "what is accepted can be written as a file"},
      {"unsupported", Stage::kRecord, false, "what nobody can write down"},
      {"raised", Stage::kRecord, false, "the program ends in an exception"},
      {"failed", Stage::kRecord, false, "a worker that fails on this program alone"},
      {"slice", Stage::kCompile, false, "kernels are text that runs nothing when compiled"},
      {"compile", Stage::kCompile, false, "kernels are what Triton compiles"},
      {"share", Stage::kCoverage, true, "launches that contribute do a share of the work"},
      {"opaque", Stage::kCoverage, true, "operators outside the table are the reference's"},
      {"noop", Stage::kCorrect, true, "without its launches the result is another"},
      {"work", Stage::kCorrect, false, "no more work than many times the reference's"},
      {"interface", Stage::kCorrect, true, "structure, shapes, dtypes, aliasing"},
      {"outputs", Stage::kCorrect, true, "results on fresh inputs"},
      {"variations", Stage::kCorrect, true, "results on other scales, signs, parameters"},
      {"integers", Stage::kCorrect, true, "integers from integers"},
      {"guards", Stage::kCorrect, true, "nothing is touched outside of buffers, and promises hold"},
      {"inputs", Stage::kCorrect, true, "inputs are left as the reference leaves them"},
      {"buffers", Stage::kCorrect, true, "state is left as the reference leaves it"},
      {"sanitizer", Stage::kCorrect, true,
       "compute-sanitizer finds nothing (when it is asked for)"},
      {"floor", Stage::kTime, true, "no time under the physical floor"},
      {"timed outputs", Stage::kTime, true, "timed runs give what was judged"},
  };
  return kAll;
}

const Check* find_check(std::string_view name) {
  const auto found = std::find_if(checks().begin(), checks().end(),
                                  [&](const Check& check) { return check.name == name; });
  return found == checks().end() ? nullptr : &*found;
}

}  // namespace kw
