// A policy that reads its answers from files: those of a model that ran elsewhere, of an earlier
// run, or written by hand (docs/policies.md). Deterministic. Everything is read when it is made;
// after that any thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "policy/chat/prompt.h"
#include "policy/policy.h"

namespace kw {

// `answers` is a folder of `<task>.<sample>.py|.txt|.md` and of *.jsonl files, or one such file of
// {"task", "sample", "answer"} a line. A task is named by its model's file, or by forward_hash() or
// forward_structure_hash() (task_key.h). InputError when there is nothing to read, when a line is
// none, and when two answers are for one sample.
// `functions`: by model_name() of tasks that were made of an operator's tests, the form in which
// answers may be a function.
std::unique_ptr<Policy> make_replay(const std::filesystem::path& answers,
                                    std::map<std::string, FunctionForm> functions = {});

}  // namespace kw
