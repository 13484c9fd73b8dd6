// What each value of the fragment's program is while the fragment is lowered, and which of them
// were overwritten in place.
#pragma once

#include <map>
#include <set>
#include <string>

#include "teacher/nodes/builder.h"

namespace kw::teacher {

class Values {
 public:
  explicit Values(Builder& b) : b_(b) {}

  const Program& program() const { return b_.program(); }

  // Returns the tensor that a value is; null if it was not lowered.
  Tensor* find(ValueId id);
  // Returns the same for an argument of `op`; Refusal if it was not lowered or was overwritten.
  Tensor read(ValueId id, const std::string& op) const;
  void set(ValueId id, Tensor t) { tensors_[id] = std::move(t); }
  // Sets a result of a call. What the call overwrites and the result aliases changes with it.
  void set_result(const AtenCall& call, ValueId id, Tensor t);

  // The memory of `mutated` holds `t` from here on. Values that name this memory so far must not be
  // read any more.
  void overwrite(ValueId mutated, Tensor t);
  // The value may be read again, as `t`.
  void renew(ValueId id, Tensor t);
  bool is_stale(ValueId id) const { return stale_.contains(id); }
  // Returns whether the current call overwrote the value, and forgets it.
  bool take_overwritten(ValueId id) { return overwritten_.erase(id) > 0; }
  // Returns the fragment's argument all of which is overwritten with this value, or -1 for none.
  // Refusal if only a part is, or if arguments alias each other.
  int updated_argument(ValueId mutated) const;
  // By argument: what it holds in the end.
  const std::map<int, Tensor>& updates() const { return updates_; }

  // Returns whether a step or the fragment's result has the value.
  bool is_used(ValueId id) const;

 private:
  Builder& b_;
  std::map<ValueId, Tensor> tensors_;
  std::set<ValueId> stale_;        // overwritten in place since
  std::set<ValueId> overwritten_;  // by the current call, as far as it is lowered
  std::map<int, Tensor> updates_;
};

}  // namespace kw::teacher
