// Files of JSON lines as models: rows of kernelwright synth, of KernelBench's dataset, and of
// KernelBook's. Which of them a file has, its first row says.
#pragma once

#include <vector>

#include "eval/suite/suite_models.h"

namespace kw {

// InputError with the line where a row is none, or has no twin where twins are asked for.
std::vector<SuiteModel> models_of_rows(const SuiteFile& file, const SuiteFormat& format,
                                       const DeviceProfile& profile);

}  // namespace kw
