// `kernelwright-trainer serve`: answers requests for a model's folder on a Unix-domain socket
// (docs/policies.md, "local").
#pragma once

#include <filesystem>

#include "train/serve/answerer.h"

namespace kw::train {

struct ServeOptions {
  std::filesystem::path model, socket;
  AnswererOptions answers;
};

// Serves until SIGTERM or SIGINT comes, or until `input` ends, so that the server ends with the
// process that started it. Then it removes the socket. It reports on stderr when it accepts
// requests. The calling process must have no other threads, as the signals are blocked in it from
// then on. Throws InputError for the model, EnvironmentError for the machine.
void serve(const ServeOptions& options, int input);

}  // namespace kw::train
