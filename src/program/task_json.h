// The only reader and writer of task documents (docs/formats/task.md), and bundles on disk.
#pragma once

#include <filesystem>
#include <string>

#include "formats/frame.h"
#include "formats/output.h"
#include "program/program.h"

namespace kw {

Json to_json(const Value& value);
Json to_json(const Program& program);
// `source` and `compiled.cubin` are written as content hashes.
Json to_json(const Kernel& kernel);
Json to_json(const Task& task);

Value value_from_json(const JsonReader& in);
Arg arg_from_json(const JsonReader& in);
Json arg_to_json(const Arg& arg);
Program program_from_json(const JsonReader& in);
// Kernel text and machine code are looked up by hash in `files`; with `files` null they are left as
// the hashes.
Kernel kernel_from_json(const JsonReader& in, const std::map<std::string, std::string>* files);
Task task_from_json(const JsonReader& in, const std::map<std::string, std::string>* files);

// A task as one frame: json {"task": ..., "files": [hash, ...]} and one blob for each file.
Frame task_to_frame(const Task& task);
Task task_from_frame(const Frame& frame);

// Whether a bundle has a file or folder of this path.
bool is_in_bundle(const std::filesystem::path& inside);
inline constexpr FolderKind kBundleFolder = {"bundle", "program.json", "\"kernelwright.task\"",
                                             is_in_bundle};
// Writes a bundle as formats/output.h does: whole or not at all, and over nothing but a bundle.
void write_bundle(const Task& task, const std::filesystem::path& folder);
// Reads one and checks every hash and the structure (check_task). Throws InputError on any fault.
Task read_bundle(const std::filesystem::path& folder);

// Returns whether `text` is a name in Python, of ASCII characters alone.
bool is_identifier(std::string_view text);

// Structural soundness: numbering, definition before use, storages, kernel indices, argument
// counts, linked program boundaries. InputError names the place. Every parser above has run it.
void check_task(const Task& task);
void check_program(const Program& program, const std::vector<Kernel>& kernels,
                   const std::string& path);

}  // namespace kw
