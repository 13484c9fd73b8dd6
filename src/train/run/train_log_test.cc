#include "train/run/train_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "formats/base/error.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

// RFC 3720, B.4.
TEST(Crc32c, IsTheRfcs) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

std::string read(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(out).str();
}

TEST(TrainLog, GoesOnBehindTheStepItStartsFrom) {
  const fs::path folder = fs::path(testing::TempDir()) / "kw-train-log";
  fs::remove_all(folder);
  {
    TrainLog log(folder, 0);
    for (int64_t step = 1; step <= 5; ++step) log.write(step, "sft", {{"loss", 1.0 / step}});
  }
  std::ofstream(folder / "log.jsonl", std::ios::app) << "{\"step\": 6, \"lo";  // cut off
  {
    TrainLog log(folder, 4);
    log.write(4, "sft", {{"loss", 9.0}});
  }
  std::istringstream lines(read(folder / "log.jsonl"));
  std::vector<double> losses;
  for (std::string line; std::getline(lines, line);) losses.push_back(Json::parse(line).at("loss"));
  EXPECT_EQ(losses, (std::vector<double>{1.0, 0.5, 1.0 / 3, 9.0}));
  fs::remove_all(folder);
}

// Records as TFRecord's readers take them: length, its CRC, the message, its CRC.
TEST(TrainLog, EventsAreRecords) {
  const fs::path folder = fs::path(testing::TempDir()) / "kw-train-events";
  fs::remove_all(folder);
  TrainLog(folder, 0).write(3, "sft", {{"loss", 2.5}, {"note", "no number"}});
  std::string bytes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      bytes = read(entry.path());
    }
  }
  std::vector<std::string> messages;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    uint32_t crc = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    std::memcpy(&crc, bytes.data() + at + 8, 4);
    const uint32_t own = crc32c(bytes.substr(at, 8));
    EXPECT_EQ(crc, ((own >> 15) | (own << 17)) + 0xa282ead8U);
    messages.push_back(bytes.substr(at + 12, length));
    at += 12 + length + 4;
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_NE(messages[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(messages[1].find("sft/loss"), std::string::npos);
  EXPECT_EQ(messages[1].find("note"), std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kw::train
