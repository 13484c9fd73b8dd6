#include "search/cover.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

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
bool contains(const Bits& all, const Bits& part) {
  for (size_t w = 0; w < all.size(); ++w) {
    if (part[w] & ~all[w]) return false;
  }
  return true;
}

struct Move {
  Bits steps, needs;
  int count = 0;
  int option = -1;  // -1: a single step
  double seconds = 0;
  double saved = 0;  // against running its steps one by one
};

struct State {
  double seconds = 0;
  double left = 0;  // the remaining steps one by one
  std::vector<int> options;
};

}  // namespace

Cover best_cover(const std::vector<std::vector<int>>& dependencies,
                 const std::vector<double>& step_seconds, const std::vector<CoverOption>& options,
                 size_t beam) {
  const int count = static_cast<int>(dependencies.size());
  const Bits none((count + 63) / 64, 0);
  std::vector<Move> moves;
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
    if (option < 0 || move.saved > 0) moves.push_back(std::move(move));
  };
  for (int i = 0; i < count; ++i) add_move({i}, -1, step_seconds[i]);
  for (size_t o = 0; o < options.size(); ++o) {
    add_move(options[o].steps, static_cast<int>(o), options[o].seconds);
  }

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
      for (const Move& move : moves) {
        if (intersects(done, move.steps) || !contains(done, move.needs)) continue;
        Bits next = done;
        for (size_t w = 0; w < next.size(); ++w) next[w] |= move.steps[w];
        const double seconds = state.seconds + move.seconds;
        auto [it, fresh] = layers[n + move.count].try_emplace(std::move(next));
        if (!fresh && it->second.seconds <= seconds) continue;
        it->second = {seconds, state.left - move.seconds - move.saved, state.options};
        if (move.option >= 0) it->second.options.push_back(move.option);
      }
    }
    layers[n].clear();
  }
  const State& best = layers[count].begin()->second;
  return {best.options, best.seconds};
}

}  // namespace kw
