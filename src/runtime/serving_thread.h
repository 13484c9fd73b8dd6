// A thread that runs the work of others while they wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/protocol.h"

namespace kw {

class ServingThread {
 public:
  // Orders the trials of waiting candidates. Work without a rank comes first. Then come trials that
  // need the same reference side as the last one, so that candidates share it even if it is not
  // kept. Then come the candidates that have had fewer trials.
  struct Rank {
    size_t trials = 0;
    ReferenceKey reference;
  };

  ServingThread() : thread_([this] { serve(); }) {}
  ~ServingThread();
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;

  // Runs `work` on the thread. Returns or throws what it does.
  template <class Work>
  auto call(std::optional<Rank> rank, Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    post({std::move(rank), [&task] { task(); }});  // it outlives the wait
    return result.get();
  }

 private:
  struct Asked {
    std::optional<Rank> rank;
    std::function<void()> work;  // none: the end
  };
  void post(Asked asked);
  void serve();
  Asked next();  // takes it from the queue, which must not be empty

  std::mutex mutex_;
  std::condition_variable news_;
  std::list<Asked> queue_;
  std::optional<ReferenceKey> last_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace kw
