// Answers many prompts at once, as rows of one batch. As soon as a request is done, the next one
// takes its row (Orca's continuous batching, OSDI 2022). A request's answer depends only on its own
// seed, apart from rounding. Consecutive equal prompts are read once. A step computes only rows in
// use, so that the last answers cost less than a full batch.
//
// A Generator borrows model and tokenizer. The model's parameters may change in place between calls
// of advance(), which then changes the answers under way. It is for one thread.
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
  std::vector<std::string> stops;  // the answer ends before the first of these
  uint64_t seed = 0;
};

struct Generation {
  enum class End { kToken, kStop, kLength };  // an end token; a stop string; no room
  End end = End::kLength;
  std::vector<TokenId> tokens;  // all that were drawn, with the end token
  std::vector<float> log_p;     // of each token: Drawn::log_p
  std::string text;             // without special tokens and the stop string
};

struct GeneratorOptions {
  int64_t rows = 16;           // answers under way at once
  int64_t context = 0;         // positions of a prompt and its answer; 0: the model's
  int64_t prefill_tokens = 0;  // of prompts that are read at once; 0: 4096, on a GPU 65536
  int64_t steps = 16;          // tokens that are drawn before the host looks at them
  bool graphs = true;          // on a GPU, steps are captured and replayed
};

class Generator {
 public:
  Generator(const Transformer& model, const Tokenizer& tokenizer, GeneratorOptions options = {});

  // Adds a request and returns its number: 0, 1, ... Throws InputError if the prompt is empty or
  // leaves no room in the context, or if an option is out of range.
  size_t submit(GenerationRequest request);
  // Gives rows to waiting requests and draws some tokens of each. Returns the finished answers by
  // request number, in no order.
  std::vector<std::pair<size_t, Generation>> advance();
  // Drops a request and frees its row. Does nothing if it is done or unknown.
  void cancel(size_t number);
  bool idle() const { return waiting_.empty() && active() == 0; }
  // Returns the number of rows in use.
  size_t active() const;

  // Answers all requests and returns the answers in their order.
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
    int64_t position = 0;  // position of the token that is read next
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
  // What a step reads and writes, at fixed addresses: [rows], or [steps, rows].
  at::Tensor tokens_, positions_, temperature_, top_p_, uniform_, drawn_, log_p_;
  at::Tensor at_;  // [1]: the number of the step
  // Captured steps, by rows, length and whether some row is truncated.
  std::map<std::tuple<int64_t, int64_t, bool>, std::unique_ptr<DeviceGraph>> captured_;
};

}  // namespace kw
