// Answers to many prompts at once: rows of one batch, each taken by the next request as soon as the
// one before is done (Orca's continuous batching, OSDI 2022). A request's answer depends on its own
// seed alone, but for rounding. Equal prompts that stand one behind the other are read once. Steps
// are of the rows in use alone, so that the last answers do not cost what all of them did.
//
// Borrows model and tokenizer; the model's parameters may change, where they are, between calls of
// advance(), which then changes what comes of requests under way. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "formats/tokens/tokenizer.h"
#include "model/device_graph.h"
#include "model/transformer.h"

namespace kw {

struct GenerationRequest {
  std::vector<TokenId> prompt;     // one token at least
  int64_t max_tokens = 1024;       // of the answer; never beyond the context
  double temperature = 1;          // 0: always the most probable token
  double top_p = 1;                // in (0, 1]
  std::vector<std::string> stops;  // the answer ends where one of these does, and is without it
  uint64_t seed = 0;
};

struct Generation {
  enum class End { kToken, kStop, kLength };  // an end token; a stop string; no room
  End end = End::kLength;
  std::vector<TokenId> tokens;  // all that were drawn, the end token too
  std::vector<float> log_p;     // of each, as draw_tokens says
  std::string text;             // without special tokens and what stops
};

struct GeneratorOptions {
  int64_t rows = 16;           // answers under way at once
  int64_t context = 0;         // positions of a prompt and its answer; 0: the model's
  int64_t prefill_tokens = 0;  // of prompts that are read at once; 0: 4096, on a GPU 65536
  int64_t steps = 16;          // tokens between looks at what came out
  bool graphs = true;          // on a GPU, steps are captured and replayed
};

class Generator {
 public:
  Generator(const Transformer& model, const Tokenizer& tokenizer, GeneratorOptions options = {});

  // InputError where the prompt is empty, leaves no room in the context, or a number is not one.
  // Returns the request's number: 0, 1, ...
  size_t submit(GenerationRequest request);
  // Gives rows to requests that wait, draws some tokens of each; what is done, in no order.
  std::vector<std::pair<size_t, Generation>> advance();
  // Nothing comes of the request any more, and its row is free. One that is done or is not: no
  // change.
  void cancel(size_t number);
  bool idle() const { return waiting_.empty() && active() == 0; }
  size_t active() const;  // rows in use

  // All of these, in their order.
  std::vector<Generation> run(const std::vector<GenerationRequest>& requests);

 private:
  struct Waiting {
    size_t number;
    GenerationRequest request;
  };
  struct Row {
    bool used = false;
    Waiting what;
    Generation made;
    int64_t position = 0;  // of the token that is read next
  };

  void fill_rows();
  void read_prompts(const std::vector<size_t>& rows);
  void move_together();
  void copy_rows(const std::vector<int64_t>& from, const std::vector<int64_t>& to, int64_t length);
  int64_t rows_of_step(size_t needed) const;
  void begin_steps();
  void one_step(int64_t count, int64_t length);
  void run_steps(int64_t steps, int64_t count, int64_t length);
  bool take(Row& row, TokenId token, float log_p);
  static bool stopped(Row& row, size_t before);

  const Transformer& model_;
  const Tokenizer& tokenizer_;
  GeneratorOptions options_;
  at::Device device_;
  std::deque<Waiting> waiting_;
  std::vector<Row> rows_;
  size_t submitted_ = 0;
  bool truncated_ = false;  // some row has top_p below 1
  KvCache cache_;
  // What a step reads and writes, at addresses that stay. [rows], or [steps, rows].
  at::Tensor tokens_, positions_, temperature_, top_p_, uniform_, drawn_, log_p_;
  at::Tensor at_;  // [1]: which step it is
  // Captured steps, by rows, length and whether some row is truncated.
  std::map<std::tuple<int64_t, int64_t, bool>, std::unique_ptr<DeviceGraph>> captured_;
};

}  // namespace kw
