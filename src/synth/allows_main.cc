// Says whether the domains and shape rules allow one call on operands of given shapes, and if so,
// the result's shape. tests/test_synth_domain.py asks PyTorch the same.
//
//   synth_allows < CALLS.jsonl
//
// A line:
//
//   {"operator": "Conv2d", "shapes": [[1, 3, 8, 8], [4, 3, 3, 3]],
//    "parameters": {"stride": 2, ...}}
//
// Parameters are all of the operator's: those of its call, and "affine" and "normalized". "index"
// is the shape of the operator's indices. The answer's line is the result's shape, or null.
#include <iostream>

#include "formats/base/error.h"
#include "formats/json.h"
#include "synth/sizes/size_problem.h"

namespace kw {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

// As `value` is written in Python.
std::string text_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_set(const SynthOperator& op, const Parameters& set, const Json& wanted) {
  for (const auto& [key, value] : wanted.items()) {
    if (key == "index") {
      if (set.index_rank != 0 && set.index_rank != static_cast<int>(value.size())) return false;
      continue;
    }
    const std::string text = key == "affine"       ? (set.affine ? "True" : "False")
                             : key == "normalized" ? std::to_string(set.normalized)
                                                   : parameter_text(op, set, key);
    if (text != text_of(value)) return false;
  }
  return true;
}

// Which dims of two new operands are as large as the result's: those above one, and equal ones.
void set_masks(Operands& operands, const Shapes& shapes) {
  for (size_t i : {0u, 1u}) {
    const auto &own = shapes[i], &other = shapes[1 - i];
    for (size_t back = 0; back < own.size(); ++back) {
      const int64_t size = own[own.size() - 1 - back];
      const bool alone = back >= other.size();
      if (alone || size > 1 || other[other.size() - 1 - back] == 1) {
        operands[i].mask |= 1u << back;
      }
    }
  }
}

Json answer(const Json& line) {
  const JsonReader in(line, "call");
  const SynthOperator* op = find_synth_operator(in.at("operator").string());
  if (!op) in.at("operator").fail("no such operator");
  Shapes shapes;
  for (const JsonReader& shape : in.at("shapes").items()) shapes.push_back(shape.integers());
  SynthStep step{op, nullptr, {}};
  for (const auto& shape : shapes) {
    if (shape.empty() || shape.size() > kRanks) return nullptr;
    step.operands.push_back({-1, static_cast<int>(shape.size()), 0});
  }
  if (op->domain == Domain::kBinary) set_masks(step.operands, shapes);
  const int second = shapes.size() > 1 ? step.operands[1].rank : 0;
  for (const Parameters& set : parameter_sets(*op, step.operands[0].rank, second)) {
    if (is_set(*op, set, in.at("parameters").raw())) step.parameters = &set;
  }
  if (!step.parameters) return nullptr;
  ShapedSkeleton shaped = shape({step});
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape dims = shaped.tensors[shaped.steps[0].operands[i]];
    for (size_t d = 0; d < dims.size(); ++d) {
      shaped.sizes.equal(dims[d], shaped.sizes.constant(shapes[i][d]));
    }
  }
  for (const int id : shaped.steps[0].operands) {
    if (shaped.fresh[shaped.fresh_of[id]].role != Role::kIndex) continue;
    if (!in.at("parameters").has("index")) continue;
    const std::vector<int64_t> index = in.at("parameters").at("index").integers();
    if (index.size() != shaped.tensors[id].size()) return nullptr;
    for (size_t d = 0; d < index.size(); ++d) {
      shaped.sizes.equal(shaped.tensors[id][d], shaped.sizes.constant(index[d]));
    }
  }
  if (shaped.sizes.solved() == Solved::kUnsolved) throw InputError("not solved: " + line.dump());
  if (shaped.sizes.solved() == Solved::kContradiction) return nullptr;
  DimsLimits limits;
  limits.high_flops = 0x1p60;
  const SizeProblem problem(shaped, limits);
  if (problem.empty()) return nullptr;
  return problem.shapes(problem.least())[shaped.steps[0].result];
}

}  // namespace
}  // namespace kw

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << kw::answer(kw::Json::parse(line)).dump() << '\n';
    }
    return std::cout.flush() ? 0 : 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
