#include "synth/draw/drawn_program.h"

#include <algorithm>
#include <limits>

#include "formats/base/error.h"

namespace kw {
namespace {

// A word whose every skeleton seems to contradict itself.
constexpr int64_t kMostSkeletons = 10'000;
constexpr int kMostWords = 10'000;
// Programs of other splits in a row: of a hundred programs one or two are for tests.
constexpr int kMostElsewhere = 100'000;

// Beside the streams that programs are drawn from.
constexpr uint64_t kShuffles = 0x636f766572;

void take(SynthProgram& program, const DimsSpace& dims, DimsSpace::Draw draw) {
  program.shapes = std::move(draw.shapes);
  program.slots = std::move(draw.slots);
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
  of_other_splits += other.of_other_splits;
  unsolved += other.unsolved;
  timed_out += other.timed_out;
  words_given_up += other.words_given_up;
  tries += other.tries;
  return *this;
}

Synthesiser::Synthesiser(SynthOptions options) : options_(std::move(options)) {
  if (options_.level == 1) options_.split.reset();
  if (options_.cover) find_cycle();
}

// Words that have a program, as far as drawing ten times as many skeletons as there are can tell.
void Synthesiser::find_cycle() {
  if (options_.level > 2) throw InputError("only operators and ordered pairs can be covered");
  for (const SynthOperator* first : options_.operators) {
    if (options_.level == 1) {
      cycle_.push_back({first});
      continue;
    }
    for (const SynthOperator* second : options_.operators) {
      const bool other =
          options_.split && is_held_out(*first, *second) != (*options_.split == Split::kUnseen);
      if (!other) cycle_.push_back({first, second});
    }
  }
  uint64_t at = 0;
  std::erase_if(cycle_, [&](const Word& word) {
    const SkeletonSpace space(word);
    Random numbers = random(at++, kShuffles);
    if (space.count() == 0 || only_views(space.draw(numbers))) return true;
    const auto most = static_cast<int64_t>(std::min(1000.0, 10 * space.count()));
    for (SynthCounts counts; counts.skeletons < most;) {
      const int64_t left = most - counts.skeletons;
      if (of_word(space, Elsewhere::kDrawAgain, left, numbers, counts)) return false;
    }
    return true;
  });
  if (cycle_.empty()) {
    throw InputError(
        "there is nothing to cover: no word has a program in the split that does more "
        "than view what it reads");
  }
}

const Word& Synthesiser::covered(uint64_t index) const {
  // As far of a shuffle of this time around as is needed.
  Random numbers = random(index / cycle_.size(), kShuffles + 1);
  std::vector<size_t> order(cycle_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const size_t place = index % cycle_.size();
  for (size_t i = 0; i <= place; ++i) {
    std::swap(order[i], order[i + numbers.below(order.size() - i)]);
  }
  return cycle_[order[place]];
}

std::optional<SynthProgram> Synthesiser::of_word(const SkeletonSpace& space, Elsewhere elsewhere,
                                                 int64_t most, Random& random,
                                                 SynthCounts& counts) const {
  Shaper shaper;
  Skeleton skeleton;
  for (int64_t drawn = 0; drawn < most; ++drawn) {
    ++counts.skeletons;
    shaper.restart();
    skeleton.clear();
    bool fits = true;
    space.draw(random, [&](SynthStep step) {
      skeleton.push_back(std::move(step));
      return fits = shaper.add(skeleton.back());
    });
    if (!fits) {  // of most skeletons
      ++counts.contradictions;
      continue;
    }
    SynthProgram program{.skeleton = std::move(skeleton), .dtype = options_.dtype};
    program.shaped = shaper.finish();
    const Solved solved = program.shaped.sizes.solved();
    if (solved == Solved::kContradiction) {
      ++counts.contradictions;
      continue;
    }
    if (solved == Solved::kUnsolved) {
      ++counts.unsolved;
      return std::nullopt;
    }
    DimsSpace dims(program.shaped, options_.limits);
    if (dims.empty()) {
      ++counts.empty;
      continue;
    }
    if (options_.split && split_of(program.skeleton) != *options_.split) {
      ++counts.of_other_splits;
      if (elsewhere == Elsewhere::kEnd) return std::nullopt;
      continue;
    }
    std::optional<DimsSpace::Draw> draw = dims.draw(random);
    if (dims.empty()) {  // proved on the way
      ++counts.empty;
      continue;
    }
    counts.tries += draw ? draw->tries : options_.limits.tries;
    if (!draw) {
      ++counts.timed_out;
      return std::nullopt;
    }
    take(program, dims, std::move(*draw));
    return program;
  }
  ++counts.words_given_up;
  return std::nullopt;
}

std::optional<SynthProgram> Synthesiser::find(uint64_t index, uint64_t before,
                                              int64_t most_skeletons, Random& random,
                                              SynthCounts& counts) const {
  const bool cover = !cycle_.empty();
  const int64_t elsewhere = counts.of_other_splits, skeletons = counts.skeletons;
  for (int fruitless = 0;
       fruitless < kMostWords && counts.of_other_splits < elsewhere + kMostElsewhere;) {
    const int64_t left = most_skeletons - (counts.skeletons - skeletons);
    if (left <= 0) break;
    ++counts.words;
    const SkeletonSpace space(cover ? covered(index + before / kMostOfWord * cycle_.size())
                                    : draw_word(options_.level, options_.operators, random));
    if (space.count() == 0) {
      ++counts.words_without_ranks;
      ++fruitless;
      continue;
    }
    const int64_t others = counts.of_other_splits;
    const Elsewhere then = cover ? Elsewhere::kDrawAgain : Elsewhere::kEnd;
    auto program = of_word(space, then, std::min(kMostSkeletons, left), random, counts);
    if (program) return program;
    fruitless += counts.of_other_splits == others;
  }
  return std::nullopt;
}

SynthProgram Synthesiser::draw(uint64_t index, uint64_t before, Random& random,
                               SynthCounts& counts) const {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  if (auto program = find(index, before, kAny, random, counts)) return std::move(*program);
  throw InputError("found no program of " + std::to_string(options_.level) +
                   " operators from those given: after each but the last something must read "
                   "its result, sizes must agree, and it must be of the split that was asked for");
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

}  // namespace kw
