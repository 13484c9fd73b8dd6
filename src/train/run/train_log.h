// The log of a run: one line of JSON a step, and the same numbers in a TensorBoard file (TFRecord
// with Event messages as in tensorflow/core/util/event.proto). Each line is flushed when it is
// written. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace kw::train {

// Returns the CRC-32C (Castagnoli) of RFC 3720.
uint32_t crc32c(std::string_view bytes);

class TrainLog {
 public:
  // Opens FOLDER/log.jsonl and a new FOLDER/events.out.tfevents.*. If the run goes on, lines of
  // steps from `from` on are removed first, as these steps are made again. Throws EnvironmentError
  // if the disk refuses.
  TrainLog(const std::filesystem::path& folder, int64_t from);
  // Appends a line. `numbers` is an object; its numeric members go to TensorBoard as "part/name".
  void write(int64_t step, const std::string& part, const Json& numbers);

 private:
  void event(const std::string& message);

  std::filesystem::path folder_;
  std::ofstream lines_, events_;
};

}  // namespace kw::train
