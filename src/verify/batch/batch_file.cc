#include "verify/batch/batch_file.h"

#include <set>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/output.h"
#include "worker/model_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// The module called `name` in a line: a path, or under `name`_text the text itself.
RecordRequest module_of(const JsonReader& line, const std::string& name, const std::string& where,
                        const fs::path& folder) {
  RecordRequest request;
  const std::string inlined = name + "_text";
  if (line.has(name) == line.has(inlined)) {
    line.fail("expected one of " + name + " (a path) and " + inlined);
  }
  if (line.has(inlined)) {
    request.text = line.at(inlined).string();
    request.file = where + " (" + name + ")";
    return request;
  }
  const fs::path path = folder / line.at(name).string();
  try {
    request.text = read_file(path, kMostSource);
  } catch (const InputError& error) {
    line.fail(error.what());
  }
  request.file = path.string();
  request.folder = fs::absolute(path).parent_path();
  request.modules = modules_digest(request.text, request.folder);
  return request;
}

BatchItem item_of(const JsonReader& line, const std::string& where, const fs::path& folder) {
  static const std::set<std::string> kKnown = {
      "id",        "reference",      "reference_text", "class",
      "candidate", "candidate_text", "candidate_class"};
  for (const auto& [name, value] : line.members()) {
    if (!kKnown.contains(name)) line.fail("unknown member " + name);
  }
  BatchItem item;
  item.reference = module_of(line, "reference", where, folder);
  item.candidate = module_of(line, "candidate", where, folder);
  item.reference.cls = line.has("class") ? line.at("class").string() : "Model";
  item.candidate.cls =
      line.has("candidate_class") ? line.at("candidate_class").string() : "ModelNew";
  // A candidate is called with the reference's inputs.
  item.candidate.harness_text = item.reference.text;
  item.candidate.harness_file = item.reference.file;
  return item;
}

}  // namespace

std::vector<BatchItem> read_batch(const fs::path& path, const DeviceProfile& profile,
                                  const std::string& settings) {
  LineReader lines(path);
  std::vector<BatchItem> items;
  std::set<std::string> ids;
  for (std::string line; lines.next(line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = lines.place();
    const Json json = parse_json(line, where);
    const JsonReader in(json, where);
    BatchItem item = item_of(in, where, path.parent_path());
    item.id = in.has("id") ? in.at("id").string() : std::to_string(lines.number());
    item.reference.profile = item.candidate.profile = profile;
    item.settings = settings;
    if (!ids.insert(item.id).second) in.fail("another line has the id " + item.id + " too");
    items.push_back(std::move(item));
  }
  if (items.empty()) throw InputError(path.string() + " holds no candidates");
  return items;
}

BatchResults::BatchResults(const fs::path& path, const std::vector<BatchItem>& items)
    : file_(path) {
  std::map<std::string, std::string> digests;
  for (const BatchItem& item : items) digests[item.id] = item.digest();
  const auto take = [&](const std::string& line, const LineReader& lines) {
    const Json json = parse_json(line, lines.place());
    const JsonReader in(json, lines.place());
    const std::string id = in.at("id").string();
    const auto found = digests.find(id);
    if (found == digests.end() || found->second != in.at("digest").string()) {
      in.fail("the result of " + id +
              " belongs to another batch, or was made with other flags; remove the file, or "
              "choose another one (--out)");
    }
    done_[id] = batch_outcome_from_json(in);
    recorded_again_.add(json);
    sanitized_.add(json);
  };
  const LinesEnd end = read_whole_lines(path, take);
  if (!is_cut_line(end.rest, {R"({"degenerate":)", R"({"digest":)"})) {
    throw InputError(path.string() + ": does not end in a result; choose another --out");
  }
  file_.cut(end.bytes);
}

void BatchResults::append(const BatchResult& result) {
  const Json line = to_json(result);
  file_.append(line.dump());
  recorded_again_.add(line);
  sanitized_.add(line);
}

}  // namespace kw
