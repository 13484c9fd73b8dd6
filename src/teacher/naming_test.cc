// Kernels whose values are called as the task's text calls them are the same kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "policy/test_fragment.h"
#include "program/task_json.h"
#include "teacher/teacher.h"

namespace kw::teacher {
namespace {

// Tasks of the suites that keep nothing of their own.
std::vector<Task> suite_tasks(const std::string& level) {
  std::vector<Task> out;
  std::ifstream file(KW_SOURCE_DIR "/suites/level" + level + ".jsonl");
  for (std::string line; std::getline(file, line);) {
    const Json row = parse_json(line, "suite");
    Task task = task_from_json(JsonReader(row.at("program"), "task"), nullptr);
    if (task.state.empty() && task.derive.outputs.empty()) out.push_back(std::move(task));
  }
  return out;
}

// Items of the list that begins behind text[open], which is cut out.
std::vector<std::string> cut_list(std::string& text, size_t open) {
  std::vector<std::string> out(1);
  int depth = 1;
  size_t i = open + 1;
  for (; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == ']') && --depth == 0) break;
    if (text[i] == ',' && depth == 1) {
      out.emplace_back();
    } else if (text[i] != ' ') {
      out.back() += text[i];
    }
  }
  text.erase(open + 1, i - open - 1);
  return out;
}

// Puts parameters into the order in which the function's body uses them first. In the source they
// are in the order of their names, and names differ. Launches say how many arguments they pass.
std::string in_order_of_use(std::string function) {
  const size_t open = function.find('(');
  if (open == std::string::npos) return function;
  std::vector<std::string> parameters = cut_list(function, open);
  const auto use = [&](const std::string& parameter) {
    const std::regex word("\\b" + parameter.substr(0, parameter.find(':')) + "\\b");
    std::smatch found;
    const bool any = std::regex_search(function, found, word);
    return any ? found.position() : std::string::npos;
  };
  if (function.find("self") == std::string::npos) std::ranges::sort(parameters, {}, use);
  for (size_t at = 0; (at = function.find("](", at)) != std::string::npos; ++at) {
    const size_t count = cut_list(function, at + 1).size();
    function.insert(at + 2, std::to_string(count));
  }
  std::string list;
  for (const std::string& parameter : parameters) list += parameter + " ";
  return function.insert(open + 1, list);
}

// A source without comments, from function to function, as words and the characters between them.
std::vector<std::vector<std::string>> functions_of(const std::string& source) {
  static const std::regex comment("#[^\n]*"), spaces("\\s+"), word("\\.?\\w+|[^\\w]");
  std::vector<std::vector<std::string>> out(1);
  const std::string whole =
      std::regex_replace(std::regex_replace(source, comment, ""), spaces, " ");
  std::string bare;
  for (size_t at = 0; at != std::string::npos;) {
    const size_t next = whole.find("def ", at + 1);
    const std::string part = whole.substr(at, next - at);
    bare += at == 0 ? part : in_order_of_use(part);
    at = next;
  }
  for (std::sregex_iterator it(bare.begin(), bare.end(), word), end; it != end; ++it) {
    if (it->str() == "def") out.emplace_back();
    if (it->str() != " ") out.back().push_back(it->str());
  }
  return out;
}

// Whether words of one source stand for words of the other, each for one of its own.
bool renamed(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::map<std::string, std::string> forth, back;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (forth.emplace(a[i], b[i]).first->second != b[i]) return false;
    if (back.emplace(b[i], a[i]).first->second != a[i]) return false;
  }
  return true;
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    out.insert(it->str());
  }
  return out;
}

class Named : public testing::TestWithParam<const char*> {};

TEST_P(Named, KernelsAreTheSameButForNames) {
  size_t compared = 0;
  for (const Task& task : suite_tasks(GetParam())) {
    const auto plain = make_teacher({.whole = true})->propose(task, profile(), 2, 0, kNoDeadline);
    const auto named = make_teacher({.whole = true, .first_name = 500})
                           ->propose(task, profile(), 2, 0, kNoDeadline);
    ASSERT_EQ(plain.size(), named.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      // Two kernels may be one but for the names of their values. Imports come first.
      const auto a = functions_of(plain[i].source), b = functions_of(named[i].source);
      ASSERT_LE(a.size(), b.size());
      for (size_t k = 0; k + 1 < b.size() || (k < b.size() && a.size() == b.size()); ++k) {
        ++compared;
        EXPECT_TRUE(std::ranges::any_of(a, [&](const auto& own) { return renamed(own, b[k]); }))
            << plain[i].source << named[i].source;
      }
      // Kernels by their own numbers, and none by its hash.
      std::set<size_t> kernels;
      for (const std::string& kernel : matches(named[i].source, "def k\\d+")) {
        kernels.insert(std::stoul(kernel.substr(5)));
      }
      EXPECT_EQ(*kernels.begin(), 500u);
      EXPECT_EQ(*kernels.rbegin(), 499 + kernels.size());
      EXPECT_TRUE(matches(named[i].source, "fused_\\w+").empty());
      // Values are those of the task, in plan and code.
      size_t results = 0;
      for (const Step& step : task.forward.steps) {
        for (ValueId id : std::get<AtenCall>(step).results) results += id >= 0;
      }
      for (const std::string& name : matches(named[i].plan + named[i].source, "\\bt\\d+")) {
        const size_t number = std::stoul(name.substr(1));
        EXPECT_GE(number, 500u);
        EXPECT_LT(number, 500 + results);
      }
    }
  }
  EXPECT_GT(compared, 100u);
}

// Sizes are taken from scratch memory, which a kernel before may not have had yet.
TEST_P(Named, MemoryIsThereBeforeItIsRead) {
  size_t scratch = 0;
  for (const Task& task : suite_tasks(GetParam())) {
    for (const Proposal& proposal :
         make_teacher({.whole = true})->propose(task, profile(), 2, 0, kNoDeadline)) {
      const size_t host = proposal.source.find("def forward(self");
      ASSERT_NE(host, std::string::npos);
      std::istringstream lines(proposal.source.substr(host));
      std::string line;
      std::getline(lines, line);
      std::set<std::string> known = matches(line, "\\ba\\d+\\b");
      while (std::getline(lines, line)) {
        for (const std::string& name : matches(line, "\\b(?:a|out)\\d+\\b")) {
          if (line.find(name + " = torch.empty") != std::string::npos) known.insert(name);
          EXPECT_TRUE(known.contains(name)) << name << "\n" << proposal.source;
          scratch += name[0] == 'o' && line.find(name + ".shape") != std::string::npos;
        }
      }
    }
  }
  if (std::string(GetParam()) == "5") {
    EXPECT_GT(scratch, 50u);
  }
}

INSTANTIATE_TEST_SUITE_P(Suites, Named, testing::Values("1", "5"));

TEST(Naming, EachValueHasItsLine) {
  FragmentBuilder b;
  const ValueId x = b.input({64, 128}), y = b.input({64, 128});
  const ValueId sum = b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(y)}}, {64, 128});
  const ValueId out = b.call("aten.relu.default", {{"self", ref(sum)}}, {64, 128});
  const auto made =
      make_teacher({.first_name = 31})->propose(b.build(out), profile(), 1, 0, kNoDeadline);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].plan.find("-> t32\nt32 (64, 128); axes: flat; values: t31, t32; "
                              "a0: flat; a1: flat; family: pointwise; "),
            0u);
  EXPECT_NE(made[0].source.find("    t31 = a0 + a1\n"), std::string::npos) << made[0].source;
  EXPECT_NE(made[0].source.find("    t32 = "), std::string::npos);
}

// What comes next is known without the code that follows.
TEST(Naming, ParametersStandInTheOrderOfTheirNames) {
  FragmentBuilder b;
  ValueId sum = b.input({7, 9, 33});
  for (int i = 1; i < 12; ++i) {
    sum = b.call("aten.add.Tensor", {{"self", ref(b.input({9, 1}))}, {"other", ref(sum)}},
                 {7, 9, 33});
  }
  const auto made =
      make_teacher({.first_name = 31})->propose(b.build(sum), profile(), 1, 0, kNoDeadline);
  ASSERT_EQ(made.size(), 1u);
  std::string pointers = "(";
  for (int i = 0; i < 12; ++i) pointers += "a" + std::to_string(i) + "_ptr, ";
  std::string source;  // on one line
  for (const char c : made[0].source) {
    if (c != '\n') {
      source += c;
    } else {
      source += ' ';
    }
  }
  source = std::regex_replace(source, std::regex(" +"), " ");
  EXPECT_NE(source.find(pointers + "t41_ptr, "), std::string::npos) << source;
}

// What one kernel stores and the next one reads has the name of the task's value in both, and to
// the host: nothing is to be counted or looked up.
TEST(Naming, MemoryIsCalledAsTheValueThatItHolds) {
  FragmentBuilder b;
  const ValueId x = b.input({64, 128}), y = b.input({128, 96});
  const ValueId sums =
      b.call("aten.cumsum.default", {{"self", ref(x)}, {"dim", num(1)}}, {64, 128});
  const ValueId out = b.call("aten.mm.default", {{"self", ref(sums)}, {"mat2", ref(y)}}, {64, 96});
  const auto made = make_teacher({.whole = true, .first_name = 31})
                        ->propose(b.build(out), profile(), 1, 0, kNoDeadline);
  ASSERT_EQ(made.size(), 1u);
  const std::string& source = made[0].source;
  EXPECT_EQ(made[0].plan.find("-> t31, t32\nt31 (64, 128); "), 0u) << made[0].plan;
  EXPECT_NE(made[0].plan.find("\nt32 (64, 96); "), std::string::npos) << made[0].plan;
  EXPECT_NE(source.find("tl.store(t31_ptr"), std::string::npos) << source;
  EXPECT_NE(source.find("= tl.load(t31_ptr"), std::string::npos) << source;
  EXPECT_NE(source.find("t31 = torch.empty("), std::string::npos) << source;
  EXPECT_NE(source.find("return t32\n"), std::string::npos) << source;
  EXPECT_TRUE(matches(made[0].plan + source, "\\b(?:out|x)\\d+").empty()) << source;
}

// A scan's indices are not listed if nothing reads them.
TEST(Naming, ValuesAreThoseThatKernelsCompute) {
  FragmentBuilder b;
  const ValueId x = b.input({64, 128});
  const ValueId scanned =
      b.call("aten.cummax.default", {{"self", ref(x)}, {"dim", num(1)}}, {64, 128});
  b.result({64, 128}, DType::kInt64);
  const ValueId out = b.call("aten.relu.default", {{"self", ref(scanned)}}, {64, 128});
  const auto made =
      make_teacher({.first_name = 31})->propose(b.build(out), profile(), 1, 0, kNoDeadline);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_NE(made[0].plan.find("; values: t31, t33; "), std::string::npos) << made[0].plan;
}

size_t number_of(const std::string& name) { return std::stoul(name.substr(1)); }

// In every program, each stored value is in the first line and has one separate line. Lines are in
// the order of the task, unless one reads what the other stores. What a part reads and does not
// compute is an argument or was stored before.
TEST(Plan, BeginsWithWhatPartsHandOn) {
  size_t lines_seen = 0, in_order = 0;
  for (const Task& task : suite_tasks("5")) {
    const auto made = make_teacher({.whole = true, .first_name = 500})
                          ->propose(task, profile(), 1, 0, kNoDeadline);
    if (made.empty()) continue;
    std::istringstream lines(made[0].plan);
    std::string line;
    std::getline(lines, line);
    const std::set<std::string> memory = matches(line, "\\bt\\d+");
    ASSERT_TRUE(line.starts_with("-> ")) << line;
    std::set<std::string> stored;
    size_t last = 0;
    while (std::getline(lines, line)) {
      const size_t end = line.find("; axes: ");
      ASSERT_NE(end, std::string::npos) << line;
      const std::set<std::string> results = matches(line.substr(0, end), "\\b(t|out)\\d+");
      ASSERT_FALSE(results.empty()) << line;
      for (const std::string& read : matches(line, "\\bt\\d+(?=: )")) {
        if (results.contains(read)) continue;
        EXPECT_TRUE(stored.contains(read)) << read << " in " << made[0].plan;
      }
      for (const std::string& name : results) {
        EXPECT_TRUE(!name.starts_with("t") || memory.contains(name)) << made[0].plan;
        EXPECT_TRUE(stored.insert(name).second) << made[0].plan;
      }
      const size_t first = results.begin()->starts_with("t") ? number_of(*results.begin()) : last;
      in_order += first >= last;
      ++lines_seen;
      last = first;
    }
    for (const std::string& name : memory) EXPECT_TRUE(stored.contains(name)) << made[0].plan;
  }
  EXPECT_GT(lines_seen, 100u);
  EXPECT_GT(in_order, lines_seen * 19 / 20);
}

}  // namespace
}  // namespace kw::teacher
