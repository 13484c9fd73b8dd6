// One model on several devices (data parallelism): each device works on a part of a batch with
// equal parameters. The first is the model itself, which the optimizer changes; the others are
// copies that follow it.
//
// Borrows the model; owns the copies, and a thread for each. One caller at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "model/transformer.h"
#include "worker/work_thread.h"

namespace kw::train {

class Replicas {
 public:
  // Uses the model's device and the devices of the same kind with the next numbers; a CPU counts as
  // any number of devices. Throws EnvironmentError if there are fewer. A copy's parameters require
  // gradients if the model's do now.
  explicit Replicas(const Transformer& model, int64_t devices = 1);

  size_t size() const { return 1 + copies_.size(); }
  const Transformer& first() const { return model_; }
  const std::vector<std::unique_ptr<Transformer>>& copies() const { return copies_; }

  // Calls work(model, i) for each i below `count` (at most size()) at the same time, each with
  // another model, the first on this thread. Returns when all are done. Throws the exception of the
  // first call that failed.
  void each(size_t count, const std::function<void(const Transformer&, size_t)>& work);
  // Copies the model's parameters to the copies.
  void follow();

 private:
  const Transformer& model_;
  std::vector<std::unique_ptr<Transformer>> copies_;
  std::vector<std::unique_ptr<WorkThread>>
      threads_;  // one for each copy; last: they use the others
};

}  // namespace kw::train
