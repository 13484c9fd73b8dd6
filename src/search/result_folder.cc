#include "search/result_folder.h"

#include <fstream>
#include <set>

#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw EnvironmentError("cannot write " + path.string() + ": disk full or read-only?");
}

// Returns the path without a `/` at its end: its neighbour's name is made by adding to it.
fs::path plain_path(const fs::path& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// Returns the folder in which a result is prepared before it takes the place of `target`.
fs::path partial_folder(const fs::path& target) { return target.string() + ".partial"; }

// Throws InputError if the folder exists and holds anything but an earlier result.
void check_replaceable(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder)) throw InputError(folder.string() + " exists and is not a folder");
  static const std::set<std::string> kOurs = {"optimized.py", "bundle",      "verdict.json",
                                              "report.html",  "__pycache__", "probe"};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!kOurs.count(entry.path().filename().string())) {
      throw InputError(folder.string() + " holds other files (" + entry.path().filename().string() +
                       "); --out wants a new folder or an earlier result");
    }
  }
}

}  // namespace

void prepare_result_folder(const fs::path& folder) {
  try {
    check_replaceable(folder);
    const fs::path partial = partial_folder(plain_path(folder));
    check_replaceable(partial);
    fs::create_directories(partial);
    write_text(partial / "probe", "");
    fs::remove_all(partial);
  } catch (const fs::filesystem_error& error) {
    throw EnvironmentError("cannot write to " + folder.string() + ": " + error.code().message());
  }
}

void write_result(const OptimizeResult& result, const std::string& report_html,
                  const fs::path& folder) {
  const fs::path target = plain_path(folder), partial = partial_folder(target);
  try {
    check_replaceable(folder);
    fs::remove_all(partial);
    fs::create_directories(partial);
    // If nothing was gained, the original is the answer, by the same name.
    write_text(partial / "optimized.py",
               result.python.empty() ? result.reference_source +
                                           "\n\n# ---- Kernelwright: nothing was gained. ----\n" +
                                           "ModelNew = " + result.reference.source.cls + "\n"
                                     : result.python);
    write_bundle(result.optimized, partial / "bundle");
    write_text(partial / "verdict.json", to_json(result.verdict).dump(1) + "\n");
    write_text(partial / "report.html", report_html);
    fs::remove_all(target);
    fs::rename(partial, target);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    if (const auto* io = dynamic_cast<const fs::filesystem_error*>(&error)) {
      throw EnvironmentError("cannot write " + folder.string() + ": " + io->code().message());
    }
    throw;
  }
}

}  // namespace kw
