// Tables of schedules, ranking and exploring, by their properties. Tables are written by the tests.
#include "teacher/schedule/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "formats/base/error.h"
#include "policy/test_fragment.h"
#include "teacher/schedule/ranking.h"
#include "teacher/teacher.h"
#include "worker/test_folder.h"

namespace kw::teacher {
namespace {

DeviceProfile h200() { return device_profile("h200"); }

std::vector<Proposal> proposals(const TeacherOptions& options, int count = 1000, uint64_t seed = 0,
                                const Task& task = softmax_task(4096, 1000)) {
  return make_teacher(options)->propose(task, h200(), count, seed, kNoDeadline);
}

std::string name_of(const Proposal& p) { return p.schedule.at("name"); }

std::vector<std::string> names_of(const std::vector<Proposal>& all) {
  std::vector<std::string> out;
  for (const Proposal& p : all) out.push_back(name_of(p));
  return out;
}

Json table_json(const std::string& device) {
  return {{"format", "kernelwright.schedules"},
          {"version", 1},
          {"device", device},
          {"measured", Json::object()},
          {"correction", Json::object()}};
}

class Tables : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(folder_.path()) / name;
    std::ofstream(path) << text;
    return path;
  }
  ScheduleTable table(const Json& document) {
    return ScheduleTable::read(write("table.json", document.dump()));
  }
  // The complaint about a table with this text.
  std::string complaint(const std::string& text) {
    try {
      ScheduleTable::read(write("bad.json", text));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  TestFolder folder_;
};

TEST(Tiling, IsReadBackFromItsText) {
  const Tiling t = parse_tiling("tf32 taps of turned input, BLOCK_M=128 BLOCK_N=64 SPLITS=4");
  EXPECT_EQ(t.kind, "tf32 taps of turned input");
  EXPECT_EQ(t.blocks,
            (std::map<std::string, int64_t>{{"BLOCK_M", 128}, {"BLOCK_N", 64}, {"SPLITS", 4}}));
  EXPECT_EQ(parse_tiling("BLOCK_M=16 BLOCK_N=32").kind, "");
}

TEST(Names, TellAllSchedulesApart) {
  const auto names = names_of(proposals({}));
  EXPECT_GT(names.size(), 20u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(ShapeClasses, HoldSizesThatAreNearAndPartOthers) {
  auto shape = [](const Task& task) {
    return proposals({}, 1, 0, task).at(0).schedule.at("class").get<std::string>();
  };
  EXPECT_EQ(shape(softmax_task(4096, 1000)), shape(softmax_task(4000, 1024)));
  EXPECT_NE(shape(softmax_task(4096, 1000)), shape(softmax_task(4096, 4000)));
  EXPECT_NE(shape(softmax_task(4096, 1000)), shape(softmax_task(64, 1000)));
}

TEST_F(Tables, MeasuredSchedulesStandFirstInTheirOrder) {
  const auto before = proposals({});
  Json document = table_json(h200().name);
  const std::string shape = before[0].schedule.at("class");
  const std::vector<std::string> fast = {name_of(before[17]), "of another version",
                                         name_of(before[5])};
  for (size_t i = 0; i < fast.size(); ++i) {
    document["measured"]["reduction"][shape].push_back(
        {{"name", fast[i]}, {"ratio", 1.0 + 0.01 * static_cast<double>(i)}});
  }
  const auto after = names_of(proposals({.schedules = table(document)}));
  EXPECT_EQ(after[0], fast[0]);
  EXPECT_EQ(after[1], fast[2]);
  // Nothing is lost, and the others keep their order.
  std::vector<std::string> rest;
  for (const std::string& name : names_of(before)) {
    if (name != fast[0] && name != fast[2]) rest.push_back(name);
  }
  EXPECT_EQ(std::vector<std::string>(after.begin() + 2, after.end()), rest);
  // Another class of shapes does not see them.
  const Task other = softmax_task(64, 100000);
  EXPECT_EQ(names_of(proposals({.schedules = table(document)}, 9, 0, other)),
            names_of(proposals({}, 9, 0, other)));
}

TEST_F(Tables, ACorrectionScalesEstimatesAndLeavesTheModelsOwn) {
  Json document = table_json(h200().name);
  document["correction"]["reduction"] = {
      {"intercept", std::log(1.5)}, {"limit", 3.0}, {"coefficients", {{"no such feature", 7.0}}}};
  std::map<std::string, Proposal> before;
  for (const Proposal& p : proposals({})) before[name_of(p)] = p;
  const auto after = proposals({.schedules = table(document)});
  ASSERT_EQ(after.size(), before.size());
  for (const Proposal& p : after) {
    const Proposal& old = before.at(name_of(p));
    if (p.schedule.at("parts") != 1) continue;  // of several families
    EXPECT_NEAR(p.model_seconds / old.model_seconds, 1.5, 1e-9);
    EXPECT_EQ(p.schedule.at("model_seconds"), old.schedule.at("model_seconds"));
  }
}

TEST_F(Tables, ACorrectionReorders) {
  Json document = table_json(h200().name);
  document["correction"]["reduction"] = {
      {"intercept", 0.0}, {"limit", 3.0}, {"coefficients", {{"warps", 3.0}}}};
  const auto after = proposals({.schedules = table(document)}, 1);
  int fewest = 99;
  for (const Proposal& p : proposals({})) {
    const std::string name = name_of(p);
    fewest = std::min(fewest, std::stoi(name.substr(name.find("warps: ") + 7)));
  }
  EXPECT_NE(name_of(after.at(0)).find("warps: " + std::to_string(fewest)), std::string::npos);
}

TEST_F(Tables, OfAnotherDeviceAreNotUsed) {
  Json document = table_json("NVIDIA A100-SXM4-80GB");
  document["correction"]["reduction"] = {
      {"intercept", 1.0}, {"limit", 3.0}, {"coefficients", {{"warps", 3.0}}}};
  write("NVIDIA_A100-SXM4-80GB.json", document.dump());
  EXPECT_EQ(ScheduleTable::of_device(folder_.path(), h200()).fingerprint(), "");
  const auto before = proposals({}), after = proposals({.schedules = table(document)});
  EXPECT_EQ(names_of(before), names_of(after));
  EXPECT_EQ(before[0].model_seconds, after[0].model_seconds);
  // One under the wrong name is a mistake.
  write("NVIDIA_H200.json", document.dump());
  EXPECT_THROW(ScheduleTable::of_device(folder_.path(), h200()), InputError);
}

TEST_F(Tables, ServeDevicesOfTheirArchitectureThatHaveNone) {
  write("NVIDIA_H200.json", table_json(h200().name).dump());
  const DeviceProfile h100 = device_profile("h100");
  const ScheduleTable lent = ScheduleTable::of_device(folder_.path(), h100);
  EXPECT_EQ(lent.fingerprint(), table(table_json(h200().name)).fingerprint());
  EXPECT_TRUE(lent.serves(h100));
  EXPECT_FALSE(lent.serves(device_profile("a100")));
  EXPECT_FALSE(table(table_json("NVIDIA T4")).serves(h100));
  EXPECT_FALSE(ScheduleTable().serves(h100));
  EXPECT_EQ(ScheduleTable::of_device(folder_.path(), device_profile("a100")).fingerprint(), "");
  write("NVIDIA_H100_80GB_HBM3.json", table_json(h100.name).dump());
  EXPECT_EQ(ScheduleTable::of_device(folder_.path(), h100).fingerprint(),
            table(table_json(h100.name)).fingerprint());
}

TEST_F(Tables, FingerprintsChangeWithWhatTheySay) {
  const ScheduleTable one = table(table_json("x")), two = table(table_json("y"));
  EXPECT_NE(one.fingerprint(), two.fingerprint());
  EXPECT_EQ(make_teacher({.schedules = one})->fingerprint(), one.fingerprint());
  EXPECT_EQ(make_teacher()->fingerprint(), "");
}

TEST_F(Tables, ThatCannotBeReadSayWhereAndWhy) {
  const auto missing = std::filesystem::path(folder_.path()) / "none.json";
  try {
    ScheduleTable::read(missing);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(missing.string()), std::string::npos);
  }
  Json wrong = table_json("x");
  EXPECT_NE(complaint("{").find("bad.json"), std::string::npos);
  EXPECT_NE(complaint("[]").find("bad.json"), std::string::npos);
  wrong["format"] = "something else";
  EXPECT_NE(complaint(wrong.dump()).find("not a table of schedules"), std::string::npos);
  wrong = table_json("x");
  wrong["version"] = 2;
  EXPECT_NE(complaint(wrong.dump()).find("version"), std::string::npos);
  wrong = table_json("x");
  wrong["measured"]["reduction"]["c"] = {{{"name", 3}, {"ratio", 1.0}}};
  EXPECT_NE(complaint(wrong.dump()).find("measured.reduction.c[0].name"), std::string::npos);
  wrong = table_json("x");
  wrong["correction"]["reduction"] = {
      {"intercept", 0.0}, {"limit", 3.0}, {"coefficients", {{"warps", "many"}}}};
  EXPECT_NE(complaint(wrong.dump()).find("warps"), std::string::npos);
}

// The table that comes with the program, if there is one for the device, can be read.
TEST(Shipped, TablesCanBeRead) {
  for (const char* name : {"h200", "h100", "a100"}) {
    EXPECT_NO_THROW(ScheduleTable::of_device(default_schedule_folder(), device_profile(name)));
  }
}

class FakeMemory : public ScheduleMemory {
 public:
  std::vector<FastSchedule> fastest(const std::string& family, const std::string& c) override {
    return kept[family + "/" + c];
  }
  void learn(const std::string& family, const std::string& c,
             const std::vector<FastSchedule>& measured) override {
    kept[family + "/" + c] = measured;
  }
  std::map<std::string, std::vector<FastSchedule>> kept;
};

TEST_F(Tables, WhatWasLearnedStandsBeforeTheTable) {
  FakeMemory memory;
  const auto before = proposals({});
  Json document = table_json(h200().name);
  const std::string shape = before[0].schedule.at("class");
  document["measured"]["reduction"][shape] = {{{"name", name_of(before[9])}, {"ratio", 1.0}}};
  const TeacherOptions options{.schedules = table(document), .memory = &memory};
  const auto teacher = make_teacher(options);
  Json two_kernels = before[3].schedule;
  two_kernels["parts"] = 2;
  teacher->learn({{before[4].schedule, 2e-3}, {before[8].schedule, 1e-3}, {two_kernels, 1e-4}});
  const auto after = names_of(proposals(options));
  EXPECT_EQ(after[0], name_of(before[8]));
  EXPECT_EQ(after[1], name_of(before[4]));
  EXPECT_EQ(after[2], name_of(before[9]));
  EXPECT_DOUBLE_EQ(memory.fastest("reduction", shape).at(0).ratio, 20);  // of the task's fastest
}

std::vector<std::string> ranked(const std::vector<std::string>& precisions) {
  std::vector<Choice> choices;
  for (size_t i = 0; i < precisions.size(); ++i) {
    Choice choice;
    choice.family = "convolution";
    choice.tiling = precisions[i] + " taps, BLOCK_M=" + std::to_string(16 << i);
    choice.precision = precisions[i];
    choice.seconds = 1e-5 * std::pow(1.2, i);
    choices.push_back(choice);
  }
  rank(choices, {}, h200());
  std::vector<std::string> out;
  for (const Choice& choice : choices) out.push_back(choice.precision);
  return out;
}

TEST(Ranking, TheBestExactChoiceStandsBehindAFirstInTf32) {
  const auto all = ranked({"tf32", "tf32", "tf32", "tf32x3", "tf32", "ieee"});
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0], "tf32");
  EXPECT_EQ(all[1], "tf32x3");
  EXPECT_EQ(ranked({"tf32", "tf32", "", "ieee"})[1], "");  // a direct sum is exact
  EXPECT_EQ(ranked({"ieee", "tf32", "tf32"})[0], "ieee");
  EXPECT_EQ(ranked({"tf32", "tf32"}).size(), 2u);
}

TEST(Exploring, KeepsTheBestAndDrawsTheRestFromTheSeed) {
  const auto plain = names_of(proposals({}, 6));
  const auto one = names_of(proposals({.explore = 0.5}, 12, 1));
  const auto two = names_of(proposals({.explore = 0.5}, 12, 2));
  ASSERT_EQ(one.size(), 12u);
  EXPECT_EQ(std::vector<std::string>(one.begin(), one.begin() + 6), plain);
  EXPECT_EQ(std::vector<std::string>(two.begin(), two.begin() + 6), plain);
  EXPECT_NE(one, two);
  EXPECT_EQ(one, names_of(proposals({.explore = 0.5}, 12, 1)));
  EXPECT_EQ(std::set<std::string>(one.begin(), one.end()).size(), one.size());
}

TEST(Exploring, LeavesOutWhatIsHopeless) {
  const auto best = proposals({}, 1).at(0);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (const Proposal& p : proposals({.explore = 1.0}, 1000, seed)) {
      EXPECT_LE(p.model_seconds, 10 * best.model_seconds);
    }
  }
}

}  // namespace
}  // namespace kw::teacher
