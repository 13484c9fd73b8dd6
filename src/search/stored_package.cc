#include "search/stored_package.h"

#include <fstream>
#include <iterator>

#include "formats/base/sha256.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

constexpr uintmax_t kMostBytes = 64 << 20;

// The key has the program, which covers what the model's imports do, and the text, which is what
// Inductor sees.
std::string package_key(const RecordRequest& model, const Task& reference, const Json& machine) {
  Json state = Json::array();
  for (const StateEntry& entry : reference.state) state.push_back(entry.names);
  const Json parts = {{"program", canonical_hash(reference)},
                      {"text", sha256_hex(model.text)},
                      {"class", model.cls},
                      {"state", state},
                      {"machine", machine}};
  return "package/" + sha256_hex(parts.dump());
}

}  // namespace

std::string stored_package(Store& store, Baselines& baselines, const RecordRequest& model,
                           const Task& reference, const Json& machine,
                           const std::filesystem::path& folder) {
  const std::string key = package_key(model, reference, machine);
  if (const auto kept = store.get_bytes(key)) {
    const std::filesystem::path path = folder / "stored.pt2";
    if (std::ofstream(path, std::ios::binary) << *kept << std::flush) return path;
  }
  std::string path = baselines.build({{model, reference.state, {}}}, folder).front();
  std::error_code unreadable;
  if (path.empty() || std::filesystem::file_size(path, unreadable) > kMostBytes || unreadable) {
    return path;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (file) store.put_bytes(key, bytes);
  return path;
}

}  // namespace kw
