// A whole file, for what is read at once.
#pragma once

#include <filesystem>
#include <string>

namespace kw {

// InputError where there is no such file, it is a folder, or it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace kw
