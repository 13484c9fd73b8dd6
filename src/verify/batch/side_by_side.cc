#include "verify/batch/side_by_side.h"

namespace kw {

VerifyOptions screening(VerifyOptions options) {
  options.trials = 1;  // more for results of few elements: see ErrorPool
  options.variations = false;
  options.noop_checks = false;
  options.time = false;
  options.minimum_share = 0;
  return options;
}

TimeReport time_side_by_side(Executor& executor, const Reference& reference,
                             const std::vector<const Task*>& candidates,
                             const VerifyOptions& options) {
  TimeRequest request;
  request.tasks.push_back(reference.id);
  for (const Task* candidate : candidates) request.tasks.push_back(executor.load(*candidate));
  if (!options.compiled_package.empty()) request.packages = {{options.compiled_package}};
  request.rounds = 20;
  request.seed = options.seed;
  request.max_seconds = 5;
  TimeReport report = executor.time(request, options.trial_deadline);
  for (size_t i = 1; i < request.tasks.size(); ++i) executor.unload(request.tasks[i]);
  return report;
}

}  // namespace kw
