// A suite with a search: each model is optimised (optimize.h). Several searches run side by side
// and share the executor, the policy and the results on fragments. Timing has the device alone.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "eval/suite/suite.h"
#include "search/optimize.h"

namespace kw {

// Calls `done` for each model as soon as its search ends, from one thread at a time. The result's
// only sample is what was found, or a rejected one that says why nothing was. `store` is the file
// of results that are kept between runs.
void search_suite(const std::vector<RecordRequest>& models, JudgingCrew& crew, Executor& executor,
                  Policy& policy, const DeviceProfile& profile, const OptimizeOptions& options,
                  const std::filesystem::path& store,
                  const std::function<void(const SuiteResult&)>& done);

}  // namespace kw
