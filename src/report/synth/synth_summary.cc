#include "report/synth/synth_summary.h"

#include <algorithm>
#include <sstream>

#include "eval/run/figures.h"
#include "report/markup/markup.h"
#include "synth/draw/split.h"
#include "synth/skeleton/synth_operators.h"

namespace kw {
namespace {

constexpr size_t kMostNames = 8;  // in a line

using Named = std::vector<std::pair<std::string, int64_t>>;

std::string named_text(const Named& counts) {
  if (counts.size() == 1) return counts.front().first;
  std::string text;
  for (size_t i = 0; i < std::min(counts.size(), kMostNames); ++i) {
    text += (i ? ", " : "") + counts[i].first + " (" + std::to_string(counts[i].second) + ")";
  }
  if (counts.size() > kMostNames) {
    text += " and " + std::to_string(counts.size() - kMostNames) + " more";
  }
  return text;
}

// "most often Add (12 steps), least often Cat (1)": the first in the table of those alike.
std::string extremes_text(const SynthCoverage& coverage) {
  const auto fewer = [](const OperatorCounts& a, const OperatorCounts& b) {
    return a.steps < b.steps;
  };
  const auto text = [&](auto found) {
    return std::string(synth_operators()[found - coverage.operators.begin()].name) + " (" +
           std::to_string(found->steps);
  };
  const auto begin = coverage.operators.begin();
  const auto end = begin + static_cast<ptrdiff_t>(coverage.operators_meant());
  return "most often " + text(std::max_element(begin, end, fewer)) + " steps), least often " +
         text(std::min_element(begin, end, fewer)) + ")";
}

}  // namespace

SynthSummary::SynthSummary(const SynthCoverage& coverage)
    : structures(coverage.structures()),
      repeats(coverage.programs - structures),
      all_operators(coverage.operators_meant()) {
  for (size_t producer = 0; producer < all_operators; ++producer) {
    operators += coverage.operators[producer].steps > 0;
    for (size_t consumer = 0; consumer < all_operators; ++consumer) {
      if (!coverage.possible[producer][consumer]) continue;
      ++all_pairs;
      if (coverage.pairs[producer][consumer] > 0) {
        ++pairs;
        continue;
      }
      missing.push_back({producer, consumer});
      missing_held_out += is_held_out(synth_operators()[producer], synth_operators()[consumer]);
    }
  }
  rejected = total(coverage.rejected);
}

std::string counts_text(const std::map<std::string, int64_t>& counts) {
  Named named;
  for (const auto& [name, count] : counts) named.emplace_back(clean_text(name), count);
  std::stable_sort(named.begin(), named.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return named_text(named);
}

std::string levels_text(const Histogram& levels) {
  Named named;
  for (const auto& [level, count] : levels) named.emplace_back(std::to_string(level), count);
  return (levels.size() == 1 ? "level " : "levels ") + named_text(named);
}

std::string octave_text(int64_t octave) {
  return octave == kNoFlops ? "0" : "2^" + std::to_string(octave);
}

std::string missing_text(const SynthSummary& summary) {
  if (summary.missing.empty()) return "";
  std::string text = std::to_string(summary.missing.size()) + " in no program";
  if (summary.missing_held_out > 0) {
    text += ", " + std::to_string(summary.missing_held_out) + " of them held out for unseen";
  }
  return text;
}

std::string examined_text(const SynthCoverage& coverage) {
  if (coverage.examined == 0) return {};
  const auto share = [](int64_t rejected, int64_t examined) {
    return static_cast<double>(rejected) / static_cast<double>(examined);
  };
  const int64_t rejected = total(coverage.rejected);
  std::string text = "examined " + std::to_string(coverage.examined) + ", rejected " +
                     std::to_string(rejected) + " (" +
                     percent_text(share(rejected, coverage.examined)) + ")";
  if (rejected == 0) return text + "\n";
  text += ": " + counts_text(coverage.rejected) + "\nmost often those with";
  std::vector<std::pair<double, size_t>> worst;
  for (size_t op = 0; op < coverage.operators.size(); ++op) {
    const int64_t of_it = total(coverage.operators[op].rejected);
    if (of_it > 0) worst.emplace_back(-share(of_it, coverage.operators[op].examined), op);
  }
  std::sort(worst.begin(), worst.end());
  constexpr size_t kMost = 6;
  for (size_t i = 0; i < std::min(worst.size(), kMost); ++i) {
    text += (i ? ", " : " ") + std::string(synth_operators()[worst[i].second].name) + " (" +
            percent_text(-worst[i].first) + ")";
  }
  return text + "\n";
}

std::string summary_text(const SynthCoverage& coverage) {
  const SynthSummary summary(coverage);
  std::ostringstream out;
  out << count_text(static_cast<size_t>(coverage.programs), "program") << ": "
      << levels_text(coverage.levels) << "; " << counts_text(coverage.dtypes) << "; split "
      << counts_text(coverage.splits) << "\n";
  out << "structures: " << summary.structures
      << " distinct; rows that repeat an earlier one's: " << summary.repeats;
  for (const RepeatedStructure& most : coverage.most_repeated(1)) {
    out << " (the most frequent is there " << most.rows << " times)";
  }
  out << "\noperators: " << summary.operators << " of " << summary.all_operators << " occur; "
      << extremes_text(coverage) << "\n";
  out << "pairs: " << summary.pairs << " of " << summary.all_pairs << " that can occur";
  if (!summary.missing.empty()) out << "; " << missing_text(summary);
  out << "\ndepth: median " << median(coverage.depth) << ", most " << coverage.depth.rbegin()->first
      << "; reads of a result: median " << median(coverage.reads) << ", most "
      << coverage.reads.rbegin()->first << "\n";
  out << "FLOPs: from " << octave_text(coverage.flops.begin()->first) << " to "
      << octave_text(coverage.flops.rbegin()->first) << ", median "
      << octave_text(median(coverage.flops)) << "; elements of the largest tensor: median "
      << octave_text(median(coverage.largest)) << " (powers rounded down)\n";
  out << examined_text(coverage);
  return out.str();
}

}  // namespace kw
