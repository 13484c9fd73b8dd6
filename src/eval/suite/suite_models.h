// The models of a suite, as users have suites: model files, folders of them with levels as
// subfolders (as KernelBench has its tasks), files of JSON lines (rows of kernelwright synth, of
// KernelBench's dataset: `code`, `level`, `name`, `problem_id`, or of KernelBook's: `python_code`,
// `entry_point`, `uuid`), and files with an operator and a test of it (as TritonBench-T has them),
// of which a worker makes a model (worker/operator_test.py).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/chat/prompt.h"
#include "worker/model_file.h"

namespace kw {

struct SuiteModel {
  RecordRequest request;  // `file`: as it is shown, unlike that of any other model
  std::string original;   // the text as it was read
  // By which what is written for it is called: of a file in a folder its place there without ending
  // ("level1/23_softmax"), of a row its id, or "level1/23_softmax". Relative, and not above.
  std::string name;
  std::string level;  // the subfolder, or the row's level as "level1"; "" where there is none
  std::optional<FunctionForm> function;  // of an operator with tests: what answers may be
  std::optional<JobFault> fault;  // nothing can be recorded: its test could not be made a model
};

struct SuiteFormat {
  std::string cls = "Model";
  bool twins = false;  // of rows, the models in small sizes
  // A test that makes a model of its calls ends within this.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

// Files of the suites named, of folders all *.py below them, in order. InputError where a folder
// has none.
struct SuiteFile {
  std::string path, name, level;
};
std::vector<SuiteFile> suite_files(const std::vector<std::string>& suites);

// Reads them, with `settings` (NAME=INTEGER) in place of constants of model files. InputError when
// a file cannot be read, a row is none, or two models have one name. `pool` runs the tests of
// operators, so it may have no other job.
std::vector<SuiteModel> read_suite(const std::vector<SuiteFile>& files, const SuiteFormat& format,
                                   const std::vector<std::string>& settings,
                                   const DeviceProfile& profile, WorkerPool& pool);

}  // namespace kw
