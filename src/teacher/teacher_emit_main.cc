// Prints what the teacher proposes for a task document on standard input, as JSON: for the oracle
// test (tests/teacher_oracle.py) and for reading by people.
//
//   teacher_emit [count] [device] < task.json   ->  {"refusal": ..., "proposals": [...]}
//   teacher_emit --lines [count] [device]           one task and one answer a line
//   teacher_emit --text [first value]               one task and its task_text() a line, as JSON
//   teacher_emit --operators                        {name: "whole" | "decompose"}
//
// --whole: tasks are programs; --names N: values are called tN, ..., kernels kN, ...
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "ops/operator.h"
#include "policy/chat/prompt.h"
#include "program/task_json.h"
#include "teacher/teacher.h"
#include "worker/device_profile.h"

namespace {

kw::Task task_of(const std::string& text) {
  const kw::Json document = kw::parse_json(text, "task");
  return kw::task_from_json(kw::JsonReader(document, "task"), nullptr);
}

kw::Json answer(const std::string& text, int count, const kw::DeviceProfile& profile,
                const kw::TeacherOptions& options) {
  const kw::Task task = task_of(text);
  kw::Json out = {{"refusal", kw::teacher::refusal(task, profile)},
                  {"proposals", kw::Json::array()}};
  const auto no_deadline = std::chrono::steady_clock::time_point::max();
  for (const kw::Proposal& p :
       kw::make_teacher(options)->propose(task, profile, count, 0, no_deadline)) {
    out["proposals"].push_back({{"family", p.family},
                                {"plan", p.plan},
                                {"source", p.source},
                                {"model_seconds", p.model_seconds}});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  int first = 1;
  if (argc > 1 && std::string(argv[1]) == "--operators") {
    kw::Json operators;
    for (const kw::OperatorRow& row : kw::operator_table()) {
      operators[std::string(row.name)] = kw::recorded_name(row.recorded);
    }
    std::cout << operators.dump() << "\n";
    return 0;
  }
  if (argc > 1 && std::string(argv[1]) == "--text") {
    const int first_value = argc > 2 ? std::atoi(argv[2]) : 0;
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << kw::Json(kw::task_text(task_of(line), first_value)).dump() << std::endl;
    }
    return 0;
  }
  bool lines = false;
  kw::TeacherOptions options;
  for (; first < argc && std::string(argv[first]).starts_with("--"); ++first) {
    const std::string flag = argv[first];
    lines |= flag == "--lines";
    options.whole |= flag == "--whole";
    if (flag != "--names" || first + 1 == argc) continue;
    options.first_name = std::stoi(argv[++first]);
  }
  const int count = argc > first ? std::atoi(argv[first]) : 4;
  const kw::DeviceProfile profile = kw::device_profile(argc > first + 1 ? argv[first + 1] : "h200");
  try {
    if (!lines) {
      const std::string text((std::istreambuf_iterator<char>(std::cin)), {});
      std::cout << answer(text, count, profile, options).dump(1) << "\n";
    }
    for (std::string line; lines && std::getline(std::cin, line);) {
      std::cout << answer(line, count, profile, options).dump() << std::endl;
    }
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
  return 0;
}
