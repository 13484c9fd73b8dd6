// What a run writes down of each step: a line of JSON, and the same numbers in a TensorBoard file
// (records of TFRecord with Event messages, as tensorflow/core/util/event.proto has them). Lines
// are flushed as they come. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace kw {

// CRC-32C (Castagnoli), as RFC 3720 has it.
uint32_t crc32c(std::string_view bytes);

class TrainLog {
 public:
  // Writes FOLDER/log.jsonl and a new FOLDER/events.out.tfevents.*. Of a run that goes on, lines of
  // steps from `from` on are dropped first: they are made again. EnvironmentError.
  TrainLog(const std::filesystem::path& folder, int64_t from);
  // `numbers` is an object; what of it are numbers goes to TensorBoard, by "part/name".
  void write(int64_t step, const std::string& part, const Json& numbers);

 private:
  void event(const std::string& message);

  std::filesystem::path folder_;
  std::ofstream lines_, events_;
};

}  // namespace kw
