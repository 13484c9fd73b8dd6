// kernelwright synth --stats TASKS.jsonl [--out PAGE.html]
#pragma once

#include <string>

namespace kw {

// Prints what the tasks of a file cover, and writes a page on it unless `page` is empty; the exit
// code. InputError where a line is no task, and where `page` is a file of another kind already.
int synth_stats(const std::string& tasks, const std::string& page);

}  // namespace kw
