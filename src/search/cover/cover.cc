#include "search/cover/cover.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

namespace kw {
namespace {

using Bits = std::vector<uint64_t>;

void set_bit(Bits& bits, int i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
bool intersects(const Bits& a, const Bits& b) {
  for (size_t w = 0; w < a.size(); ++w) {
    if (a[w] & b[w]) return true;
  }
  return false;
}

struct Move {
  Bits steps, needs;
  int count = 0;
  int option = -1;  // -1: a single step
  double seconds = 0;
  double saved = 0;  // compared with running its steps one by one
};

// Returns the first step that is in `all` and not in `part`; -1 if there is none.
int first_outside(const Bits& all, const Bits& part) {
  for (size_t w = 0; w < all.size(); ++w) {
    const uint64_t missing = all[w] & ~part[w];
    if (missing) return static_cast<int>(w) * 64 + std::countr_zero(missing);
  }
  return -1;
}

struct State {
  double seconds = 0;
  double left = 0;  // the remaining steps one by one
  std::vector<int> options;
};

// Returns the moves that may come next once `done` is done: those that run the first step that is
// left. If such a move waits for a step, the moves that run that step are in it too.
std::vector<const Move*> next_moves(const std::vector<Move>& moves,
                                    const std::vector<std::vector<int>>& moves_of,
                                    const Bits& every, const Bits& done) {
  std::vector<const Move*> out;
  std::vector<int> wanted = {first_outside(every, done)};
  std::set<int> seen(wanted.begin(), wanted.end()), taken;
  for (size_t k = 0; k < wanted.size(); ++k) {
    for (int m : moves_of[wanted[k]]) {
      if (intersects(done, moves[m].steps) || !taken.insert(m).second) continue;
      const int wait = first_outside(moves[m].needs, done);
      if (wait < 0) {
        out.push_back(&moves[m]);
      } else if (seen.insert(wait).second) {
        wanted.push_back(wait);
      }
    }
  }
  return out;
}

}  // namespace

Cover best_cover(const std::vector<std::vector<int>>& dependencies,
                 const std::vector<double>& step_seconds, const std::vector<CoverOption>& options,
                 size_t beam) {
  const int count = static_cast<int>(dependencies.size());
  const Bits none((count + 63) / 64, 0);
  std::vector<Move> moves;
  std::vector<std::vector<int>> moves_of(count);  // by step
  auto add_move = [&](const std::vector<int>& steps, int option, double seconds) {
    Move move{none, none, static_cast<int>(steps.size()), option, seconds, -seconds};
    for (int i : steps) {
      set_bit(move.steps, i);
      move.saved += step_seconds[i];
    }
    for (int i : steps) {
      for (int d : dependencies[i]) set_bit(move.needs, d);
    }
    for (size_t w = 0; w < move.needs.size(); ++w) move.needs[w] &= ~move.steps[w];
    // An option that saves nothing cannot be part of a better cover.
    if (option >= 0 && move.saved <= 0) return;
    for (int i : steps) moves_of[i].push_back(static_cast<int>(moves.size()));
    moves.push_back(std::move(move));
  };
  for (int i = 0; i < count; ++i) add_move({i}, -1, step_seconds[i]);
  for (size_t o = 0; o < options.size(); ++o) {
    add_move(options[o].steps, static_cast<int>(o), options[o].seconds);
  }

  Bits every = none;
  for (int i = 0; i < count; ++i) set_bit(every, i);

  // layers[n]: states with n steps done.
  std::vector<std::map<Bits, State>> layers(count + 1);
  layers[0][none] = {0, std::accumulate(step_seconds.begin(), step_seconds.end(), 0.0), {}};
  for (int n = 0; n < count; ++n) {
    std::vector<const std::pair<const Bits, State>*> states;
    for (const auto& entry : layers[n]) states.push_back(&entry);
    if (states.size() > beam) {
      std::nth_element(states.begin(), states.begin() + beam, states.end(), [](auto* a, auto* b) {
        return a->second.seconds + a->second.left < b->second.seconds + b->second.left;
      });
      states.resize(beam);
    }
    for (const auto* entry : states) {
      const auto& [done, state] = *entry;
      for (const Move* move : next_moves(moves, moves_of, every, done)) {
        Bits next = done;
        for (size_t w = 0; w < next.size(); ++w) next[w] |= move->steps[w];
        const double seconds = state.seconds + move->seconds;
        auto [it, fresh] = layers[n + move->count].try_emplace(std::move(next));
        if (!fresh && it->second.seconds <= seconds) continue;
        it->second = {seconds, state.left - move->seconds - move->saved, state.options};
        if (move->option >= 0) it->second.options.push_back(move->option);
      }
    }
    layers[n].clear();
  }
  const State& best = layers[count].begin()->second;
  return {best.options, best.seconds};
}

}  // namespace kw
