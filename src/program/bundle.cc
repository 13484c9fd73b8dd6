// Tasks as frames and as folders on disk (declared in task_json.h).
#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"
#include "formats/output.h"
#include "program/task_json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Content by hash of every file a task refers to, with the suffix it has in a bundle.
std::map<std::string, std::pair<std::string, const char*>> task_files(const Task& task) {
  std::map<std::string, std::pair<std::string, const char*>> files;
  for (const Kernel& kernel : task.kernels) {
    if (!kernel.source.empty()) files[sha256_hex(kernel.source)] = {kernel.source, ".py"};
    if (kernel.compiled)
      files[sha256_hex(kernel.compiled->cubin)] = {kernel.compiled->cubin, ".cubin"};
  }
  return files;
}

}  // namespace

Frame task_to_frame(const Task& task) {
  Frame frame;
  frame.json = {{"task", to_json(task)}, {"files", Json::array()}};
  for (auto& [hash, file] : task_files(task)) {
    frame.json["files"].push_back(hash);
    frame.blobs.push_back(std::move(file.first));
  }
  return frame;
}

Task task_from_frame(const Frame& frame) {
  const JsonReader in(frame.json, "");
  const auto names = in.at("files").items();
  if (names.size() != frame.blobs.size())
    throw InputError("files: expected one name for each blob");
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < names.size(); ++i) {
    if (sha256_hex(frame.blobs[i]) != names[i].string()) names[i].fail("content has another hash");
    files.emplace(names[i].string(), frame.blobs[i]);
  }
  return task_from_json(in.at("task"), &files);
}

bool is_in_bundle(const fs::path& inside) {
  if (inside == "program.json" || inside == "kernels") return true;
  const std::string hash = inside.stem().string(), end = inside.extension().string();
  return inside.parent_path() == "kernels" && hash.size() == 64 &&
         hash.find_first_not_of("0123456789abcdef") == std::string::npos &&
         (end == ".py" || end == ".cubin");
}

void write_bundle(const Task& task, const fs::path& folder) {
  OutputFolder out(folder, kBundleFolder);
  make_folder(out.path() / "kernels");
  write_file(out.path() / "program.json", to_json(task).dump(1) + "\n");
  for (const auto& [hash, file] : task_files(task)) {
    write_file(out.path() / "kernels" / (hash + file.second), file.first);
  }
  out.keep();
}

Task read_bundle(const fs::path& folder) {
  const Json json = parse_json(read_file(folder / "program.json"), folder.string());
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "kernels", error)) {
    std::string content = read_file(entry.path());
    if (sha256_hex(content) != entry.path().stem().string()) {
      throw InputError(entry.path().string() + ": content does not have the hash in its name");
    }
    files.emplace(entry.path().stem().string(), std::move(content));
  }
  return task_from_json(JsonReader(json, ""), &files);
}

}  // namespace kw
