#include "verify/checks.h"

#include <algorithm>

namespace kw {

const std::vector<Check>& checks() {
  static const std::vector<Check> kAll = {
      {"host-read", Stage::kRecord, false, "values are not read on the host"},
      {"address", Stage::kRecord, false, "addresses are no numbers"},
      {"option", Stage::kRecord, false, "launch options do not replace code"},
      {"hidden-launch", Stage::kRecord, false, "nothing hides what it launches"},
      {"compile-api", Stage::kRecord, false, "no other compiler's code"},
      {"survives", Stage::kRecord, false, "a call leaves nothing for the next"},
      {"varies", Stage::kRecord, false, "each call does the same"},
      {"lazy", Stage::kRecord, false, "results are plain, and done when forward returns"},
      {"share", Stage::kCoverage, false, "launches that contribute do a share of the work"},
      {"noop", Stage::kCorrect, false, "without its launches the result is another"},
      {"interface", Stage::kCorrect, false, "structure, shapes, dtypes, aliasing"},
      {"outputs", Stage::kCorrect, false, "results on fresh inputs"},
      {"second-call", Stage::kCorrect, false, "results of a call after another one"},
      {"variations", Stage::kCorrect, false, "results on other scales, signs, parameters"},
      {"guards", Stage::kCorrect, false, "nothing is written outside of buffers"},
      {"inputs", Stage::kCorrect, false, "inputs are left as the reference leaves them"},
      {"buffers", Stage::kCorrect, false, "state is left as the reference leaves it"},
      {"configurations", Stage::kCorrect, false, "all that autotuning may choose"},
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
