// Builds candidate sources with a pool's workers. Each source is recorded, and then compiled at
// once, so that recording and compiling of different sources overlap. Borrows the pool, which may
// have no other jobs meanwhile. Used by one thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/candidate_build.h"
#include "verify/options.h"

namespace kw {

class CandidateBuilder {
 public:
  struct Built {
    size_t number = 0;         // as submit() said
    std::optional<Task> task;  // canonical; or there is none:
    std::string fault;         // why, behind the stage
    bool settled = false;      // another run would meet it, too
    bool given_up = false;
  };

  CandidateBuilder(Workers& workers, const VerifyOptions& options)
      : workers_(workers), options_(options) {}
  ~CandidateBuilder() { abandon(); }
  CandidateBuilder(const CandidateBuilder&) = delete;

  size_t submit(RecordRequest request);
  bool empty() const { return jobs_.empty() && ended_.empty(); }
  // Those that have ended; where none has, waits until then for one.
  std::vector<Built> take(std::chrono::steady_clock::time_point until);
  // It ends soon, unless it has.
  void give_up(size_t number);
  // Nothing is left in the pool.
  void abandon() noexcept;

 private:
  struct Running {
    size_t number;
    CandidateBuild build;
  };
  void go_on(Running running);

  Workers& workers_;
  const VerifyOptions& options_;
  std::map<uint64_t, Running> jobs_;  // by job of the workers
  std::vector<Built> ended_;          // not taken yet
  size_t submitted_ = 0;
};

}  // namespace kw
