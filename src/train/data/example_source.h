// Sources of examples. They make chunks by number; a chunk is the same whenever it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/chat/conversation.h"
#include "train/data/answer_format.h"
#include "train/data/pairs.h"

namespace kw::train {

struct ExampleChunk {
  std::vector<Example> examples;
  int64_t unrecorded = 0;  // programs that were not recorded, by a fault of the machine
  std::string fault;       // why the first of them was not
};

class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual ExampleChunk make(uint64_t chunk) = 0;
};

// The teacher's answers to `programs` programs a chunk. Borrows both.
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

// `size` rows a chunk, or all if there are fewer. Each pass over the rows has a separate order that
// depends on the seed; a pass ends with a chunk.
class RowExamples : public ExampleSource {
 public:
  RowExamples(const std::vector<Conversation>& rows, const AnswerFormat& format, uint64_t size,
              uint64_t seed);
  ExampleChunk make(uint64_t chunk) override;

 private:
  std::vector<Example> all_;
  const uint64_t size_, seed_;
};

// Takes at least `count` rows out of `rows` and returns them. All rows of a prompt stay together,
// and the choice of prompts depends on their texts alone. Throws InputError if no row is left.
std::vector<Conversation> hold_out(std::vector<Conversation>& rows, size_t count);

}  // namespace kw::train
