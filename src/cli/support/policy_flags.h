// The flags that say who writes kernels, and the policy that they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/local.h"
#include "policy/openai.h"
#include "teacher/teacher.h"

namespace kw {

struct PolicyFlags {
  std::string policy = "teacher";  // one, or several with commas between them
  std::string key_env = "OPENAI_API_KEY";
  OpenAiOptions openai;  // what it shares with `local` is here too
  std::optional<int> concurrency;
  LocalOptions local;
  std::string answers;
  std::map<std::string, FunctionForm> functions;  // as make_replay() has it; no flag

  void add_to(CLI::App& app);
  // The same flags for another policy: "teacher", "inductor", or the folder of a model, which
  // `local` is asked with.
  PolicyFlags with(const std::string& what) const;
  // What people call the policy: a model by its folder, others as --policy does.
  std::string label() const;
  // InputError where a flag says whom to ask, and neither these nor `beside` ask them.
  void refuse_unused(const std::vector<PolicyFlags>& beside = {}) const;
  // The policy, which may have to prepare(). InputError for one that is none, or lacks an option.
  // `backend` is the machine's, "cuda" or "cpu".
  std::unique_ptr<Policy> make(const TeacherOptions& teacher, const std::string& backend) const;

 private:
  std::vector<std::string> names() const;
  std::unique_ptr<Policy> make_one(const std::string& name, const TeacherOptions& teacher,
                                   const std::string& backend) const;
  std::unique_ptr<Policy> make_asked() const;
  std::unique_ptr<Policy> make_own() const;
};

// Returns what answers cost, as one line for people; empty if no model was asked (`costs` is null).
std::string costs_text(const std::string& whose, const Json& costs);
std::string costs_text(const Policy& policy);

}  // namespace kw
