#include "report/synth/synth_coverage.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "synth/skeleton/parameters.h"

namespace kw {
namespace {

size_t place_of_operator(const JsonReader& name) {
  const SynthOperator* op = find_synth_operator(name.string());
  if (!op) name.fail("is no operator that programs are made of");
  return static_cast<size_t>(op - synth_operators().data());
}

// floor(log2), exact for what a double holds.
int64_t octave(double x) { return std::ilogb(x); }

bool is_set(const SynthOperator& op, int a, int b) { return !parameter_sets(op, a, b).empty(); }

// Whether some call of `op` takes a result of this rank, as either operand.
bool reads_rank(const SynthOperator& op, int rank) {
  if (operand_count(op.domain) == 1) return is_set(op, rank, 0);
  for (int other = 1; other <= kRanks; ++other) {
    if (is_set(op, rank, other) || is_set(op, other, rank)) return true;
  }
  return false;
}

// By rank, whether some call of `op` gives a result of it that may be read.
std::vector<bool> ranks_of_results(const SynthOperator& op) {
  std::vector<bool> ranks(kRanks + 1);
  const bool two = operand_count(op.domain) == 2;
  for (int a = 1; a <= kRanks; ++a) {
    for (int b = two ? 1 : 0; b <= (two ? kRanks : 0); ++b) {
      for (const Parameters& set : parameter_sets(op, a, b)) {
        if (set.rank > 0) ranks[set.rank] = true;
      }
    }
  }
  return ranks;
}

// Ranks decide alone: whatever two operators agree on in rank, some sizes fit too.
std::vector<std::vector<bool>> possible_pairs() {
  std::vector<std::vector<bool>> possible;
  for (const SynthOperator& producer : synth_operators()) {
    const std::vector<bool> ranks = ranks_of_results(producer);
    possible.emplace_back();
    for (const SynthOperator& consumer : synth_operators()) {
      bool fits = false;
      for (int rank = 1; rank <= kRanks; ++rank) fits |= ranks[rank] && reads_rank(consumer, rank);
      possible.back().push_back(fits);
    }
  }
  return possible;
}

}  // namespace

int64_t total(const Histogram& histogram) {
  int64_t sum = 0;
  for (const auto& [value, count] : histogram) sum += count;
  return sum;
}

int64_t total(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

int64_t median(const Histogram& histogram) {
  int64_t left = (total(histogram) + 1) / 2;
  for (const auto& [value, count] : histogram) {
    if ((left -= count) <= 0) return value;
  }
  return 0;
}

struct SynthCoverage::Step {
  size_t op = 0;
  std::string result;
  std::vector<size_t> reads;          // earlier steps; one twice where it is read twice
  std::vector<std::string> operands;  // that are no results
};

SynthCoverage::SynthCoverage()
    : operators(synth_operators().size()),
      pairs(operators.size(), std::vector<int64_t>(operators.size())),
      possible(possible_pairs()) {}

void SynthCoverage::add(const JsonReader& row) {
  const std::vector<Step> steps = read_steps(row);
  ++programs;
  ++levels[row.at("level").integer()];
  ++dtypes[row.at("dtype").string()];
  const bool split = row.has("split") && !row.at("split").is_null();
  ++splits[split ? row.at("split").string() : "none"];
  add_steps(steps);
  add_tensors(row.at("tensors"), steps);
  add_cost(row);
  add_structure(row, steps);
  add_examined(row, steps);
}

size_t SynthCoverage::operators_meant() const {
  const size_t first = csp_dag_operators().size();
  const bool others =
      std::any_of(operators.begin() + static_cast<ptrdiff_t>(first), operators.end(),
                  [](const OperatorCounts& counts) { return counts.steps + counts.examined > 0; });
  return others ? operators.size() : first;
}

std::vector<SynthCoverage::Step> SynthCoverage::read_steps(const JsonReader& row) {
  std::vector<Step> steps;
  std::map<std::string, size_t> made;  // which step a result is of
  for (const JsonReader& item : row.at("steps").items()) {
    Step step{.op = place_of_operator(item.at("operator")), .result = item.at("result").string()};
    for (const JsonReader& operand : item.at("operands").items()) {
      const auto found = made.find(operand.string());
      if (found != made.end()) {
        step.reads.push_back(found->second);
      } else if (operand.string().starts_with('x') || operand.string().starts_with('w')) {
        step.operands.push_back(operand.string());
      } else {
        operand.fail("is no input, no parameter and not the result of an earlier step");
      }
    }
    if (!made.emplace(step.result, steps.size()).second) {
      item.at("result").fail("is the result of an earlier step, too");
    }
    steps.push_back(std::move(step));
  }
  if (steps.empty()) row.at("steps").fail("expected at least one step");
  return steps;
}

void SynthCoverage::add_steps(const std::vector<Step>& steps) {
  std::vector<int64_t> chain(steps.size(), 1), times_read(steps.size());
  std::set<size_t> present;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t from : steps[i].reads) {
      chain[i] = std::max(chain[i], chain[from] + 1);
      ++times_read[from];
      ++pairs[steps[from].op][steps[i].op];
    }
    ++operators[steps[i].op].steps;
    present.insert(steps[i].op);
  }
  for (size_t op : present) ++operators[op].programs;
  ++depth[*std::max_element(chain.begin(), chain.end())];
  ++outputs[std::count(times_read.begin(), times_read.end(), 0)];
  for (int64_t times : times_read) ++reads[times];
}

void SynthCoverage::add_tensors(const JsonReader& tensors, const std::vector<Step>& steps) {
  std::set<std::string> results;
  for (const Step& step : steps) {
    results.insert(step.result);
    for (const std::string& operand : step.operands) (void)tensors.at(operand);  // must be there
    (void)tensors.at(step.result);
  }
  int64_t own_inputs = 0, own_parameters = 0;
  double most = 1;
  for (const auto& [name, shape] : tensors.members()) {
    if (!results.contains(name)) {
      if (!name.starts_with('x') && !name.starts_with('w')) {
        shape.fail("is neither a result nor called x.. or w..");
      }
      ++(name.starts_with('x') ? own_inputs : own_parameters);
    }
    double elements = 1;
    int64_t rank = 0;
    for (const JsonReader& item : shape.items()) {
      const auto size = static_cast<double>(item.integer(1, int64_t{1} << 40));
      ++sizes[octave(size)];
      elements *= size;
      ++rank;
    }
    ++ranks[rank];
    most = std::max(most, elements);
  }
  ++inputs[own_inputs];
  ++parameters[own_parameters];
  ++largest[octave(most)];
}

void SynthCoverage::add_cost(const JsonReader& row) {
  const double cost = row.at("flops").number();
  if (cost < 1 && cost != 0) row.at("flops").fail("is neither 0 nor 1 and more");
  const double low = row.at("window").at(0).number(), high = row.at("window").at(1).number();
  if (low < 0 || high < low) row.at("window").fail("is no window: its ends are not in order");
  ++flops[cost > 0 ? octave(cost) : kNoFlops];
  if (cost == 0) return;
  if (cost < low) {
    ++position[-1];
  } else if (cost > high) {
    ++position[kWindowParts];
  } else {
    const double share = low > 0 && high > low ? std::log(cost / low) / std::log(high / low) : 0;
    const auto part = static_cast<int64_t>(std::floor(kWindowParts * share));
    ++position[std::clamp<int64_t>(part, 0, kWindowParts - 1)];  // the upper end is of the last
  }
}

void SynthCoverage::add_structure(const JsonReader& row, const std::vector<Step>& steps) {
  const std::string& structure = row.at("structure").string();
  const std::string& id = row.at("id").string();
  if (++rows_of_structure_[structure] != 2) return;
  RepeatedStructure& repeated = repeated_[structure];
  repeated.id = id;
  for (const Step& step : steps) repeated.operators.push_back(step.op);
}

void SynthCoverage::add_examined(const JsonReader& row, const std::vector<Step>& steps) {
  if (!row.has("rejected")) return;
  std::set<size_t> present;
  for (const Step& step : steps) present.insert(step.op);
  ++examined;
  for (size_t op : present) ++operators[op].examined;
  for (const JsonReader& program : row.at("rejected").items()) {
    const std::string& flaw = program.at("flaw").string();
    present.clear();
    for (const JsonReader& op : program.at("operators").items()) {
      present.insert(place_of_operator(op));
    }
    ++examined;
    ++rejected[flaw];
    for (size_t op : present) {
      ++operators[op].examined;
      ++operators[op].rejected[flaw];
    }
  }
}

std::vector<RepeatedStructure> SynthCoverage::most_repeated(size_t most) const {
  std::vector<RepeatedStructure> all;
  for (const auto& [structure, example] : repeated_) {
    all.push_back(example);
    all.back().structure = structure;
    all.back().rows = rows_of_structure_.at(structure);
  }
  const auto before = [](const RepeatedStructure& a, const RepeatedStructure& b) {
    return a.rows != b.rows ? a.rows > b.rows : a.structure < b.structure;
  };
  const size_t shown = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(shown), all.end(), before);
  all.resize(shown);
  return all;
}

}  // namespace kw
