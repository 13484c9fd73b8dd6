#include "formats/install.h"

#include <cstdlib>

namespace kw {

std::filesystem::path shipped(const std::string& name) {
  return std::filesystem::path(KW_SOURCE_DIR) / name;
}

std::filesystem::path built(const std::string& name) {
  return std::filesystem::path(KW_BUILD_DIR) / name;
}

std::string environment_or(const char* variable, const std::string& otherwise) {
  const char* value = std::getenv(variable);
  return value && *value ? value : otherwise;
}

std::string worker_python() { return environment_or("KERNELWRIGHT_PYTHON", KW_PYTHON); }

}  // namespace kw
