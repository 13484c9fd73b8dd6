// An endless stream of examples, made while the model learns from earlier ones. They come in
// chunks, and each chunk is shuffled by its number. So the order depends on the seed alone, and a
// place in it is two numbers, from which a stopped run goes on.
//
// Borrows everything. Each of N sources has a separate thread and makes every N-th chunk. With two
// or three sources of the teacher's pairs, one draws and writes kernels while another waits for
// recordings.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "train/data/example_source.h"

namespace kw::train {

class ExampleStream {
 public:
  struct Place {
    uint64_t chunk = 0, example = 0;  // the next one
  };
  struct Options {
    size_t longest = 4096;  // tokens; longer examples are left out
    size_t ahead = 2;       // finished chunks of each source that may wait
    uint64_t seed = 1;      // of the order
  };

  // Takes one or more sources, all of which make the same chunks.
  ExampleStream(const std::vector<ExampleSource*>& sources, Options options, Place from);
  ~ExampleStream();
  ExampleStream(const ExampleStream&) = delete;
  ExampleStream& operator=(const ExampleStream&) = delete;

  // Returns the next examples: at most `tokens` tokens, but at least one example, or none if `stop`
  // is set meanwhile. Rethrows what a source threw. Throws InputError if a hundred chunks give no
  // example.
  std::vector<Example> next(size_t tokens, const std::atomic<bool>& stop);
  Place place() const { return place_; }
  // Counts of all examples so far.
  int64_t examples() const { return examples_; }
  int64_t too_long() const { return too_long_; }
  int64_t unrecorded() const { return unrecorded_; }  // programs; a fault of the machine
  double waited_seconds() const { return waited_; }

 private:
  struct Chunk : ExampleChunk {
    int64_t too_long = 0;
  };
  void make_chunks(std::stop_token stop, ExampleSource& source, uint64_t first, uint64_t stride);
  Chunk make(ExampleSource& source, uint64_t chunk) const;
  bool open_next(const std::atomic<bool>& stop);

  const Options options_;
  Place place_;
  Chunk open_;
  bool is_open_ = false;
  int64_t examples_ = 0, too_long_ = 0, unrecorded_ = 0;
  double waited_ = 0;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<uint64_t, Chunk> ready_;  // by number
  uint64_t wanted_;                  // the number of the next chunk
  std::exception_ptr failed_;
  std::vector<std::jthread> makers_;
};

}  // namespace kw::train
