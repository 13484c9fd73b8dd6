// `kernelwright-trainer serve`: a model's folder, answered for on a Unix-domain socket
// (docs/policies.md, "local").
#pragma once

#include <filesystem>

#include "train/serve/answerer.h"

namespace kw {

struct ServeOptions {
  std::filesystem::path model, socket;
  AnswererOptions answers;
};

// Serves until SIGTERM or SIGINT comes, or until `input` ends, so that the server goes with whoever
// started it; then the socket is gone. Says on stderr when it takes requests. Called by a process
// without further threads, as signals are blocked in it from then on. InputError for the model,
// EnvironmentError for the machine.
void serve(const ServeOptions& options, int input);

}  // namespace kw
