// Which PyTorch this process has loaded, against which it was built.
#pragma once

#include <string>

namespace kw {

// Version of the PyTorch whose libraries are loaded, from the version.py beside them; empty when
// there is none.
std::string loaded_torch_version();
// EnvironmentError when it is another than the one this binary was built with.
void check_torch_version();

}  // namespace kw
