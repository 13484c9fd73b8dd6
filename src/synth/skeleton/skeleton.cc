#include "synth/skeleton/skeleton.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

// A way to feed an operator: the ranks of its operands, and which of them are new tensors. `ways`
// is the number of skeletons for each choice of results, which is masks times parameters.
struct Pattern {
  int a = 0, b = 0;  // ranks; b is 0 where there is one operand
  bool a_new = false, b_new = false;
  int rank = 0;  // of the result; 0 where nothing may read it
  double ways = 0;
  std::vector<const Parameters*> sets;  // that give this rank
};

// Patterns with the same factor in the count, added up.
struct Term {
  int a, b;  // ranks of results; 0: none
  int rank;
  double ways;
};

struct Feeding {
  std::vector<Pattern> first, later;  // of the first operator, whose operands are new; of the rest
  std::vector<Term> terms;            // of `later`
};

// Returns the number of masks of new operands. If the other operand is a result, each dim of the
// new one is one or not. If both are new, each dim that both have is large in both or in one of
// them.
double masks(const SynthOperator& op, const Pattern& pattern) {
  if (op.domain != Domain::kBinary) return 1;
  if (pattern.a_new && pattern.b_new) return std::pow(3.0, std::min(pattern.a, pattern.b));
  return std::exp2((pattern.a_new ? pattern.a : 0) + (pattern.b_new ? pattern.b : 0));
}

Feeding feeding_of(const SynthOperator& op) {
  Feeding feeding;
  const bool two = operand_count(op.domain) == 2;
  for (int a = 1; a <= kRanks; ++a) {
    for (int b = two ? 1 : 0; b <= (two ? kRanks : 0); ++b) {
      std::vector<const Parameters*> sets[kRanks + 1];
      for (const Parameters& set : parameter_sets(op, a, b)) sets[set.rank].push_back(&set);
      for (int rank = 0; rank <= kRanks; ++rank) {
        if (sets[rank].empty()) continue;
        for (int fresh = 0; fresh < (two ? 4 : 2); ++fresh) {
          Pattern pattern{a, b, (fresh & 1) != 0, (fresh & 2) != 0, rank, 0, sets[rank]};
          const bool all_new = pattern.a_new && (pattern.b_new || !two);
          pattern.ways = static_cast<double>(sets[rank].size()) * masks(op, pattern);
          (all_new ? feeding.first : feeding.later).push_back(pattern);
        }
      }
    }
  }
  for (const Pattern& pattern : feeding.later) {
    Term term{pattern.a_new ? 0 : pattern.a, pattern.b_new ? 0 : pattern.b, pattern.rank,
              pattern.ways};
    if (term.a > term.b) std::swap(term.a, term.b);
    const auto same = std::find_if(feeding.terms.begin(), feeding.terms.end(), [&](const Term& t) {
      return t.a == term.a && t.b == term.b && t.rank == term.rank;
    });
    if (same == feeding.terms.end()) {
      feeding.terms.push_back(term);
    } else {
      same->ways += term.ways;
    }
  }
  return feeding;
}

const Feeding& feeding(const SynthOperator& op) {
  static const std::vector<Feeding> table = [] {
    std::vector<Feeding> all;
    for (const SynthOperator& each : synth_operators()) all.push_back(feeding_of(each));
    return all;
  }();
  return table.at(&op - synth_operators().data());
}

// Ranks that its result can have; none where nothing may read it.
std::vector<int> result_ranks(const SynthOperator& op) {
  std::vector<int> ranks;
  for (int rank = 1; rank <= kRanks; ++rank) {
    const auto gives = [&](const Pattern& pattern) { return pattern.rank == rank; };
    const Feeding& fed = feeding(op);
    if (std::any_of(fed.first.begin(), fed.first.end(), gives) ||
        std::any_of(fed.later.begin(), fed.later.end(), gives)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

// n over k, for k up to 4.
struct Binomials {
  static constexpr int kMost = 128;
  uint32_t of[kMost][5] = {};
  Binomials() {
    for (int n = 0; n < kMost; ++n) {
      of[n][0] = 1;
      for (int k = 1; k < 5; ++k) of[n][k] = n == 0 ? 0 : of[n - 1][k - 1] + of[n - 1][k];
    }
  }
};

const Binomials& binomials() {
  static const Binomials table;
  return table;
}

// `total` of all weights.
template <typename Item, typename Weight>
const Item& pick(const std::vector<Item>& items, double total, Random& random,
                 const Weight& weight) {
  double at = random.uniform() * total;
  const Item* last = nullptr;
  for (const Item& item : items) {
    const double w = weight(item);
    if (w <= 0) continue;
    last = &item;
    if ((at -= w) < 0) break;
  }
  return *last;
}

// Masks of a pattern's new operands, uniformly.
void draw_masks(Operands& operands, Random& random) {
  const auto fresh = [](const Operand& operand) { return operand.step < 0; };
  if (fresh(operands[0]) && fresh(operands[1])) {
    const int shared = std::min(operands[0].rank, operands[1].rank);
    for (Operand& operand : operands) operand.mask = ((1u << operand.rank) - 1) >> shared << shared;
    for (int dim = 0; dim < shared; ++dim) {
      const uint64_t which = random.below(3) + 1;  // the left one, the right one, both
      if (which & 1) operands[0].mask |= 1u << dim;
      if (which & 2) operands[1].mask |= 1u << dim;
    }
    return;
  }
  for (Operand& operand : operands) {
    if (fresh(operand)) operand.mask = static_cast<uint32_t>(random.below(1u << operand.rank));
  }
}

}  // namespace

Word draw_word(int length, const std::vector<const SynthOperator*>& operators, Random& random) {
  Word word;
  for (int i = 0; i < length; ++i) word.push_back(operators[random.below(operators.size())]);
  return word;
}

// Returns the place of a composition of m into five parts. The sums of its first one to four parts
// do not fall, so they are a subset of four out of m + 4 (the combinatorial number system).
size_t SkeletonSpace::index(const Histogram& results) {
  const auto& choose = binomials().of;
  size_t at = 0;
  int sum = 0;
  for (int rank = 1; rank < kRanks; ++rank) {
    sum += results[rank];
    at += choose[sum + rank - 1][rank];
  }
  return at;
}

// Counts the ways of one step for all states. A state is given by the sums s1 to s4 of its numbers
// of results, sk being those of rank 1 to k. One more result of rank r raises the sums from r on by
// one, so each state leads to five others. Along s1 and s2 the numbers of results of rank 1, 2 and
// 3 change by one each, so that ways are polynomials in s1 and s2. States that no choices lead to
// keep their zeros.
void SkeletonSpace::count_step(int step, int readable, const Histogram& least,
                               const Histogram& most) {
  const std::vector<Term>& terms = feeding(*word_[step]).terms;
  const auto& choose = binomials().of;
  const double* next = remaining_[step + 1].data();
  double* out = remaining_[step].data();
  const bool unread = !is_readable(word_[step]->domain);  // its results stay out of the sums
  const auto from = [&](int sum, int rank) { return std::max(0, sum - most[rank]); };
  const auto to = [&](int sum, int rank) { return sum - least[rank]; };
  for (int s4 = from(readable, 5); s4 <= to(readable, 5); ++s4) {
    for (int s3 = from(s4, 4); s3 <= to(s4, 4); ++s3) {
      // Results of each rank, in 1, s1 and s2; of rank 0, which stands for no result, one.
      const double count[kRanks + 1][3] = {{1, 0, 0},
                                           {0, 1, 0},
                                           {0, -1, 1},
                                           {static_cast<double>(s3), 0, -1},
                                           {static_cast<double>(s4 - s3), 0, 0},
                                           {static_cast<double>(readable - s4), 0, 0}};
      double ways[kRanks + 1][3][3] = {};  // of products of two of these three
      for (const Term& term : terms) {
        const double *a = count[term.a], *b = count[term.b];
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) ways[term.rank][i][j] += term.ways * a[i] * b[j];
        }
      }
      for (int s2 = from(s3, 3); s2 <= to(s3, 3); ++s2) {
        double along[kRanks + 1][3];  // in 1, s1 and its square
        for (int rank = 0; rank <= kRanks; ++rank) {
          const auto& w = ways[rank];
          along[rank][0] = w[0][0] + s2 * (w[0][2] + w[2][0] + s2 * w[2][2]);
          along[rank][1] = w[0][1] + w[1][0] + s2 * (w[1][2] + w[2][1]);
          along[rank][2] = w[1][1];
        }
        const size_t at = choose[s2 + 1][2] + choose[s3 + 2][3] + choose[s4 + 3][4];
        const size_t at4 = at + choose[s4 + 4][4] - choose[s4 + 3][4];
        const size_t at3 = at4 + choose[s3 + 3][3] - choose[s3 + 2][3];
        const size_t at2 = at3 + choose[s2 + 2][2] - choose[s2 + 1][2];
        const int first = std::max(from(s2, 2), least[1]), last = std::min(to(s2, 2), most[1]);
        for (int s1 = first; s1 <= last; ++s1) {
          const auto count_of = [&](int rank) {
            return along[rank][0] + s1 * (along[rank][1] + s1 * along[rank][2]);
          };
          out[at + s1] = unread ? count_of(0) * next[at + s1]
                                : count_of(5) * next[at + s1] + count_of(4) * next[at4 + s1] +
                                      count_of(3) * next[at3 + s1] + count_of(2) * next[at2 + s1] +
                                      count_of(1) * next[at2 + s1 + 1];
        }
      }
    }
  }
}

// Whether there is any skeleton: that hangs only on which ranks there are results of.
bool SkeletonSpace::any() const {
  std::array<bool, 1 << (kRanks + 1)> reached{}, next{};
  for (const Pattern& pattern : feeding(*word_[0]).first) reached[1u << pattern.rank & ~1u] = true;
  for (size_t step = 1; step < word_.size(); ++step) {
    next.fill(false);
    for (unsigned present = 0; present < reached.size(); ++present) {
      if (!reached[present]) continue;
      for (const Term& term : feeding(*word_[step]).terms) {
        const unsigned needed = (1u << term.a | 1u << term.b) & ~1u;
        if ((present & needed) == needed) next[(present | 1u << term.rank) & ~1u] = true;
      }
    }
    reached = next;
  }
  return std::find(reached.begin(), reached.end(), true) != reached.end();
}

SkeletonSpace::SkeletonSpace(Word word) : word_(std::move(word)), remaining_(word_.size() + 1) {
  const int length = static_cast<int>(word_.size());
  // Before each step: results that may be read, and how many can have each rank.
  std::vector<int> readable(length + 1);
  std::vector<Histogram> least(length + 1), most(length + 1);
  for (int step = 0; step < length; ++step) {
    readable[step + 1] = readable[step] + is_readable(word_[step]->domain);
    const std::vector<int> ranks = result_ranks(*word_[step]);
    least[step + 1] = least[step];
    most[step + 1] = most[step];
    if (ranks.size() == 1) ++least[step + 1][ranks[0]];
    for (int rank : ranks) ++most[step + 1][rank];
  }
  if (!any()) return;
  remaining_[length].assign(binomials().of[readable[length] + 4][4], 1.0);
  for (int step = length - 1; step >= 1; --step) {
    remaining_[step].assign(binomials().of[readable[step] + 4][4], 0.0);
    count_step(step, readable[step], least[step], most[step]);
  }
  for (const Pattern& pattern : feeding(*word_[0]).first) {
    Histogram results{};
    if (pattern.rank > 0) ++results[pattern.rank];
    count_ += pattern.ways * remaining(1, results);
  }
}

void SkeletonSpace::draw(Random& random, const std::function<bool(SynthStep)>& take) const {
  Histogram results{};
  std::vector<int> ranks;  // of results, by step
  ranks.reserve(word_.size());
  double ways = count_;  // to go on from here
  for (size_t step = 0; step < word_.size(); ++step) {
    const SynthOperator& op = *word_[step];
    const std::vector<Pattern>& patterns = step == 0 ? feeding(op).first : feeding(op).later;
    std::array<double, kRanks + 1> after{};  // by the rank of this one's result
    for (int rank = 0; rank <= kRanks; ++rank) {
      if (is_readable(op.domain) != (rank > 0)) continue;
      Histogram next = results;
      if (rank > 0) ++next[rank];
      after[rank] = remaining(static_cast<int>(step) + 1, next);
    }
    const Pattern& pattern = pick(patterns, ways, random, [&](const Pattern& p) {
      return p.ways * (p.a_new ? 1 : results[p.a]) * (p.b == 0 || p.b_new ? 1 : results[p.b]) *
             after[p.rank];
    });
    ways = after[pattern.rank];
    SynthStep made{&op, nullptr, {}};
    const auto operand = [&](int rank, bool fresh) {
      if (fresh) return Operand{-1, rank, 0};
      uint64_t before = random.below(results[rank]);  // of this rank
      int at = 0;
      while (ranks[at] != rank || before-- > 0) ++at;
      return Operand{at, rank, 0};
    };
    made.operands.push_back(operand(pattern.a, pattern.a_new));
    if (pattern.b > 0) made.operands.push_back(operand(pattern.b, pattern.b_new));
    if (op.domain == Domain::kBinary) draw_masks(made.operands, random);
    made.parameters = pattern.sets[random.below(pattern.sets.size())];
    ranks.push_back(pattern.rank);
    if (pattern.rank > 0) ++results[pattern.rank];
    if (!take(std::move(made))) return;
  }
}

Skeleton SkeletonSpace::draw(Random& random) const {
  Skeleton skeleton;
  draw(random, [&](SynthStep step) {
    skeleton.push_back(std::move(step));
    return true;
  });
  return skeleton;
}

}  // namespace kw
