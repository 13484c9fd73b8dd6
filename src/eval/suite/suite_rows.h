// Models from files of JSON lines: rows of kernelwright synth, of KernelBench's dataset or of
// KernelBook's. A file's first row decides which of these it has.
#pragma once

#include <vector>

#include "eval/suite/suite_models.h"

namespace kw {

// Reads the models of a file. Throws InputError with the line if a row is malformed, or lacks a
// twin that is asked for.
std::vector<SuiteModel> models_of_rows(const SuiteFile& file, const SuiteFormat& format,
                                       const DeviceProfile& profile);

}  // namespace kw
