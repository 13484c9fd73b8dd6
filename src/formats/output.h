// The one way in which results reach a disk: whole or not at all, and nothing is deleted that was
// not made here.
//
// A result is made under a temporary name (.kernelwright-PID-N) in the folder that it is for, and
// renamed into its place once it is whole; a folder that cannot be renamed (a mount point) is
// filled file by file. It replaces an earlier result of the same kind and nothing else: other
// files, folders with other files, devices, FIFOs and sockets are refused with an InputError that
// names them. Links are followed to the place that they name, never out of a folder that is
// replaced. Functions may run on any thread.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kw {

// What tells a file of one kind from others.
struct FileKind {
  std::string_view what;  // "page of Kernelwright", for messages
  std::string_view mark;  // a text that every such file has; empty: any plain file may be replaced
};

// What tells a folder of one kind from others.
struct FolderKind {
  std::string_view what;                                // "bundle", for messages
  std::string_view file;                                // a file that every such folder has
  std::string_view mark;                                // a text that this file has
  bool (*writes)(const std::filesystem::path& inside);  // whether it is a path in such a folder
};

// A folder that must be new or empty.
inline constexpr FolderKind kNewFolder = {"", "", "", nullptr};

// Throws InputError unless a file of this kind may be written at `path`. Its folder must exist, and
// what is there may only be an empty file or an earlier one of this kind. Throws EnvironmentError
// if the user may not write the file that is there.
void check_out_file(const std::filesystem::path& path, const FileKind& kind = {});

// Writes a whole file after the same check. A file that is replaced keeps its permissions. Throws
// EnvironmentError if the disk refuses, or the user may not write the file that is there.
void write_file(const std::filesystem::path& path, std::string_view bytes,
                const FileKind& kind = {});

// Makes a folder, and the folders that it is in, where they are missing. InputError when something
// else is there; EnvironmentError when the disk refuses.
void make_folder(const std::filesystem::path& folder);

// Throws InputError unless `folder` is new, empty, or a run's folder, which has the file `mark`:
// what adds to a folder adds to none that holds other files.
void check_run_folder(const std::filesystem::path& folder, const std::string& mark);

// A folder that is made beside its place. What was not kept goes with its owner.
class OutputFolder {
 public:
  // Makes an empty folder, and the folders that `target` is in. InputError unless nothing is at
  // `target`, or an empty folder, or an earlier one of this kind that holds nothing else;
  // EnvironmentError when no folder can be made.
  OutputFolder(const std::filesystem::path& target, const FolderKind& kind);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where its files are written until keep().
  const std::filesystem::path& path() const { return path_; }
  // Takes the place of what is at the target, after the same check. Once. If that fails, the folder
  // stays where it is, and the message names it.
  void keep();

 private:
  void fill_target();
  const std::filesystem::path given_, target_;
  const FolderKind kind_;
  // What the destructor removes: the new folder, or the one that it has replaced.
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // where the new one was made
};

// Returns whether the end of a file, which has no newline, may be what a killed run left of a line.
// Such lines begin with one of `starts`. Nothing else may be cut off.
bool is_cut_line(std::string_view text, std::initializer_list<std::string_view> starts);

// Throws what a later OutputFolder would, before the work whose results it is for.
void check_out_folder(const std::filesystem::path& target, const FolderKind& kind);

}  // namespace kw
