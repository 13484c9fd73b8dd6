// Examples without end, made while the model learns of earlier ones. They come in chunks, each of
// which is shuffled by its number. So the order hangs on the seed alone, and a place in it is two
// numbers: a run goes on from where it was stopped.
//
// Borrows everything. Each source has a thread of its own and makes every so-manieth chunk: of the
// teacher's pairs, with two or three, one draws and writes kernels while another waits for what is
// recorded.
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

namespace kw {

class ExampleStream {
 public:
  struct Place {
    uint64_t chunk = 0, example = 0;  // the next one
  };
  struct Options {
    size_t longest = 4096;  // tokens; longer examples are left out
    size_t ahead = 2;       // chunks of each source that wait
    uint64_t seed = 1;      // of the order
  };

  // `sources` make the same chunks, one or more.
  ExampleStream(const std::vector<ExampleSource*>& sources, Options options, Place from);
  ~ExampleStream();
  ExampleStream(const ExampleStream&) = delete;
  ExampleStream& operator=(const ExampleStream&) = delete;

  // The next examples, of so many tokens at most; one at least, none when `stop` is set meanwhile.
  // Throws what the making of chunks threw, InputError where a hundred chunks give no example.
  std::vector<Example> next(size_t tokens, const std::atomic<bool>& stop);
  Place place() const { return place_; }
  // Of all so far.
  int64_t examples() const { return examples_; }
  int64_t too_long() const { return too_long_; }
  int64_t unrecorded() const { return unrecorded_; }  // programs: a fault of the machine
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
  uint64_t wanted_;                  // the number of the next
  std::exception_ptr failed_;
  std::vector<std::jthread> makers_;
};

}  // namespace kw
