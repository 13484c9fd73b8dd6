// A task as a line of JSON (docs/synthesis.md, "Rows").
#pragma once

#include <string>
#include <vector>

#include "formats/json.h"
#include "synth/draw/drawn_program.h"
#include "synth/task_source.h"

namespace kw {

// "level5-seed1-000042", "level2-test-cover-seed1-000042"
std::string synth_id(const SynthOptions& options, uint64_t index);

// Of a program that was not examined (only `index` and `program` are there), without "program",
// "twin" and "hygiene".
Json synth_row(const SynthTask& task, const SynthOptions& options);

// What others need of a row.
struct StoredTask {
  std::string id, model;
  std::string twin;  // the twin's model file; empty where there is none
  int level = 0;     // 0: the row does not say
};
// A file's text; `name` is for messages. InputError with the line where one is no row.
std::vector<StoredTask> read_tasks(const std::string& text, const std::string& name);

}  // namespace kw
