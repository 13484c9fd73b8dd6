// Finds the tensors of a candidate's state in the reference's (adopt.h says by which rules).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/rewrite/step_history.h"

namespace kw {

// Returns whether dtype, shape, strides and offset agree.
bool same_metadata(const Value& a, const Value& b);

// Borrows both Tasks.
class StateMatch {
 public:
  StateMatch(const Task& reference, const Task& candidate);

  // Returns whether all tensors that the candidate uses have been found. If not, fault() says why.
  bool find();
  const std::string& fault() const { return fault_; }

  bool is_used(size_t entry) const { return used_[entry]; }
  // The entry of the reference that an entry of the candidate is; -1: it is made by steps().
  int entry(size_t entry) const { return entries_[entry]; }
  // Steps of the candidate's constructor that make the entries that are none of the reference's.
  const std::set<int>& steps() const { return steps_; }
  // Entries of the reference that the candidate read on the host.
  const std::set<int>& premises() const { return premises_; }
  // What these steps find: values of the constructor, each an entry of the reference.
  struct Found {
    ValueId value;
    int entry;
    bool changed;  // by steps()
  };
  std::vector<Found> found() const;

 private:
  ValueId our_value(size_t entry) const { return candidate_.init.outputs[entry]; }
  int our_storage(ValueId id) const { return candidate_.init.values[id].storage; }

  void match_names();
  void match_lineages();
  void match(size_t entry, int theirs);
  void hold(int storage, ValueId value, int since, int theirs);
  int take(const std::string& lineage, size_t entry, bool drawn, bool in_order);
  const std::vector<int>& their_entries(const std::string& lineage);
  bool make_of_steps(size_t entry);
  bool find_premises();
  bool hold_drawn(int draw, const std::vector<int>& steps, size_t entry);
  std::vector<ValueId> values_in(int storage, int last) const;
  bool may_be_theirs(ValueId value) const;

  const Task &reference_, &candidate_;
  const StepHistory their_steps_, our_steps_;  // of the constructors
  std::vector<int> entries_;
  const std::vector<bool> used_, used_by_them_;
  std::set<int> our_written_, their_written_;  // storages that a call of forward writes
  std::set<int> taken_;                        // entries of the reference
  KnownStorages known_;                        // of the candidate's constructor
  std::map<ValueId, int> held_;                // a value of known_ -> the entry of the reference
  std::set<int> steps_, premises_;
  std::map<std::string, std::vector<int>> lineages_;  // entries of the reference, once asked for
  std::string fault_;
};

}  // namespace kw
