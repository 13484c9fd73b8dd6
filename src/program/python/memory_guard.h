// What optimized.py asks of the memory of its tensors: ties, views of one storage, and places that
// must lie apart, because forward writes to them or compared addresses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "program/python/step_writer.h"

namespace kw {

// Borrows the Task.
class MemoryGuard {
 public:
  explicit MemoryGuard(const Task& task);

  // A further name of a tensor: `value` is an input of forward.
  struct Tie {
    std::string name, qualified;
    ValueId value;
  };
  // Ties of premises, whose numbers matter alone: a model that is moved has a copy for each name.
  const std::vector<Tie>& tied_tables() const { return tables_; }

  // All ties, in the order of ties().
  std::vector<Tie> all_ties() const;
  // Whether places_differ() asks of arguments of forward, which are others in each call.
  bool asks_arguments() const;

  // The class's attribute _kw_places; empty where memory does not matter.
  std::string attribute() const;
  // The functions that the conditions call.
  std::string functions() const;
  // Statements that bind the further names of tied tensors, which have the prefix `indent`.
  std::string ties(const std::string& indent) const;
  // Conditions, by the names that `writer` gave the inputs of forward; empty where it does not
  // matter. That a further name is of another tensor than recorded:
  std::string names_differ(const StepWriter& writer) const;
  // That tensors lie in memory otherwise than recorded:
  std::string places_differ(const StepWriter& writer) const;

 private:
  struct Place {
    ValueId value;
    int storage;     // from 0; those that must lie apart from all others come first
    int64_t offset;  // in the storage, in bytes
  };
  void find_ties();
  void find_places();

  const Task& task_;
  std::vector<Tie> ties_, tables_;
  std::vector<Place> places_;
  int apart_ = 0;  // how many storages must lie apart from all others
};

}  // namespace kw
