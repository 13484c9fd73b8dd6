// A model that answers requests of many threads. One separate thread draws all answers under way in
// one batch (generator.h). Owns model and tokenizer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "model/generator.h"
#include "policy/chat/chat_request.h"
#include "train/data/answer_format.h"
#include "train/run/host_memory.h"
#include "worker/process/unique_fd.h"

namespace kw::train {

struct AnswererOptions {
  int64_t rows = 16;    // answers under way in the batch; on a CPU as many as rows_that_fit
  int64_t context = 0;  // positions of a prompt and its answer; 0: the model's, at most 8192
  std::string device = "auto";    // cpu, cuda
  double memory = host_memory();  // bytes of the host; they limit the rows on a CPU
};

// Returns how many of these rows have caches within a quarter of the memory, at least one. If a
// host's memory is used up, the kernel kills some process.
int64_t rows_that_fit(int64_t rows, int64_t bytes_of_row, double memory);

class Answerer {
 public:
  // Loads a Hugging Face folder. Throws InputError if it has no model that answers tasks.
  Answerer(const std::filesystem::path& folder, const AnswererOptions& options);
  ~Answerer();

  // Waits for the answer; any thread. `wanted`, if given, is asked now and then, and an answer that
  // is not wanted any more is not drawn further. Throws InputError for a request that cannot be
  // answered, such as a task that leaves no room in the context. Throws EnvironmentError if nothing
  // is answered any more, or the answer is not wanted.
  ChatCompletion answer(const ChatRequest& request, const std::function<bool()>& wanted = {});
  // Ends all answering; each waiting caller gets an EnvironmentError.
  void stop();

  // Readable once the answerer has stopped because its device failed; fault() says why.
  int fault_fd() const { return fault_fd_.get(); }
  std::string fault() const;
  std::string description() const;  // "qwen3, 25.1 M parameters, cpu, 16 rows of 4096 positions"

 private:
  struct Waiting {
    GenerationRequest request;
    std::promise<Generation> promise;
    std::shared_ptr<std::atomic<bool>> unwanted = std::make_shared<std::atomic<bool>>(false);
  };
  void live();
  void draw(Generator& generator);
  void drop_unwanted(Generator& generator);
  std::deque<Waiting> next(bool idle);
  void end(const std::string& fault);

  const Tokenizer tokenizer_;
  const AnswerFormat format_;
  const Transformer model_;
  GeneratorOptions generation_;
  UniqueFd fault_fd_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  bool stopped_ = false;
  std::string fault_;
  std::map<size_t, Waiting> drawn_;  // used by the thread alone
  std::thread thread_;               // last: it uses the others
};

}  // namespace kw::train
