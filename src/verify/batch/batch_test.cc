// Results of a batch as lines: what they say of exports that were recorded again.
#include "verify/batch/batch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "verify/batch/batch_file.h"

namespace kw {
namespace {

BatchItem item(const std::string& id) {
  BatchItem out;
  out.id = id;
  out.candidate.text = "candidate " + id;
  return out;
}

BatchResult result(const BatchItem& of, std::optional<std::string> again,
                   const std::string& same_as = "") {
  BatchResult out;
  out.item = &of;
  out.verdict.outcome = Verdict::Outcome::kAccepted;
  out.recorded_again = std::move(again);
  out.same_as = same_as;
  return out;
}

TEST(RecordedAgain, CountsEachExportOnce) {
  const BatchItem a = item("a");
  RecordedAgain counts;
  counts.add(to_json(result(a, std::nullopt)));
  counts.add({{"id", "a"}, {"fault", "the reference is broken"}});
  counts.add({{"id", "a"}, {"outcome", "accepted"}});  // of an earlier version
  EXPECT_EQ(counts.count, 0u);
  counts.add(to_json(result(a, "")));
  counts.add(to_json(result(a, "", "b")));
  EXPECT_EQ(counts.count, 1u);
  EXPECT_EQ(counts.equal, 1u);
  counts.add(to_json(result(a, "records as another one")));
  EXPECT_EQ(counts.count, 2u);
  EXPECT_EQ(counts.equal, 1u);
  EXPECT_EQ(to_json(result(a, "")).at("recorded_again"), "equal");
}

TEST(RecordedAgain, IsCountedOfARunThatGoesOn) {
  const auto path = std::filesystem::path(testing::TempDir()) / "kw-recorded-again.jsonl";
  std::filesystem::remove(path);
  const std::vector<BatchItem> items = {item("a"), item("b")};
  BatchResults(path, items).append(result(items[0], ""));
  BatchResults next(path, items);
  EXPECT_EQ(next.recorded_again().count, 1u);
  next.append(result(items[1], "why"));
  EXPECT_EQ(next.recorded_again().count, 2u);
  EXPECT_EQ(next.recorded_again().equal, 1u);
  std::filesystem::remove(path);
}

TEST(Sanitized, CountsRunsAndFindings) {
  const BatchItem a = item("a");
  const auto with = [&](const Json& report, const std::string& same_as = "") {
    BatchResult out = result(a, std::nullopt, same_as);
    out.verdict.stages = {{Stage::kCorrect, true, "", {{"sanitizer", report}}, 0}};
    return to_json(out);
  };
  const Json clean = {{"findings", Json::array()}, {"seconds", 2}};
  Json found = clean, failed = clean;
  found["findings"].push_back({{"tool", "memcheck"}});
  failed["fault"] = "memcheck: did not end";
  Sanitized counts;
  counts.add(to_json(result(a, std::nullopt)));
  counts.add({{"id", "a"}, {"fault", "the reference is broken"}});
  EXPECT_EQ(counts.count, 0u);
  counts.add(with(clean));
  counts.add(with(found));
  counts.add(with(found, "b"));
  counts.add(with(failed));
  EXPECT_EQ(counts.count, 3u);
  EXPECT_EQ(counts.found, 1u);
  EXPECT_EQ(counts.failed, 1u);
}

TEST(BatchItems, DependOnTheModulesThatTheyMayImport) {
  BatchItem with = item("a");
  const std::string before = with.digest();
  with.candidate.modules = "one";
  const std::string one = with.digest();
  with.candidate.modules = "two";
  EXPECT_NE(one, before);
  EXPECT_NE(with.digest(), one);
  with.candidate.modules = "";
  with.reference.modules = "one";
  EXPECT_NE(with.digest(), before);
}

}  // namespace
}  // namespace kw
