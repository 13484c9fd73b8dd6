// The flags that say who writes kernels, and the policy that they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "policy/openai.h"
#include "policy/teacher/teacher.h"

namespace kw {

struct PolicyFlags {
  std::string policy = "teacher";  // one, or several with commas between them
  std::string key_env = "OPENAI_API_KEY";
  OpenAiOptions openai;
  std::string answers;

  void add_to(CLI::App& app);
  // InputError for a policy that is none, or that lacks an option.
  std::unique_ptr<Policy> make(const TeacherOptions& teacher) const;
};

// What a policy's answers cost, one line for people; empty when it asks nobody.
std::string costs_text(const Policy& policy);

}  // namespace kw
