// Where the parts of Kernelwright are on this machine: the one place that knows. A package that
// puts them elsewhere changes this file alone.
#pragma once

#include <filesystem>
#include <string>

namespace kw {

// Returns the path of a file or folder that comes with the program: "worker", "schedules",
// "models/embedded-rl", "tests/corpora".
std::filesystem::path shipped(const std::string& name);

// Returns the path of a program or library that is built with this one: "kernelwright-executor".
std::filesystem::path built(const std::string& name);

// Returns the value of an environment variable, or `otherwise` if it is unset or empty.
std::string environment_or(const char* variable, const std::string& otherwise);

// Returns the interpreter of workers: $KERNELWRIGHT_PYTHON, or the one that the build was made
// with.
std::string worker_python();

}  // namespace kw
