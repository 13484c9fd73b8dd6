// A task as a line of JSON (docs/synthesis.md, "Rows").
#pragma once

#include <string>
#include <vector>

#include "formats/json.h"
#include "synth/draw/drawn_program.h"
#include "synth/task_source.h"

namespace kw {

// Returns "level5-seed1-000042" or "level2-test-cover-seed1-000042".
std::string synth_id(const SynthOptions& options, uint64_t index);

// Returns the row of a task. The row of a program that was not examined, of which only `index` and
// `program` are set, lacks "program", "twin" and "hygiene".
Json synth_row(const SynthTask& task, const SynthOptions& options);

// The parts of a row that other code needs.
struct StoredTask {
  std::string id, model;
  std::string twin;  // the twin's model file; empty if there is none
  int level = 0;     // 0: the row does not say
};
// Returns the tasks of a file's text; `name` is for messages. Throws InputError with the line if a
// line is no row.
std::vector<StoredTask> read_tasks(const std::string& text, const std::string& name);

}  // namespace kw
