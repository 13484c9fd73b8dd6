// The folder with a Program that was accepted: optimized.py, bundle/, verdict.json, and of a search
// report.html.
#pragma once

#include <filesystem>
#include <string>

#include "search/optimize.h"

namespace kw {

// Checks early, before the work, that a result can be written. Throws InputError if `folder` holds
// anything but an earlier result or if the model file is in it, EnvironmentError if it cannot be
// written.
void prepare_result_folder(const std::filesystem::path& folder, const std::filesystem::path& model);

// What is handed out: a Program as a file, as a bundle, and the verdict on it.
struct AcceptedProgram {
  const std::string& python;
  const Task& task;
  const Verdict& verdict;
};
// Writes the files into `folder` as formats/output.h does: whole or not at all, and over nothing
// but an earlier result. Throws EnvironmentError if the disk refuses.
void write_program(const AcceptedProgram& program, const std::string& report_html,
                   const std::filesystem::path& folder);

// Writes the result and the report's text in the same way. If nothing was gained, the original is
// the answer, by the same name.
void write_result(const OptimizeResult& result, const std::string& report_html,
                  const std::filesystem::path& folder);

}  // namespace kw
