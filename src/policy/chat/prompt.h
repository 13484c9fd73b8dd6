// The texts between tasks and models: a task as a Python function, the question to a model, and the
// reading of its answer (docs/policies.md). Pure functions; any thread. Answers are hostile:
// reading one takes time in proportion to its length and never throws.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "program/program.h"
#include "worker/device_profile.h"

namespace kw {

// Returns the forward program as a Python function of its inputs a0, a1, ..., which torch can run.
// It has a line for each input and a line for each step, with results t<first_value>, t<first_value
// + 1>, ... Each line states dtype, shape and unusual properties of its tensors. Equal programs
// have equal texts. Throws InputError for a step that Python cannot express.
std::string task_text(const Task& task, int first_value = 0);

// Numbers of the first value in texts for models that are trained here. In training it is at least
// kLeastName and below kNamesBelow; in questions it is kAskedName. So the names of programs of 50
// steps have two digits, and each digit is a token.
inline constexpr int kLeastName = 10, kNamesBelow = 50, kAskedName = 20;

// The question to a chat model.
struct Prompt {
  std::string system, user;
};
Prompt make_prompt(const Task& task, const DeviceProfile& profile);

inline constexpr size_t kLongestAnswer = 1 << 20;    // bytes, with thoughts
inline constexpr size_t kLongestSource = 256 << 10;  // bytes of the code in it
inline constexpr size_t kLongestPlan = 4096;         // bytes; longer plans are cut

// Returns the text without thoughts (<think>...</think>), or nothing if it ends in a thought. A
// </think> without a beginning ends a thought that the model's template began.
std::optional<std::string> without_thoughts(std::string_view text);

// The parts of an answer.
struct Answer {
  std::string plan;    // the text before the code
  std::string source;  // the code
  std::string fault;   // why there is none, in one line; empty otherwise
  bool open = false;   // the code reaches the text's end, so it may be incomplete
};
// Reads an answer without its thoughts. The code is the last complete fenced block that has
// `class ModelNew`. In text without fences it is everything from the first import on.
Answer parse_answer(std::string_view text);

// The form of answers to TritonBench's tasks: a function in place of an operator of the same name,
// and no class ModelNew.
struct FunctionForm {
  std::string name;   // the operator's
  std::string model;  // text of a class ModelNew, whose forward calls it as the tests do
};
// Returns the answer without thoughts, with that class at the end of the code that defines the
// function. `is_code` says that the answer is a module alone. Returns the text as it is if it has a
// class ModelNew, or no such function.
std::string with_model(std::string_view text, bool is_code, const FunctionForm& form);

}  // namespace kw
