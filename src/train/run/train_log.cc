#include "train/run/train_log.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <sstream>

#include "formats/base/error.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class T>
std::string bytes_of(T value) {
  static_assert(std::endian::native == std::endian::little);
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

// The functions below write the wire format of Protocol Buffers.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string varint_field(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}
std::string double_field(int field, double value) {
  return varint(static_cast<uint64_t>(field) << 3 | 1) + bytes_of(value);
}
std::string bytes_field(int field, std::string_view value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + std::string(value);
}
std::string float_field(int field, float value) {
  return varint(static_cast<uint64_t>(field) << 3 | 5) + bytes_of(value);
}

// Returns the CRC as TFRecord masks it, since it is stored together with the bytes that it covers.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

// Returns the lines of steps before `from`, and lines without a step.
std::string kept(const fs::path& path, int64_t from) {
  std::ifstream in(path);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("step") && json.at("step").is_number_integer() &&
        json.at("step").get<int64_t>() < from) {
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> out{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
      out[i] = crc;
    }
    return out;
  }();
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<uint8_t>(c)) & 255] ^ crc >> 8;
  return ~crc;
}

TrainLog::TrainLog(const fs::path& folder, int64_t from) : folder_(folder) {
  fs::create_directories(folder);
  const fs::path whole = folder / "log.jsonl", half = folder / ".log.jsonl.half";
  std::ofstream before(half, std::ios::trunc);
  if (!(before << kept(whole, from)).flush()) {
    throw EnvironmentError("cannot write into " + folder.string());
  }
  fs::rename(half, whole);  // so that the old lines are never lost
  lines_.open(whole, std::ios::app);
  const auto stamp = static_cast<int64_t>(now() * 1e6);
  events_.open(folder / ("events.out.tfevents." + std::to_string(stamp) + ".kernelwright"),
               std::ios::binary);
  if (!lines_ || !events_) throw EnvironmentError("cannot write into " + folder.string());
  event(double_field(1, now()) + bytes_field(3, "brain.Event:2"));
}

void TrainLog::event(const std::string& message) {
  const std::string length = bytes_of(static_cast<uint64_t>(message.size()));
  events_ << length << bytes_of(masked(crc32c(length))) << message
          << bytes_of(masked(crc32c(message))) << std::flush;
}

void TrainLog::write(int64_t step, const std::string& part, const Json& numbers) {
  Json line = {{"step", step}, {"part", part}};
  line.update(numbers);
  lines_ << line.dump() << "\n" << std::flush;
  std::string summary;
  for (const auto& [name, value] : numbers.items()) {
    if (!value.is_number()) continue;
    summary += bytes_field(1, bytes_field(1, part + "/" + name) +
                                  float_field(2, static_cast<float>(value.get<double>())));
  }
  event(double_field(1, now()) + varint_field(2, static_cast<uint64_t>(step)) +
        bytes_field(5, summary));
  if (!lines_ || !events_) throw EnvironmentError("cannot write into " + folder_.string());
}

}  // namespace kw::train
