// A thread that does what others ask, while they wait.
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
  // Trials are asked for one by one where several candidates wait. What has no rank comes first,
  // then trials whose reference side is the one that was needed last, so that candidates of one
  // reference share it even where it is kept for none of them; then who has had fewer trials.
  struct Rank {
    size_t trials = 0;
    ReferenceKey reference;
  };

  ServingThread() : thread_([this] { serve(); }) {}
  ~ServingThread();
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;

  // What `work` returns or throws.
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
  Asked next();  // of the queue, which is not empty

  std::mutex mutex_;
  std::condition_variable news_;
  std::list<Asked> queue_;
  std::optional<ReferenceKey> last_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace kw
