// Sources: what a task's inputs are made of. A source is a tensor that a step makes of no tensor: a
// draw, a range, or numbers in the text. A trial changes the whole numbers and flags among them,
// and runs the other steps on what it changed. So what belongs together (lengths, offsets, masks)
// still does.
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

// What a trial may do to the whole numbers and flags of a source.
enum class SourceChange {
  kEnds,     // put the ends of the range that they are drawn from
  kNamed,    // put numbers that the program names: compares with, or ignores
  kShuffle,  // change their order, and repeat some
  kOther     // make some numbers smaller, and of equal flags some the others; numbers in order
             // stay in order, between the first and the last
};

struct Source {
  ValueId id;
  AtenCall maker;
  bool apart = false;  // its numbers differ from one another
};

// A Program of inputs in two parts. `made` returns the sources. `rest` takes the Program's inputs,
// then the sources, and returns what the whole returns.
struct SourcedInputs {
  Program made, rest;
  std::vector<Source> sources;
};
SourcedInputs split_sources(const Program& inputs);

// Returns for each input whether it is a table: floating, and computed of numbers in the text
// alone, such as sines of positions. Its elements may belong together, as halves that repeat do.
std::vector<bool> are_tables(const Program& inputs);

// Returns whether a change may say something: `source` holds whole numbers or flags of the kind.
// Numbers in the text that are in order stay, because they may be offsets.
bool applies(SourceChange change, const Program& made, const Source& source);

// Returns the changes that may say something of a task: some source is of the kind, and a CPU can
// run its forward, which tells whether the task takes the changed inputs.
std::vector<SourceChange> source_changes(const Task& task);

// Returns the whole numbers that a program compares with, or ignores in a loss, and those beside
// the limits that it names; sorted.
std::vector<int64_t> named_integers(const Program& forward);

// Returns whether a program writes by an index where the last of several writes counts.
bool writes_by_index(const Program& forward);

}  // namespace kw
