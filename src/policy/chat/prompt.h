// The text between tasks and models: a task as a Python function, what a model is asked, and what
// is read out of its answer (docs/policies.md). Pure functions; any thread. Answers are hostile:
// reading one takes time in proportion to its length and never throws.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "program/program.h"
#include "worker/device_profile.h"

namespace kw {

// The forward program as a function of its inputs a0, a1, ...: a line an input with dtype, shape
// and what else is not usual of it, a line a step with results t<first_value>, t<first_value + 1>,
// ..., and the same of them, and what is returned. Python with torch can run it. The same for equal
// programs. InputError for a step that Python cannot say.
std::string task_text(const Task& task, int first_value = 0);

// The first value of texts that models which are trained here learn from is numbered from the first
// of these numbers on and below the second, and with the third where they are asked. Names of
// programs of 50 steps have two digits so, each of which is a token.
inline constexpr int kLeastName = 10, kNamesBelow = 50, kAskedName = 20;

// What is asked of a chat model.
struct Prompt {
  std::string system, user;
};
Prompt make_prompt(const Task& task, const DeviceProfile& profile);

inline constexpr size_t kLongestAnswer = 1 << 20;    // bytes; thoughts count
inline constexpr size_t kLongestSource = 256 << 10;  // of the code in it
inline constexpr size_t kLongestPlan = 4096;         // what is longer is cut

// The text without thoughts (<think>...</think>); nothing when it ends in one. A </think> that
// nothing opens ends one that the model's template opened.
std::optional<std::string> without_thoughts(std::string_view text);

// What an answer says.
struct Answer {
  std::string plan;    // the text before the code
  std::string source;  // the code
  std::string fault;   // why there is none, in one line; empty otherwise
  bool open = false;   // the code goes on to the text's end: nothing says that it is whole
};
// Thoughts are dropped. The code is the last complete fenced block that has
// `class ModelNew`; of text without fences, everything from the first import on.
Answer parse_answer(std::string_view text);

// TritonBench has answers in the form of its tasks: a function that stands for an operator of the
// same name, and no class ModelNew.
struct FunctionForm {
  std::string name;   // the operator's
  std::string model;  // text of a class ModelNew, whose forward calls it as the tests do
};
// The answer (`is_code`: a module alone) with that class at the end of the code that defines the
// function, less its thoughts. The same text where it has a class ModelNew, or no such function.
std::string with_model(std::string_view text, bool is_code, const FunctionForm& form);

}  // namespace kw
