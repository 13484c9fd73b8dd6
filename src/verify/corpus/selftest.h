// The verifier against candidates whose label is known (corpus.h): false accepts, false rejects,
// and whether each wrong program is caught by the checks that are there for it.
#pragma once

#include <optional>
#include <string>

#include "verify/corpus/corpus.h"
#include "verify/verifier.h"

namespace kw {

struct SelfTestResult {
  const CorpusCase* test = nullptr;
  std::string fault;  // the case's own: its reference cannot be judged with
  Verdict candidate;
  // A wrong program alone has these. The last one is the verdict without the checks that caught
  // it, if they can be left out.
  Verdict twin, unchecked;
  bool judged = false;  // false: only the other backend can judge it
  double seconds = 0;

  // Empty when everything is as the label says, else the first thing that is not, in one line.
  std::string surprise() const;
};

class SelfTest {
 public:
  SelfTest(Workers& workers, Executor& executor, const DeviceProfile& profile)
      : executor_(executor), profile_(profile), verifier_(workers, executor, profile) {}

  // Judges one case. EnvironmentError when the machine is at fault.
  SelfTestResult run(const CorpusCase& test, VerifyOptions options);

 private:
  Executor& executor_;
  const DeviceProfile& profile_;
  Verifier verifier_;
};

Json to_json(const SelfTestResult& result);

}  // namespace kw
