// Draws programs as `kernelwright synth` does. For each it prints, as one line of JSON, what the
// sizes had to satisfy and how long drawing took. bench/synth_cpsat.py and other checks of the
// sampler from outside read it.
//
//   synth_problems --level 5 --count 100 [--seed 1] [--window LOW:HIGH]
//
// Slots are sizes: those of `free`, then one for each of `code`. A line's members:
//   free       what each free size may be: [low, high, values or null]
//   code       kind; slots a, b; add, div, mul, plus. affine: mul * floor((a + add) / div) + plus;
//              sum: a + b; split: mul * a + plus + b; constant: plus
//   checks     [slot, low, high]
//   monomials  products of slots; `largest` times it is at most limits.tensor, and all `total`
//              times it together are at most limits.total
//   terms      FLOPs: the coefficient times the larger of [monomial, factor] a and b; together in
//              `window`
//   tensors    of each its dims: [slot], or a constant
//   drawn      of the free sizes, what the sampler drew
//   given_up   skeletons before it whose sizes were not drawn within the tries
//   seconds    on the core: of the program with all that was rejected before it; of its sizes
//              alone, drawn again: what goes before the first draw, and a draw
//
// Unlike --window there, LOW and HIGH are plain numbers and may be as near as one likes.
#include <CLI/CLI.hpp>
#include <ctime>
#include <iostream>

#include "formats/json.h"
#include "synth/draw/drawn_program.h"

namespace kw {
namespace {

// Of this thread on its core: what else the machine does counts less.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string_view kind_name(Sizes::Kind kind) {
  switch (kind) {
    case Sizes::Kind::kConstant:
      return "constant";
    case Sizes::Kind::kVariable:
      return "variable";
    case Sizes::Kind::kAffine:
      return "affine";
    case Sizes::Kind::kSum:
      return "sum";
    case Sizes::Kind::kSplit:
      return "split";
  }
  return "";
}

Json product_json(const SizeProblem::Product& product) {
  if (product.monomial < 0) return nullptr;
  return {product.monomial, product.factor};
}

Json problem_json(const SizeProblem& problem, const std::vector<std::string>& names) {
  Json free = Json::array(), code = Json::array(), checks = Json::array();
  for (const SizeProblem::Free& each : problem.free()) {
    free.push_back({each.low, each.high, each.values.empty() ? Json(nullptr) : Json(each.values)});
  }
  for (const SizeProblem::Instruction& made : problem.code()) {
    code.push_back({{"kind", kind_name(made.kind)},
                    {"a", made.a},
                    {"b", made.b},
                    {"add", made.add},
                    {"div", made.div},
                    {"mul", made.mul},
                    {"plus", made.plus}});
  }
  for (const SizeProblem::Check& check : problem.checks()) {
    checks.push_back({check.slot, check.low, check.high});
  }
  Json monomials = Json::array(), terms = Json::array(), tensors = Json::object();
  for (const SizeProblem::Monomial& each : problem.monomials()) {
    monomials.push_back({{"slots", each.slots}, {"largest", each.largest}, {"total", each.total}});
  }
  for (const SizeProblem::Term& term : problem.terms()) {
    terms.push_back({{"coefficient", term.coefficient},
                     {"a", product_json(term.a)},
                     {"b", product_json(term.b)}});
  }
  for (size_t i = 0; i < names.size(); ++i) {
    Json& dims = tensors[names[i]] = Json::array();
    for (const SizeProblem::Dim& dim : problem.tensors()[i]) {
      dims.push_back(dim.slot < 0 ? Json(dim.constant) : Json::array({dim.slot}));
    }
  }
  return {{"free", std::move(free)},
          {"code", std::move(code)},
          {"checks", std::move(checks)},
          {"monomials", std::move(monomials)},
          {"terms", std::move(terms)},
          {"tensors", std::move(tensors)},
          {"limits", {{"tensor", problem.limits().tensor}, {"total", problem.limits().total}}}};
}

std::string line(const Synthesiser& synthesiser, uint64_t index) {
  const SynthOptions& options = synthesiser.options();
  SynthCounts counts;
  double begin = seconds();
  Random numbers = synthesiser.random(index);
  const SynthProgram program = synthesiser.draw(index, 0, numbers, counts);
  const double whole = seconds() - begin;
  begin = seconds();
  DimsSpace space(program.shaped, options.limits);
  const double prepared = seconds() - begin;
  Random random(~options.seed, index);  // another draw than the program's
  begin = seconds();
  const bool again = space.draw(random).has_value();
  const double drawn = seconds() - begin;
  const SizeProblem problem(program.shaped, options.limits);
  Json made = problem_json(problem, tensor_names(program));
  made["index"] = index;
  made["window"] = {program.low_flops, program.high_flops};
  made["drawn"] = std::vector<int64_t>(
      program.slots.begin(),
      program.slots.begin() + static_cast<std::ptrdiff_t>(problem.free().size()));
  made["given_up"] = counts.timed_out;
  made["seconds"] = {
      {"program", whole}, {"prepare", prepared}, {"draw", drawn}, {"drawn_again", again}};
  return made.dump();
}

int run(int argc, char** argv) {
  SynthOptions options;
  uint64_t count = 100;
  std::vector<double> window;
  CLI::App app("What the sizes of drawn programs had to satisfy, and how long drawing took.");
  app.add_option("--level", options.level)->check(CLI::Range(1, 40));
  app.add_option("--count", count);
  app.add_option("--seed", options.seed);
  app.add_option("--window", window, "LOW:HIGH")->delimiter(':')->expected(2);
  CLI11_PARSE(app, argc, argv);
  if (!window.empty()) {
    options.limits.low_flops = window[0];
    options.limits.high_flops = window[1];
  }
  const Synthesiser synthesiser(options);
  line(synthesiser, 0);  // the first of a process takes longer
  for (uint64_t index = 0; index < count; ++index) std::cout << line(synthesiser, index) << '\n';
  return std::cout.flush() ? 0 : 2;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  try {
    return kw::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
