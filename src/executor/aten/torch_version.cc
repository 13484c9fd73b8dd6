#include "executor/aten/torch_version.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>

#include "executor/aten/aten.h"
#include "formats/base/error.h"

namespace kw::exec {

std::string loaded_torch_version() {
  Dl_info info{};
  // Any symbol of libtorch_cpu.so leads to torch/lib.
  void* symbol = reinterpret_cast<void*>(&c10::Dispatcher::realSingleton);
  if (dladdr(symbol, &info) == 0 || !info.dli_fname) return "";
  const auto package = std::filesystem::path(info.dli_fname).parent_path().parent_path();
  std::ifstream file(package / "version.py");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("__version__")) continue;
    const size_t open = line.find_first_of("'\""), close = line.find_last_of("'\"");
    if (open != std::string::npos && close > open) return line.substr(open + 1, close - open - 1);
  }
  return "";
}

void check_torch_version() {
  const std::string loaded = loaded_torch_version();
  if (loaded == KW_TORCH_VERSION) return;
  throw EnvironmentError("built with PyTorch " KW_TORCH_VERSION ", but PyTorch " +
                         (loaded.empty() ? std::string("of an unknown version") : loaded) +
                         " is loaded: build again (make build PYTHON=...)");
}

}  // namespace kw::exec
