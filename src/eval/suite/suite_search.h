// A suite with a search: each model is optimised (optimize.h), several side by side, which share
// the executor, the policy and what they know of fragments. What is timed has the device alone.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "eval/suite/suite.h"
#include "search/optimize.h"

namespace kw {

// Calls `done` for each model, as soon as its search ends, from one thread at a time: what was
// found is its only sample, or, where nothing was, a rejected one that says why. `store` is the
// file of what is kept between runs.
void search_suite(const std::vector<RecordRequest>& models, JudgingCrew& crew,
                  ExecutorClient& executor, Policy& policy, const DeviceProfile& profile,
                  const OptimizeOptions& options, const std::filesystem::path& store,
                  const std::function<void(const SuiteResult&)>& done);

}  // namespace kw
