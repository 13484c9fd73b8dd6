#include "train/serve/answerer.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/model_folder.h"
#include "train/step/placement.h"

namespace kw::train {
namespace {

constexpr int64_t kUsualContext =
    8192;  // a cache for all that a large model could hold is too much
constexpr std::chrono::milliseconds kLook{
    200};  // between two questions whether an answer is wanted
constexpr char kEnding[] = "the server is ending";

Tokenizer tokenizer_of(const std::filesystem::path& folder) {
  const std::filesystem::path path = find_model(folder).tokenizer;
  return Tokenizer(read_file(path), path.string());
}

// Loads the model. An adapter's base may end its turns by another token than answers do.
Transformer model_of(const std::filesystem::path& folder, const at::TensorOptions& options,
                     TokenId end) {
  Transformer out(folder, options);
  out.end_at(end);
  return out;
}

uint64_t some_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace

int64_t rows_that_fit(int64_t rows, int64_t bytes_of_row, double memory) {
  const double fit = memory / 4 / static_cast<double>(bytes_of_row);
  return fit < static_cast<double>(rows) ? std::max<int64_t>(1, static_cast<int64_t>(fit)) : rows;
}

Answerer::Answerer(const std::filesystem::path& folder, const AnswererOptions& options)
    : tokenizer_(tokenizer_of(folder)),
      format_(tokenizer_),
      model_(model_of(folder, placed(options.device), format_.end())),
      fault_fd_(::eventfd(0, EFD_CLOEXEC)) {
  const ModelConfig& config = model_.config();
  if (tokenizer_.size() > config.vocabulary) {
    throw InputError(folder.string() + ": the tokenizer has " + std::to_string(tokenizer_.size()) +
                     " tokens, the model knows " + std::to_string(config.vocabulary));
  }
  generation_.context = options.context ? std::min(options.context, config.context)
                                        : std::min(config.context, kUsualContext);
  generation_.rows = options.rows;
  if (model_.device().is_cpu()) {
    generation_.rows =
        rows_that_fit(options.rows, model_.cache_bytes(generation_.context), options.memory);
  }
  thread_ = std::thread([this] { live(); });
}

Answerer::~Answerer() {
  stop();
  thread_.join();
}

void Answerer::stop() { end(kEnding); }

std::string Answerer::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

std::string Answerer::description() const {
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "%.1f M parameters, %s, %lld rows of %lld positions",
                static_cast<double>(model_.config().parameters()) * 1e-6,
                model_.device().is_cuda() ? "cuda" : "cpu",
                static_cast<long long>(generation_.rows),
                static_cast<long long>(generation_.context));
  return model_.config().type + ", " + numbers;
}

ChatCompletion Answerer::answer(const ChatRequest& asked, const std::function<bool()>& wanted) {
  Waiting waiting;
  GenerationRequest& request = waiting.request;
  request.prompt = format_.prompt(asked.text);
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (length >= generation_.context) {
    throw InputError("the task has " + std::to_string(length) +
                     " tokens, which leaves no room for an answer in the context of " +
                     std::to_string(generation_.context));
  }
  request.max_tokens = asked.max_tokens ? asked.max_tokens : generation_.context;
  request.temperature = asked.temperature;
  request.top_p = asked.top_p;
  request.seed = asked.seed ? *asked.seed : some_seed();
  std::future<Generation> made = waiting.promise.get_future();
  const auto unwanted = waiting.unwanted;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) throw EnvironmentError(fault_);
    queue_.push_back(std::move(waiting));
    changed_.notify_one();
  }
  while (wanted && made.wait_for(kLook) == std::future_status::timeout) {
    if (!wanted()) *unwanted = true;
  }
  const Generation generation = made.get();
  ChatCompletion out;
  out.text = format_.text(generation.tokens);
  out.cut = generation.end == Generation::End::kLength;
  out.prompt_tokens = length;
  out.completion_tokens = static_cast<int64_t>(generation.tokens.size());
  return out;
}

// Returns the requests that have come; waits for one if `idle`.
std::deque<Answerer::Waiting> Answerer::next(bool idle) {
  std::unique_lock lock(mutex_);
  if (idle) changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
  return std::exchange(queue_, {});
}

void Answerer::drop_unwanted(Generator& generator) {
  for (auto it = drawn_.begin(); it != drawn_.end();) {
    Waiting& waiting = it->second;
    if (!*waiting.unwanted) {
      ++it;
      continue;
    }
    generator.cancel(it->first);
    waiting.promise.set_exception(
        std::make_exception_ptr(EnvironmentError("nobody waits for the answer")));
    it = drawn_.erase(it);
  }
}

void Answerer::draw(Generator& generator) {
  while (true) {
    std::deque<Waiting> come = next(generator.idle());
    for (Waiting& waiting : come) {
      try {
        const size_t number = generator.submit(std::move(waiting.request));
        drawn_.emplace(number, std::move(waiting));
      } catch (const InputError&) {
        waiting.promise.set_exception(std::current_exception());
      }
    }
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    drop_unwanted(generator);
    for (auto& [number, made] : generator.advance()) {
      const auto whose = drawn_.find(number);
      whose->second.promise.set_value(std::move(made));
      drawn_.erase(whose);
    }
  }
}

void Answerer::live() {
  try {
    Generator generator(model_, tokenizer_, generation_);
    draw(generator);
    end(kEnding);
  } catch (const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    end(std::string("the model cannot answer: ") +
        (torch_error ? torch_error->what_without_backtrace() : error.what()));
    const uint64_t one = 1;
    (void)!::write(fault_fd_.get(), &one, sizeof one);
  }
  const auto told = std::make_exception_ptr(EnvironmentError(fault()));
  for (auto& [number, waiting] : drawn_) waiting.promise.set_exception(told);
}

// Ends answering; the first reason counts. Callers in the queue are told at once, and callers whose
// answers are being drawn are told by the thread.
void Answerer::end(const std::string& fault) {
  const std::lock_guard lock(mutex_);
  if (!stopped_) fault_ = fault;
  stopped_ = true;
  const auto told = std::make_exception_ptr(EnvironmentError(fault_));
  for (Waiting& waiting : queue_) waiting.promise.set_exception(told);
  queue_.clear();
  changed_.notify_all();
}

}  // namespace kw::train
