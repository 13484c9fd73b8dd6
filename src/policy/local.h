// The policy `local`: a model in a folder, which a process of its own serves on this machine
// (model_server.h) and which is asked by the protocol of openai.h, with a task's text and nothing
// else, as it was trained (docs/policies.md). The process starts when the policy is prepared, or
// where it never is, when proposals are first wanted. Any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "policy/model_server.h"
#include "policy/policy.h"

namespace kw {

struct LocalOptions {
  ModelServerConfig server;
  // Without it, several answers are drawn at 0.8, and one alone is the likeliest (0).
  std::optional<double> temperature;
  std::optional<double> top_p;
  int max_tokens = 0;         // of one answer; 0: as many as the model's context has room for
  int timeout_seconds = 600;  // for the answers to one task
};

// The model that comes with the program, whether or not it is there; $KERNELWRIGHT_MODEL says
// otherwise.
std::filesystem::path embedded_model();
// `given`, or where that is empty the one that comes with the program. InputError when it is no
// folder with a model, and when there is none.
std::string model_folder(const std::string& given,
                         const std::filesystem::path& embedded = embedded_model());

// `options.server.model` as model_folder() gives it.
std::unique_ptr<Policy> make_local(const LocalOptions& options);

}  // namespace kw
