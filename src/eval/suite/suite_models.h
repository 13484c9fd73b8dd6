// The models of a suite, in the forms that suites have:
// - model files, and folders of them with levels as subfolders, like KernelBench's tasks
// - files of JSON lines: rows of kernelwright synth, of KernelBench's dataset (`code`, `level`,
//   `name`, `problem_id`) or of KernelBook's (`python_code`, `entry_point`, `uuid`)
// - files with an operator and a test of it, like TritonBench-T's; a worker makes a model of them
//   (worker/operator_test.py)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/chat/prompt.h"
#include "worker/model_file.h"

namespace kw {

struct SuiteModel {
  RecordRequest request;  // its `file` is the name that is shown, and unique in the suite
  std::string original;   // the text as it was read
  // The name of files that are written for it, relative and without "..". For a file it is the path
  // in the suite's folder without ending, for a row its id, or level and name
  // ("level1/23_softmax").
  std::string name;
  std::string level;  // the subfolder, or the row's level as "level1"; "" if there is none
  std::optional<FunctionForm> function;  // for an operator with tests: the form of answers
  std::optional<JobFault> fault;         // why its test could not be made a model
};

struct SuiteFormat {
  std::string cls = "Model";
  bool twins = false;  // rows give their models in small sizes
  // The time limit of a test whose calls become a model.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

// Returns the files of the named suites in order; for a folder, all *.py files below it. Throws
// InputError if a folder has none.
struct SuiteFile {
  std::string path, name, level;
};
std::vector<SuiteFile> suite_files(const std::vector<std::string>& suites);

// Reads the models. `settings` (NAME=INTEGER) replace constants of model files. `pool` runs the
// tests of operators, so it may have no other job. Throws InputError if a file cannot be read, a
// row is malformed, or two models have one name.
std::vector<SuiteModel> read_suite(const std::vector<SuiteFile>& files, const SuiteFormat& format,
                                   const std::vector<std::string>& settings,
                                   const DeviceProfile& profile, WorkerPool& pool);

}  // namespace kw
