#include "formats/base/read_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/base/error.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_size(const std::string& what, uintmax_t most) {
  throw InputError(what + ": is larger than " + std::to_string(most >> 20) + " MiB");
}

std::ifstream open_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path.string() + ": cannot be read: " + std::strerror(errno));
  return in;
}

// Returns what people call a thing of this type.
std::string name_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::regular:
      return "a file";
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::symlink:
      return "a link";
    case fs::file_type::fifo:
      return "a FIFO";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return "of no known kind";
  }
}

}  // namespace

void check_in_file(const fs::path& path, uintmax_t most) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    std::error_code gone;
    const fs::path here = path.is_absolute() ? fs::path() : fs::current_path(gone);
    throw InputError(path.string() + ": cannot be read (is it there" +
                     (here.empty() ? "" : ", seen from " + here.string()) + "?)");
  }
  if (status.type() == fs::file_type::none) {
    throw InputError(path.string() + ": cannot be read: " + error.message());
  }
  if (status.type() != fs::file_type::regular) refuse_type(path, status.type(), "a file");
  const uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes > most) refuse_size(path.string(), most);
}

std::string read_file(const fs::path& path, uintmax_t most) {
  check_in_file(path, most);
  std::ifstream in = open_file(path);
  std::error_code unknown;
  const uintmax_t bytes = fs::file_size(path, unknown);
  std::string text;
  // A file may grow meanwhile, and those of /proc have no size.
  constexpr uintmax_t kPart = 1 << 16;
  for (uintmax_t wanted = unknown ? kPart : bytes + 1; in; wanted = kPart) {
    const size_t before = text.size();
    text.resize(before + wanted);
    in.read(text.data() + before, static_cast<std::streamsize>(wanted));
    text.resize(before + static_cast<size_t>(in.gcount()));
    if (text.size() > most) refuse_size(path.string(), most);
  }
  if (!in.eof()) throw InputError(path.string() + ": cannot be read: " + std::strerror(errno));
  return text;
}

LineReader::LineReader(const fs::path& path) : path_(path) {
  check_in_file(path);
  in_ = open_file(path);
}

bool LineReader::next(std::string& line) {
  line.clear();
  ++number_;
  std::streambuf& bytes = *in_.rdbuf();
  constexpr int kEnd = std::streambuf::traits_type::eof();
  int byte = kEnd;
  try {
    while ((byte = bytes.sbumpc()) != kEnd && byte != '\n') {
      if (line.size() == kMostDocument) refuse_size(place(), kMostDocument);
      line += static_cast<char>(byte);
    }
  } catch (const std::ios_base::failure& failure) {
    throw EnvironmentError(place() + ": cannot be read: " + failure.code().message());
  }
  whole_ = byte == '\n';
  return whole_ || !line.empty();
}

std::string LineReader::place() const { return path_.string() + ":" + std::to_string(number_); }

void refuse_type(const fs::path& path, fs::file_type found, const std::string& wanted,
                 const std::string& advice) {
  throw InputError(path.string() + ": is " + name_of(found) + ", where " + wanted +
                   " was expected" + advice);
}

}  // namespace kw
