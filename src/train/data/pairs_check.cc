#include "train/data/pairs_check.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace kw::train {
namespace {

// "BLOCK_M=128" and "BLOCK_M=64" are one kind.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

// Returns the text after `name: ` in a line of a plan, up to the next field.
std::string field(const std::string& line, const std::string& name) {
  const size_t begin = line.find(name + ": ");
  if (begin == std::string::npos) return "";
  const size_t from = begin + name.size() + 2;
  return line.substr(from, line.find(';', from) - from);
}

}  // namespace

std::string cell_of(const Pair& pair) {
  std::string out = pair.operators + " |";
  std::istringstream lines(pair.plan);
  for (std::string line; std::getline(lines, line);) {
    if (field(line, "family").empty()) continue;  // a line about all parts
    out += " " + field(line, "family") + " " + without_numbers(field(line, "tiling"));
  }
  return out;
}

void PairCheck::check(const std::vector<Pair>& pairs, uint64_t seed) {
  std::vector<AnswerToJudge> answers;
  std::vector<const Pair*> judged;
  std::map<uint64_t, bool> fair;  // programs
  for (const Pair& pair : pairs) {
    int64_t& taken = taken_[cell_of(pair)];
    if (most_of_cell_ > 0 && taken >= most_of_cell_) {
      ++verdicts_.skipped;
      continue;
    }
    const auto [known, fresh] = fair.try_emplace(pair.index, false);
    if (fresh) known->second = is_fair_(*pair.task);
    if (!known->second) {
      ++verdicts_.unfair;
      continue;
    }
    ++taken;
    answers.push_back({pair.task, pair.answer()});
    judged.push_back(&pair);
  }
  const JudgeReport report = judge_.judge(answers, seed);
  for (size_t i = 0; i < judged.size(); ++i) {
    const Judgement& found = report.judgements[i];
    const Pair& pair = *judged[i];
    if (!found.judged) {
      ++verdicts_.not_judged;
      ++verdicts_.why_not[found.reason];
      --taken_[cell_of(pair)];  // so that another pair of its cell is judged
      continue;
    }
    auto& [right, all] = verdicts_.cells[cell_of(pair)];
    ++all;
    right += found.judged->correct;
    verdicts_.right += found.judged->correct;
    if (found.judged->correct) continue;
    ++verdicts_.wrong;
    verdicts_.failures.push_back({{"operators", pair.operators},
                                  {"level", pair.level},
                                  {"program", pair.index},
                                  {"stage", found.stage},
                                  {"reason", found.reason},
                                  {"prompt", pair.prompt},
                                  {"plan", pair.plan},
                                  {"code", pair.code}});
  }
}

Json to_json(const PairVerdicts& verdicts) {
  const auto all_right = std::ranges::count_if(
      verdicts.cells, [](const auto& cell) { return cell.second.first == cell.second.second; });
  return {{"right", verdicts.right},
          {"wrong", verdicts.wrong},
          {"not_judged", verdicts.not_judged},
          {"unfair", verdicts.unfair},
          {"skipped", verdicts.skipped},
          {"cells", verdicts.cells.size()},
          {"why_not_judged", verdicts.why_not},
          {"cells_all_right", all_right},
          {"failures", verdicts.failures}};
}

}  // namespace kw::train
