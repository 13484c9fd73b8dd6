// A policy that reads its answers from files: of a model that ran elsewhere, of an earlier run, or
// written by hand (docs/policies.md). Deterministic. All files are read when the policy is made;
// any thread may use it afterwards.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "policy/chat/prompt.h"
#include "policy/policy.h"

namespace kw {

// Makes the policy. `answers` is a folder of `<task>.<sample>.py|.txt|.md` and *.jsonl files, or
// one file with {"task", "sample", "answer"} a line. A task is named by its model's file, by
// forward_hash() or by forward_structure_hash() (task_key.h). `functions` has, by model_name(), the
// form in which an answer may be a function; it is for tasks made of an operator's tests. Throws
// InputError if there is nothing to read, a line is no answer, or a sample has two answers.
std::unique_ptr<Policy> make_replay(const std::filesystem::path& answers,
                                    std::map<std::string, FunctionForm> functions = {});

}  // namespace kw
