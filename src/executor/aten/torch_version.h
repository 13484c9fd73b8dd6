// Compares the PyTorch that this process has loaded with the one that it was built with.
#pragma once

#include <string>

namespace kw::exec {

// Returns the version of the loaded PyTorch, from the version.py in its package; empty if there is
// none.
std::string loaded_torch_version();
// Throws EnvironmentError if the loaded version differs from the one this binary was built with.
void check_torch_version();

}  // namespace kw::exec
