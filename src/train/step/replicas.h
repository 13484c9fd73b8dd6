// One model on several devices (data parallelism): each works on a part of a batch with parameters
// that are the same. The first is the model itself, which is what an optimizer changes; the others
// are copies, which take over what it has become.
//
// Borrows the model; owns the copies, and a thread for each. One caller at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "model/transformer.h"
#include "worker/work_thread.h"

namespace kw {

class Replicas {
 public:
  // On the model's own device and those of the same kind with the next numbers; a CPU counts as
  // many as are asked for. EnvironmentError where there are fewer. Copies learn what the model's
  // parameters learn (requires_grad) by now.
  explicit Replicas(const Transformer& model, int64_t devices = 1);

  size_t size() const { return 1 + copies_.size(); }
  const Transformer& first() const { return model_; }
  const std::vector<std::unique_ptr<Transformer>>& copies() const { return copies_; }

  // Calls work(model, i) for i below `count` (size() at most) at the same time, each with another
  // model, the first on this thread; back when all are done. Throws what the first that failed did.
  void each(size_t count, const std::function<void(const Transformer&, size_t)>& work);
  // The copies' parameters are the model's again.
  void follow();

 private:
  const Transformer& model_;
  std::vector<std::unique_ptr<Transformer>> copies_;
  std::vector<std::unique_ptr<WorkThread>> threads_;  // of the copies; last: they use the others
};

}  // namespace kw
