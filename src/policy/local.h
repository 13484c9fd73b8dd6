// The policy `local`: a model in a folder, which a separate process serves on this machine
// (model_server.h). It is asked by the protocol of openai.h with a task's text alone, as it was
// trained (docs/policies.md). The process starts with prepare(), or else with the first question.
// Any thread.
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
  // If empty, several answers are drawn at 0.8, and a single one is the likeliest (0).
  std::optional<double> temperature;
  std::optional<double> top_p;
  int max_tokens = 0;         // of one answer; 0: as many as fit the model's context
  int timeout_seconds = 600;  // for the answers to one task
};

// Returns the folder of the model that comes with the program, or $KERNELWRIGHT_MODEL. The folder
// may be missing.
std::filesystem::path embedded_model();
// Returns `given`, or `embedded` if that is empty. Throws InputError if the folder holds no model
// or is missing.
std::string model_folder(const std::string& given,
                         const std::filesystem::path& embedded = embedded_model());

// Makes the policy. `options.server.model` is a folder from model_folder().
std::unique_ptr<Policy> make_local(const LocalOptions& options);

}  // namespace kw
