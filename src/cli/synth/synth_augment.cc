#include "cli/synth/synth_augment.h"

#include <cstdio>

#include "cli/synth/synth_file.h"
#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "formats/output.h"
#include "program/task_json.h"
#include "synth/augment.h"
#include "worker/model_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// In a row without any that is taken: the sizes cannot be had.
constexpr uint64_t kMostInVain = 200;

Json constants_to_json(const std::vector<ModelConstant>& constants) {
  Json json = Json::object();
  for (const ModelConstant& constant : constants) json[constant.name] = constant.value;
  return json;
}

// Rows of one model, seed and way to choose.
class Rows {
 public:
  Rows(const std::string& model, const AugmentOptions& options)
      : stem_(fs::path(model).stem().string()),
        of_(sha256_hex(options.text)),
        seed_(options.seed),
        hygiene_(options.hygiene) {}

  std::string row(const Augmented& task, const Json& rejected, uint64_t index) const {
    char number[40];
    std::snprintf(number, sizeof number, "%06llu", static_cast<unsigned long long>(index));
    const Json row = {
        {"id", stem_ + "-shapes-seed" + std::to_string(seed_) + "-" + number},
        {"of", of_},
        {"seed", seed_},
        {"hygiene", hygiene_},
        {"proposal", task.proposal},
        {"constants", constants_to_json(task.constants)},
        {"shapes", shapes_of(task.task)},
        {"flops", task.flops},
        {"model", task.text},
        {"program", to_json(task.task)},
        {"rejected", rejected},
    };
    return row.dump();
  }

  // What the file has of this run: its rows, their shapes, and the proposal after the last.
  struct Before {
    uint64_t rows = 0, next = 0;
    std::set<std::string> shapes;
  };
  // Removes what a killed run left of one more row, too.
  Before before(AppendedLines& file) const {
    Before found;
    const auto take = [&](const std::string& line, const LineReader& lines) {
      const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      const auto is = [&](const char* member, const Json& value) {
        return json.is_object() && json.contains(member) && json[member] == value;
      };
      const bool ours = is("of", of_) && is("seed", seed_) && is("hygiene", hygiene_);
      if (!ours) {
        throw InputError(lines.place() +
                         ": is no task of this model, these constants and this seed; choose "
                         "another --out");
      }
      const JsonReader row(json, lines.place());
      found.next = static_cast<uint64_t>(row.at("proposal").integer()) + 1;
      found.shapes.insert(row.at("shapes").string());
      ++found.rows;
    };
    const LinesEnd end = read_whole_lines(file.file(), take);
    if (found.rows == 0 && !is_cut_row(end.rest)) {
      throw InputError(file.file().string() + ": holds no tasks; choose another --out");
    }
    file.cut(end.bytes);
    return found;
  }

 private:
  std::string stem_, of_;
  uint64_t seed_;
  bool hygiene_;
};

}  // namespace

int synth_augment(const std::string& model, const std::string& out, uint64_t count, uint64_t seed,
                  bool hygiene, const MachineFlags& flags) {
  check_out_file(out);
  Machine machine(flags, {model});
  const RecordRequest request = request_for_file(model, "Model", flags.set, machine.profile);
  const AugmentOptions options{request.file, request.text, seed, hygiene};
  const Rows rows(model, options);
  AppendedLines file(out);
  Rows::Before before = rows.before(file);
  if (before.rows >= count) {
    std::printf("%llu tasks are there already\n", static_cast<unsigned long long>(before.rows));
    return 0;
  }
  machine.executor.hello();
  Examiner examiner(machine.pool, machine.executor, machine.profile);
  Augmenter augmenter(options, examiner);
  RowWriter writer(file, before.rows, count);
  Json rejected = Json::array();
  uint64_t done = before.rows, in_vain = 0;
  for (uint64_t next = before.next; done < count && in_vain < kMostInVain;) {
    for (const Augmented& task : augmenter.next(next, count - done, before.shapes)) {
      if (in_vain == kMostInVain) break;  // however many are proposed at once
      next = task.proposal + 1;
      if (task.reason.empty()) {
        writer.write(rows.row(task, rejected, done++));
        rejected = Json::array();
        in_vain = 0;
      } else {
        rejected.push_back(
            {{"constants", constants_to_json(task.constants)}, {"reason", task.reason}});
        ++in_vain;
      }
    }
  }
  writer.finish();
  if (done < count) {
    std::printf("%llu proposals in a row gave no other, the last: %s\n",
                static_cast<unsigned long long>(in_vain),
                rejected.back()["reason"].get<std::string>().c_str());
  }
  if (done == 0) throw InputError(model + ": none of its sizes could be changed");
  return 0;
}

}  // namespace kw
