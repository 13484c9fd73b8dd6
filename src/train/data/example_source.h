// Where examples come from: chunks by number, each the same whenever it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/chat/conversation.h"
#include "train/data/answer_format.h"
#include "train/data/pairs.h"

namespace kw {

struct ExampleChunk {
  std::vector<Example> examples;
  int64_t unrecorded = 0;  // programs: a fault of the machine
  std::string fault;       // of the first that was not recorded
};

class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual ExampleChunk make(uint64_t chunk) = 0;
};

// What the teacher writes for `programs` programs a chunk. Borrows both.
class PairExamples : public ExampleSource {
 public:
  PairExamples(PairSource& pairs, const AnswerFormat& format, uint64_t programs)
      : pairs_(pairs), format_(format), programs_(programs) {}
  ExampleChunk make(uint64_t chunk) override;

 private:
  PairSource& pairs_;
  const AnswerFormat& format_;
  const uint64_t programs_;
};

// `size` rows a chunk, at most all there are. Each pass over the rows has an order of its own,
// which hangs on the seed; a pass ends with a chunk.
class RowExamples : public ExampleSource {
 public:
  RowExamples(const std::vector<Conversation>& rows, const AnswerFormat& format, uint64_t size,
              uint64_t seed);
  ExampleChunk make(uint64_t chunk) override;

 private:
  std::vector<Example> all_;
  const uint64_t size_, seed_;
};

// Takes the rows of so many prompts, or of one more row's, out of `rows`: all rows of a prompt stay
// together, and which prompts are taken hangs on their texts alone. InputError where none is left.
std::vector<Conversation> hold_out(std::vector<Conversation>& rows, size_t count);

}  // namespace kw
