// Keeps torch.compile's package of a reference in the store: building it takes longer than the rest
// of a second run.
#pragma once

#include <filesystem>
#include <string>

#include "store/store.h"
#include "verify/baselines.h"

namespace kw {

// Returns the path in `folder` of the package of `reference`, which `model` was recorded as; empty
// if there is none. `machine` is what a package depends on besides the program: device, torch,
// triton. Packages of up to 64 MiB are kept in the store.
std::string stored_package(Store& store, Baselines& baselines, const RecordRequest& model,
                           const Task& reference, const Json& machine,
                           const std::filesystem::path& folder);

}  // namespace kw
