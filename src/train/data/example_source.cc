#include "train/data/example_source.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "synth/skeleton/random.h"
#include "train/step/streams.h"

namespace kw::train {

ExampleChunk PairExamples::make(uint64_t chunk) {
  ExampleChunk out;
  const uint64_t begin = chunk * programs_;
  const int64_t before = pairs_.counts().unrecorded;
  const std::vector<Pair> pairs = pairs_.make(begin, begin + programs_);
  out.unrecorded = pairs_.counts().unrecorded - before;
  out.fault = pairs_.first_fault();
  out.examples.resize(pairs.size());
  in_parallel(pairs.size(), pairs_.threads(), [&](size_t i) {
    out.examples[i] = format_.example(pairs[i].prompt, pairs[i].plan, pairs[i].code);
  });
  return out;
}

RowExamples::RowExamples(const std::vector<Conversation>& rows, const AnswerFormat& format,
                         uint64_t size, uint64_t seed)
    : size_(std::min<uint64_t>(size, rows.size())), seed_(seed) {
  for (const Conversation& row : rows)
    all_.push_back(format.example(row.prompt, row.plan, row.code));
}

ExampleChunk RowExamples::make(uint64_t chunk) {
  const uint64_t chunks = (all_.size() + size_ - 1) / size_, pass = chunk / chunks;
  std::vector<size_t> order(all_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  shuffle(order, Random(seed_, pass, kRowStream));
  ExampleChunk out;
  const uint64_t begin = chunk % chunks * size_;
  for (uint64_t i = begin; i < std::min<uint64_t>(begin + size_, all_.size()); ++i) {
    out.examples.push_back(all_[order[i]]);
  }
  return out;
}

std::vector<Conversation> hold_out(std::vector<Conversation>& rows, size_t count) {
  std::map<std::string, std::vector<Conversation>> by_prompt;  // in the order of hashes
  for (Conversation& row : rows) by_prompt[sha256_hex(row.prompt)].push_back(std::move(row));
  std::vector<Conversation> held;
  rows.clear();
  for (auto& [hash, same] : by_prompt) {
    std::vector<Conversation>& to = held.size() < count ? held : rows;
    std::move(same.begin(), same.end(), std::back_inserter(to));
  }
  if (rows.empty()) {
    throw InputError("sft.validation holds out all " + std::to_string(held.size()) +
                     " rows of data.rows: there must be more, or fewer held out");
  }
  return held;
}

}  // namespace kw::train
