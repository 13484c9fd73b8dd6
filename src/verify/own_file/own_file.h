// What the file of an accepted candidate does in plain Python, compared with the Program that was
// judged. It decides no verdict. A file is run by a job that has no other use, and a second job
// runs the export of the Program on the same data. A third one, which ran neither, compares.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "verify/verdict/verdict.h"
#include "worker/jobs.h"

namespace kw {

// Pairs names of the candidate's weights with those of the reference's that they were adopted as
// (program/rewrite/adopt.h).
std::vector<std::pair<std::string, std::string>> weight_names(const Task& reference,
                                                              const Task& candidate);

struct FileReport {
  FileDoes does = FileDoes::kNotTried;
  std::string reason;  // one line; empty if it does the same
};

// Runs a candidate's file. `request` is the one that it was recorded with, `weights` are its
// weight_names(), and `program` is what was adopted. Each job has the deadline. A file that cannot
// be run to the end of its first call is not tried, and neither is one that takes too long or dies.
FileReport try_file(Workers& workers, const RecordRequest& request,
                    const std::vector<std::pair<std::string, std::string>>& weights,
                    const Task& program, std::chrono::milliseconds deadline);

}  // namespace kw
