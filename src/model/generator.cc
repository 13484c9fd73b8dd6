#include "model/generator.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "formats/base/error.h"
#include "model/sampling.h"

namespace kw {

Generator::Generator(const Transformer& model, const Tokenizer& tokenizer, GeneratorOptions options)
    : model_(model),
      tokenizer_(tokenizer),
      options_(options),
      device_(model.device()),
      rows_(static_cast<size_t>(options.rows)) {
  const c10::InferenceMode guard;
  if (options_.context == 0) options_.context = model.config().context;
  if (options_.prefill_tokens == 0) options_.prefill_tokens = device_.is_cuda() ? 65536 : 4096;
  if (tokenizer.size() > model.config().vocabulary) {
    throw InputError("the tokenizer has " + std::to_string(tokenizer.size()) +
                     " tokens, the model knows " + std::to_string(model.config().vocabulary));
  }
  cache_ = model.make_cache(options_.rows, options_.context);
  const auto ints = at::TensorOptions(at::kLong).device(device_);
  const auto floats = at::TensorOptions(at::kFloat).device(device_);
  tokens_ = at::zeros({options_.rows}, ints);
  positions_ = at::zeros({options_.rows}, ints);
  temperature_ = at::ones({options_.rows}, floats);
  top_p_ = at::ones({options_.rows}, floats);
  uniform_ = at::zeros({options_.steps, options_.rows}, floats);
  drawn_ = at::zeros({options_.steps, options_.rows}, ints);
  log_p_ = at::zeros({options_.steps, options_.rows}, floats);
  at_ = at::zeros({1}, ints);
}

size_t Generator::submit(GenerationRequest request) {
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (length == 0) throw InputError("a prompt without a token");
  if (length >= options_.context) {
    throw InputError("a prompt of " + std::to_string(length) + " tokens leaves no room in " +
                     std::to_string(options_.context));
  }
  for (const TokenId token : request.prompt) {
    if (token < 0 || token >= model_.config().vocabulary) {
      throw InputError("a prompt with token " + std::to_string(token) + ", which there is not");
    }
  }
  if (request.max_tokens < 1) throw InputError("an answer of no tokens was asked for");
  if (!(request.temperature >= 0) || !std::isfinite(request.temperature)) {
    throw InputError("a temperature is a number from 0 on");
  }
  if (!(request.top_p > 0 && request.top_p <= 1)) throw InputError("top_p is above 0, at most 1");
  std::erase(request.stops, "");
  request.max_tokens = std::min(request.max_tokens, options_.context - length);
  waiting_.push_back({submitted_, std::move(request)});
  return submitted_++;
}

void Generator::cancel(size_t number) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.number == number; });
  for (Row& row : rows_) {
    if (row.used && row.what.number == number) row.used = false;
  }
}

size_t Generator::active() const {
  return static_cast<size_t>(std::ranges::count_if(rows_, [](const Row& row) { return row.used; }));
}

// Gives free rows to waiting requests and reads their prompts without the last token, which the
// first step reads.
void Generator::fill_rows() {
  std::vector<size_t> begun;
  for (size_t i = 0; i < rows_.size() && !waiting_.empty(); ++i) {
    if (rows_[i].used) continue;
    rows_[i] = {};
    rows_[i].used = true;
    rows_[i].what = std::move(waiting_.front());
    waiting_.pop_front();
    rows_[i].position = static_cast<int64_t>(rows_[i].what.request.prompt.size()) - 1;
    begun.push_back(i);
  }
  std::vector<size_t> together;
  int64_t longest = 0;
  for (const size_t row : begun) {
    const int64_t length = std::max(longest, rows_[row].position);
    if (!together.empty() &&
        length * static_cast<int64_t>(together.size() + 1) > options_.prefill_tokens) {
      read_prompts(together);
      together.clear();
      longest = 0;
    }
    together.push_back(row);
    longest = std::max(longest, rows_[row].position);
  }
  if (!together.empty()) read_prompts(together);
}

void Generator::read_prompts(const std::vector<size_t>& rows) {
  std::vector<int64_t> first, copy_from,
      copy_to;  // rows that are read, and rows with equal prompts
  int64_t longest = 0;
  for (const size_t row : rows) {
    const auto& prompt = rows_[row].what.request.prompt;
    if (!first.empty() && rows_[first.back()].what.request.prompt == prompt) {
      copy_from.push_back(first.back());
      copy_to.push_back(static_cast<int64_t>(row));
    } else {
      first.push_back(static_cast<int64_t>(row));
    }
    longest = std::max(longest, rows_[row].position);
  }
  if (longest == 0) return;
  at::Tensor ids = at::zeros({static_cast<int64_t>(first.size()), longest}, at::kLong);
  for (size_t i = 0; i < first.size(); ++i) {
    const Row& row = rows_[first[i]];
    std::copy_n(row.what.request.prompt.begin(), row.position,
                ids.mutable_data_ptr<int64_t>() + static_cast<int64_t>(i) * longest);
  }
  const auto there = [&](const std::vector<int64_t>& list) {
    return at::tensor(list, at::kLong).to(device_);
  };
  model_.prefill(ids.to(device_), there(first), cache_);
  copy_rows(copy_from, copy_to, longest);
}

// Copies cached rows to other rows, up to a position.
void Generator::copy_rows(const std::vector<int64_t>& from, const std::vector<int64_t>& to,
                          int64_t length) {
  if (to.empty() || length == 0) return;
  const at::Tensor source = at::tensor(from, at::kLong).to(device_);
  const at::Tensor target = at::tensor(to, at::kLong).to(device_);
  for (auto* list : {&cache_.keys, &cache_.values}) {
    for (at::Tensor& whole : *list) {
      const at::Tensor part = whole.narrow(2, 0, length);
      part.index_copy_(0, target, part.index_select(0, source));
    }
  }
}

// Returns how many rows a step has if `needed` are needed. Captured steps come in few sizes, so
// that they can be used again.
int64_t Generator::rows_of_step(size_t needed) const {
  constexpr size_t kFewest = 16;
  if (options_.graphs && device_.is_cuda()) needed = std::bit_ceil(std::max(needed, kFewest));
  return std::min(static_cast<int64_t>(needed), options_.rows);
}

// Moves the last rows in use to free rows before them, if a step gets smaller.
void Generator::move_together() {
  const auto count = static_cast<size_t>(rows_of_step(active()));
  std::vector<int64_t> from, to;
  int64_t longest = 0;
  size_t free = 0;
  for (size_t i = count; i < rows_.size(); ++i) {
    if (!rows_[i].used) continue;
    while (rows_[free].used) ++free;
    from.push_back(static_cast<int64_t>(i));
    to.push_back(static_cast<int64_t>(free));
    longest = std::max(longest, rows_[i].position);
    rows_[free] = std::move(rows_[i]);
    rows_[i] = {};
  }
  copy_rows(from, to, longest);
}

// Writes what the next steps read. It writes by address, because each element by a tensor's index
// would take one to three operators.
void Generator::begin_steps() {
  const int64_t count = options_.rows;
  at::Tensor tokens = at::zeros({count}, at::kLong), positions = at::zeros({count}, at::kLong);
  at::Tensor temperature = at::ones({count}), top_p = at::ones({count});
  at::Tensor uniform = at::zeros({options_.steps, count});
  auto* const token = tokens.mutable_data_ptr<int64_t>();
  auto* const position = positions.mutable_data_ptr<int64_t>();
  auto* const warmth = temperature.mutable_data_ptr<float>();
  auto* const share = top_p.mutable_data_ptr<float>();
  auto* const number = uniform.mutable_data_ptr<float>();
  truncated_ = false;
  for (int64_t i = 0; i < count; ++i) {
    const Row& row = rows_[static_cast<size_t>(i)];
    if (!row.used) continue;
    const GenerationRequest& request = row.what.request;
    const auto& drawn = row.made.tokens;
    token[i] = drawn.empty() ? request.prompt.back() : drawn.back();
    position[i] = row.position;
    warmth[i] = static_cast<float>(request.temperature);
    share[i] = static_cast<float>(request.top_p);
    truncated_ = truncated_ || request.top_p < 1;
    for (int64_t k = 0; k < options_.steps; ++k) {
      number[k * count + i] = uniform_number(request.seed, drawn.size() + static_cast<uint64_t>(k));
    }
  }
  tokens_.copy_(tokens);
  positions_.copy_(positions);
  temperature_.copy_(temperature);
  top_p_.copy_(top_p);
  uniform_.copy_(uniform);
  at_.zero_();
}

// Draws one token of each row. It reads and writes at fixed addresses and never waits for the
// device, so that it can be captured and replayed.
void Generator::one_step(int64_t count, int64_t length) {
  const auto first = [&](const at::Tensor& all) { return all.narrow(-1, 0, count); };
  KvCache cache = cache_.first_rows(count);
  at::Tensor tokens = first(tokens_), positions = first(positions_);
  const at::Tensor logits = model_.logits(model_.step(tokens, positions, length, cache));
  const Drawn drawn = draw_tokens(logits, first(temperature_), first(top_p_),
                                  first(uniform_).index_select(0, at_).squeeze(0), truncated_);
  first(drawn_).index_copy_(0, at_, drawn.tokens.unsqueeze(0));
  first(log_p_).index_copy_(0, at_, drawn.log_p.unsqueeze(0));
  tokens.copy_(drawn.tokens);
  // Rows that are done run on to the end of the steps, and what they write is ignored.
  positions.add_(1).clamp_max_(length - 1);
  at_.add_(1);
}

void Generator::run_steps(int64_t steps, int64_t count, int64_t length) {
  for (int64_t k = 0; k < steps; ++k) {
    const auto work = [&] { one_step(count, length); };
    if (!options_.graphs || !device_.is_cuda()) {
      work();
      continue;
    }
    auto& graph = captured_[{count, length, truncated_}];
    if (graph) {
      graph->replay();
    } else {
      graph = capture(device_, work);
    }
  }
}

// Returns whether a stop string ends in what was added to the text after its first `before` bytes.
// Cuts it off.
bool Generator::stopped(Row& row, size_t before) {
  size_t found = std::string::npos;
  for (const std::string& stop : row.what.request.stops) {
    const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
    found = std::min(found, row.made.text.find(stop, from));
  }
  if (found == std::string::npos) return false;
  row.made.text.resize(found);
  return true;
}

// Adds a token to an answer and returns whether it is the last one.
bool Generator::take(Row& row, TokenId token, float log_p) {
  Generation& made = row.made;
  made.tokens.push_back(token);
  made.log_p.push_back(log_p);
  ++row.position;
  const auto& ends = model_.config().end_tokens;
  if (std::ranges::find(ends, token) != ends.end()) {
    made.end = Generation::End::kToken;
    return true;
  }
  const size_t before = made.text.size();
  // A model's vocabulary may be larger than its tokenizer's.
  if (token < tokenizer_.size() && !tokenizer_.is_special(token)) {
    made.text += tokenizer_.bytes(token);
  }
  if (stopped(row, before)) {
    made.end = Generation::End::kStop;
    return true;
  }
  return static_cast<int64_t>(made.tokens.size()) >= row.what.request.max_tokens;
}

std::vector<std::pair<size_t, Generation>> Generator::advance() {
  const c10::InferenceMode guard;
  fill_rows();
  std::vector<std::pair<size_t, Generation>> done;
  if (active() == 0) return done;
  move_together();
  begin_steps();
  int64_t last = 0, most = 0;
  for (const Row& row : rows_) {
    if (!row.used) continue;
    last = std::max(last, row.position);
    most =
        std::max(most, row.what.request.max_tokens - static_cast<int64_t>(row.made.tokens.size()));
  }
  const int64_t steps = std::min(options_.steps, most);
  // Lengths are multiples of 64, so that captured steps come in few sizes and can be used again.
  const int64_t length = std::min((last + steps + 64) / 64 * 64, options_.context);
  run_steps(steps, rows_of_step(active()), length);
  const at::Tensor drawn = drawn_.cpu(), log_p = log_p_.cpu();
  for (size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    for (int64_t k = 0; k < steps && row.used; ++k) {
      const int64_t at = k * options_.rows + static_cast<int64_t>(i);
      if (!take(row, static_cast<TokenId>(drawn.const_data_ptr<int64_t>()[at]),
                log_p.const_data_ptr<float>()[at])) {
        continue;
      }
      row.used = false;
      done.emplace_back(row.what.number, std::move(row.made));
    }
  }
  return done;
}

std::vector<Generation> Generator::run(const std::vector<GenerationRequest>& requests) {
  const size_t first = submitted_;
  for (const GenerationRequest& request : requests) submit(request);
  std::vector<Generation> out(requests.size());
  while (!idle()) {
    for (auto& [number, made] : advance()) {
      if (number >= first) out[number - first] = std::move(made);
    }
  }
  return out;
}

}  // namespace kw
