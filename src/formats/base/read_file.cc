#include "formats/base/read_file.h"

#include <fstream>
#include <iterator>

#include "formats/base/error.h"

namespace kw {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw InputError(path.string() + ": is a folder, where a file was expected");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in) {
    const std::string seen = path.is_absolute() ? "" : ", seen from " + fs::current_path().string();
    throw InputError(path.string() + ": cannot be read (is it there" + seen + "?)");
  }
  return text;
}

}  // namespace kw
