// The head numbers of what a file of tasks covers, and how a terminal and the page word them.
#pragma once

#include <string>
#include <vector>

#include "report/synth/synth_coverage.h"

namespace kw {

// A pair of places in synth_operators().
struct OperatorPair {
  size_t producer = 0, consumer = 0;
};

struct SynthSummary {
  explicit SynthSummary(const SynthCoverage& coverage);

  int64_t structures = 0, repeats = 0;      // that differ; rows whose structure an earlier row has
  size_t operators = 0, all_operators = 0;  // that occur, that there are
  size_t pairs = 0, all_pairs = 0;          // that occur, that can
  std::vector<OperatorPair> missing;        // that can and do not, in the order of the table
  size_t missing_held_out = 0;              // of those, pairs that the split `unseen` alone has
  int64_t rejected = 0;
};

// "train (15), test (3)", most first; the name alone where there is one.
std::string counts_text(const std::map<std::string, int64_t>& counts);
// "level 5", "levels 1 (100), 5 (20)".
std::string levels_text(const Histogram& levels);
// "2^10", and "0" for kNoFlops.
std::string octave_text(int64_t octave);
// "12 in no program, 3 of them held out for unseen"; empty where all occur.
std::string missing_text(const SynthSummary& summary);

// What was examined, and what of it was no task, by flaw and by operator; empty where nothing was.
std::string examined_text(const SynthCoverage& coverage);
// For the terminal: a few lines.
std::string summary_text(const SynthCoverage& coverage);

}  // namespace kw
