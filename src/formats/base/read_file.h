// Files that a user names. Their sizes are limited and checked before anything is read. So a device
// or a disk's image that is named by mistake neither fills the memory nor takes forever.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace kw {

// The largest files (docs/exit-codes.md).
inline constexpr uintmax_t kMostSource = uintmax_t{16} << 20;    // a model, a candidate, a recipe
inline constexpr uintmax_t kMostDocument = uintmax_t{64} << 20;  // a document, or a line of JSON
inline constexpr uintmax_t kMostLines = uintmax_t{1} << 30;      // lines of JSON, read as a whole

// Throws InputError unless `path` is a plain file, or a link to one, of `most` bytes at most.
void check_in_file(const std::filesystem::path& path, uintmax_t most = UINTMAX_MAX);

// Returns a file's bytes, after the same check. InputError where it cannot be read.
std::string read_file(const std::filesystem::path& path, uintmax_t most = kMostDocument);

// Lines of a file of any length, one at a time.
class LineReader {
 public:
  // Makes the same check. InputError where the file cannot be read.
  explicit LineReader(const std::filesystem::path& path);
  // Reads the next line, without its newline; false at the end. InputError for a line of more than
  // kMostDocument bytes; EnvironmentError when the disk fails.
  bool next(std::string& line);
  // Whether the line that was read last had its newline.
  bool is_whole() const { return whole_; }
  // Of the line that was read last, from 1.
  int64_t number() const { return number_; }
  // "FILE:3"
  std::string place() const;

 private:
  const std::filesystem::path path_;
  std::ifstream in_;
  int64_t number_ = 0;
  bool whole_ = true;
};

// Throws InputError: "PATH: is a FIFO, where a file was expected", and the advice.
[[noreturn]] void refuse_type(const std::filesystem::path& path, std::filesystem::file_type found,
                              const std::string& wanted, const std::string& advice = "");

}  // namespace kw
