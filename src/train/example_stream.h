// Examples without end, made of pairs while the model learns of earlier ones. Programs go in chunks
// of a fixed number; the examples of a chunk are shuffled by its number. So the order hangs on the
// seed alone, and a place in it is two numbers: a run goes on from where it was stopped.
//
// Borrows everything. Each source of pairs has a thread of its own and makes every so-manieth
// chunk: with two or three, one draws and writes kernels while another waits for what is recorded.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "train/answer_format.h"
#include "train/pairs.h"

namespace kw {

class ExampleStream {
 public:
  struct Place {
    uint64_t chunk = 0, example = 0;  // the next one
  };
  struct Options {
    uint64_t programs = 512;  // of a chunk
    size_t longest = 4096;    // tokens; longer examples are left out
    size_t ahead = 2;         // chunks of each source that wait
    uint64_t seed = 1;        // of the order
  };

  // `sources` make the same pairs, one or more.
  ExampleStream(const std::vector<PairSource*>& sources, const AnswerFormat& format,
                Options options, Place from);
  ~ExampleStream();
  ExampleStream(const ExampleStream&) = delete;
  ExampleStream& operator=(const ExampleStream&) = delete;

  // The next examples, of so many tokens at most; one at least, none when `stop` is set meanwhile.
  // Throws what the making of pairs threw, InputError where a hundred chunks give no example.
  std::vector<Example> next(size_t tokens, const std::atomic<bool>& stop);
  Place place() const { return place_; }
  // Of all so far.
  int64_t examples() const { return examples_; }
  int64_t too_long() const { return too_long_; }
  int64_t unrecorded() const { return unrecorded_; }  // programs: a fault of the machine
  double waited_seconds() const { return waited_; }

 private:
  struct Chunk {
    std::vector<Example> examples;
    int64_t too_long = 0, unrecorded = 0;
    std::string fault;  // of the first that was not recorded
  };
  void make_chunks(std::stop_token stop, PairSource& source, uint64_t first, uint64_t stride);
  Chunk make(PairSource& source, uint64_t chunk) const;
  bool open_next(const std::atomic<bool>& stop);

  const AnswerFormat& format_;
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
