#include "train/data/example_stream.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "formats/base/error.h"
#include "formats/base/timed.h"
#include "synth/skeleton/random.h"
#include "train/step/streams.h"

namespace kw::train {
ExampleStream::ExampleStream(const std::vector<ExampleSource*>& sources, Options options,
                             Place from)
    : options_(options), place_(from), wanted_(from.chunk) {
  for (size_t i = 0; i < sources.size(); ++i) {
    makers_.emplace_back([this, source = sources[i], first = from.chunk + i,
                          stride = sources.size()](std::stop_token stop) {
      make_chunks(std::move(stop), *source, first, stride);
    });
  }
}

ExampleStream::~ExampleStream() {
  for (std::jthread& maker : makers_) maker.request_stop();
  changed_.notify_all();
}

ExampleStream::Chunk ExampleStream::make(ExampleSource& source, uint64_t chunk) const {
  Chunk out{source.make(chunk), 0};
  out.too_long = static_cast<int64_t>(std::erase_if(out.examples, [&](const Example& example) {
    return example.tokens.size() > options_.longest;
  }));
  shuffle(out.examples, Random(options_.seed, chunk, kOrderStream));
  return out;
}

void ExampleStream::make_chunks(std::stop_token stop, ExampleSource& source, uint64_t first,
                                uint64_t stride) {
  // This thread, and those that it starts, give way to the thread that feeds a GPU (Linux has a
  // nice value for each thread).
  setpriority(PRIO_PROCESS, 0, 10);
  try {
    for (uint64_t chunk = first; !stop.stop_requested(); chunk += stride) {
      Chunk made = make(source, chunk);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return chunk < wanted_ + options_.ahead * stride; });
      ready_[chunk] = std::move(made);
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failed_ = std::current_exception();
    changed_.notify_all();
  }
}

// Opens the next chunk; returns false if it was stopped before.
bool ExampleStream::open_next(const std::atomic<bool>& stop) {
  const Timed timed(waited_);
  std::unique_lock lock(mutex_);
  const auto there = [&] { return ready_.contains(wanted_) || failed_; };
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), there)) {
    if (stop) return false;
  }
  const auto next = ready_.extract(wanted_);
  if (!next) std::rethrow_exception(failed_);
  open_ = std::move(next.mapped());
  ++wanted_;
  changed_.notify_all();
  is_open_ = true;
  too_long_ += open_.too_long;
  unrecorded_ += open_.unrecorded;
  return true;
}

std::vector<Example> ExampleStream::next(size_t tokens, const std::atomic<bool>& stop) {
  std::vector<Example> out;
  size_t used = 0;
  int empty = 0;
  for (;;) {
    if (!is_open_ && !open_next(stop)) return {};
    if (place_.example >= open_.examples.size()) {
      if (open_.examples.empty() && ++empty == 100) {
        throw InputError("nothing of a hundred chunks gives an example of at most " +
                         std::to_string(options_.longest) +
                         " tokens: " + std::to_string(too_long_) + " examples are longer, " +
                         std::to_string(unrecorded_) + " programs were not recorded" +
                         (open_.fault.empty() ? "" : " (" + open_.fault + ")"));
      }
      ++place_.chunk;
      place_.example = 0;
      is_open_ = false;
      continue;
    }
    Example& example = open_.examples[place_.example];
    if (!out.empty() && used + example.tokens.size() > tokens) return out;
    used += example.tokens.size();
    out.push_back(example);
    ++place_.example;
    ++examples_;
    if (used >= tokens) return out;
  }
}

}  // namespace kw::train
