#include "train/example_stream.h"

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "formats/error.h"
#include "synth/random.h"

namespace kw {
namespace {

constexpr uint64_t kOrderStream = 103;

}  // namespace

ExampleStream::ExampleStream(PairSource& pairs, const AnswerFormat& format, Options options,
                             Place from)
    : pairs_(pairs), format_(format), options_(options), place_(from) {
  maker_ = std::jthread(
      [this, first = from.chunk](std::stop_token stop) { make_chunks(std::move(stop), first); });
}

ExampleStream::~ExampleStream() {
  maker_.request_stop();
  changed_.notify_all();
}

// Shuffled as Fisher and Yates did.
ExampleStream::Chunk ExampleStream::make(uint64_t chunk) const {
  Chunk out;
  const uint64_t begin = chunk * options_.programs;
  for (const Pair& pair : pairs_.make(begin, begin + options_.programs)) {
    Example example = format_.example(pair.prompt, pair.plan, pair.code);
    if (example.tokens.size() > options_.longest) {
      ++out.too_long;
    } else {
      out.examples.push_back(std::move(example));
    }
  }
  Random random(options_.seed, chunk, kOrderStream);
  for (size_t i = out.examples.size(); i > 1; --i) {
    std::swap(out.examples[i - 1], out.examples[random.below(i)]);
  }
  return out;
}

void ExampleStream::make_chunks(std::stop_token stop, uint64_t first) {
  try {
    for (uint64_t chunk = first; !stop.stop_requested(); ++chunk) {
      Chunk made = make(chunk);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return ready_.size() < options_.ahead; });
      ready_.push_back(std::move(made));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failed_ = std::current_exception();
    changed_.notify_all();
  }
}

void ExampleStream::open_next() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || failed_; });
  if (ready_.empty()) std::rethrow_exception(failed_);
  open_ = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  is_open_ = true;
  too_long_ += open_.too_long;
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Example> ExampleStream::next(size_t tokens) {
  std::vector<Example> out;
  size_t used = 0;
  int empty = 0;
  for (;;) {
    if (!is_open_) open_next();
    if (place_.example >= open_.examples.size()) {
      if (open_.examples.empty() && ++empty == 100) {
        throw InputError("no program of a hundred chunks gives an example of at most " +
                         std::to_string(options_.longest) + " tokens");
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

}  // namespace kw
