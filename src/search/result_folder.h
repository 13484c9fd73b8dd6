// The folder with the result of an optimisation: optimized.py, bundle/, verdict.json, report.html.
#pragma once

#include <filesystem>
#include <string>

#include "search/optimize.h"

namespace kw {

// Checks early, before the work, that a result can be written. Throws InputError if `folder` holds
// anything but an earlier result or if the model file is in it, EnvironmentError if it cannot be
// written.
void prepare_result_folder(const std::filesystem::path& folder, const std::filesystem::path& model);

// Writes the result and the report's text into `folder`, as formats/output.h does: whole or not at
// all, and over nothing but an earlier result. Throws EnvironmentError if the disk refuses.
void write_result(const OptimizeResult& result, const std::string& report_html,
                  const std::filesystem::path& folder);

}  // namespace kw
