#pragma once

#include "runtime/executor.h"

namespace kw {

// A candidate that the executor has as long as this is there, also if a trial throws.
class HeldTask {
 public:
  HeldTask(Executor& executor, const Task& candidate)
      : executor_(executor), id_(executor.load(candidate)) {}
  ~HeldTask() { executor_.unload(id_); }
  HeldTask(const HeldTask&) = delete;
  HeldTask& operator=(const HeldTask&) = delete;

  int id() const { return id_; }

 private:
  Executor& executor_;
  const int id_;
};

}  // namespace kw
