#include "synth/program.h"

#include "formats/error.h"
#include "formats/sha256.h"

namespace kw {
namespace {

// A word whose every skeleton seems to contradict itself.
constexpr int kMostSkeletons = 10'000;
constexpr int kMostWords = 10'000;

void take(SynthProgram& program, const DimsSpace& dims, DimsSpace::Draw draw) {
  program.shapes = std::move(draw.shapes);
  program.flops = draw.flops;
  program.low_flops = dims.low_flops();
  program.high_flops = dims.high_flops();
}

}  // namespace

SynthCounts& SynthCounts::operator+=(const SynthCounts& other) {
  words += other.words;
  words_without_ranks += other.words_without_ranks;
  skeletons += other.skeletons;
  contradictions += other.contradictions;
  empty += other.empty;
  unsolved += other.unsolved;
  timed_out += other.timed_out;
  words_given_up += other.words_given_up;
  tries += other.tries;
  return *this;
}

SynthProgram synthesise(const SynthOptions& options, Random& random, SynthCounts& counts) {
  int fruitless = 0;  // words in a row
  for (;; ++fruitless) {
    if (fruitless == kMostWords) {
      throw InputError("found no program of " + std::to_string(options.level) +
                       " operators from those given: after each but the last something must read "
                       "its result, and sizes must agree");
    }
    ++counts.words;
    const SkeletonSpace space(draw_word(options.level, options.operators, random));
    if (space.count() == 0) {
      ++counts.words_without_ranks;
      continue;
    }
    for (int drawn = 0;; ++drawn) {
      if (drawn == kMostSkeletons) {
        ++counts.words_given_up;
        break;
      }
      ++counts.skeletons;
      SynthProgram program{space.draw(random), {}, {}, options.dtype};
      program.shaped = shape(program.skeleton);
      const Solved solved = program.shaped.sizes.solved();
      if (solved == Solved::kContradiction) {
        ++counts.contradictions;
        continue;
      }
      if (solved == Solved::kUnsolved) {
        ++counts.unsolved;
        break;
      }
      DimsSpace dims(program.shaped, options.limits);
      if (dims.empty()) {
        ++counts.empty;
        continue;
      }
      std::optional<DimsSpace::Draw> draw = dims.draw(random);
      counts.tries += draw ? draw->tries : options.limits.tries;
      if (!draw) {
        ++counts.timed_out;
        break;
      }
      take(program, dims, std::move(*draw));
      return program;
    }
  }
}

std::optional<SynthProgram> resize(const SynthProgram& program, const DimsLimits& limits,
                                   Random& random) {
  DimsSpace dims(program.shaped, limits);
  if (dims.empty()) return std::nullopt;
  std::optional<DimsSpace::Draw> draw = dims.draw(random);
  if (!draw) return std::nullopt;
  SynthProgram resized = program;
  take(resized, dims, std::move(*draw));
  return resized;
}

std::string synth_structure(const SynthProgram& program) {
  std::string text;
  for (size_t i = 0; i < program.skeleton.size(); ++i) {
    const SynthStep& step = program.skeleton[i];
    text += "\n" + std::string(step.op->name);
    for (const Operand& operand : step.operands) {
      text += " " + std::to_string(operand.step) + ":" + std::to_string(operand.rank) + ":" +
              std::to_string(operand.mask);
    }
    const Parameters& p = *step.parameters;
    for (int value :
         {p.dim, p.dim1, int{p.keepdim}, p.kernel, p.stride, p.padding, p.dilation,
          p.output_padding, p.groups, p.normalized, p.diagonal, int{p.affine}, int{p.training}}) {
      text += "," + std::to_string(value);
    }
    for (std::string_view value : p.chosen) text += "," + std::string(value);
  }
  return sha256_hex(text);
}

}  // namespace kw
