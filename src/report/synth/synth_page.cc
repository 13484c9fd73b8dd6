#include "report/synth/synth_page.h"

#include <algorithm>
#include <functional>

#include "eval/run/figures.h"
#include "report/markup/charts.h"
#include "report/sections.h"
#include "report/synth/synth_summary.h"
#include "synth/draw/split.h"
#include "synth/skeleton/synth_operators.h"

namespace kw {
namespace {

constexpr size_t kMostRepeated = 20;  // rows of the table
constexpr int64_t kMostColumns = 64;  // of a histogram; further values share the last

std::string operator_name(size_t place) { return std::string(synth_operators()[place].name); }

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void caption(Markup& out, const std::string& text) { out.leaf("p", text, {{"class", "caption"}}); }

// "constant 5, unstable 2", or "–".
std::string flaws_text(const std::map<std::string, int64_t>& flaws) {
  std::string text;
  for (const auto& [flaw, count] : flaws) {
    text += (text.empty() ? "" : ", ") + flaw + " " + std::to_string(count);
  }
  return text.empty() ? "–" : text;
}

class Page {
 public:
  Page(Markup& out, const SynthCoverage& coverage)
      : out_(out), coverage_(coverage), summary_(coverage) {}

  void write(const std::string& file) {
    write_top(file);
    write_operators();
    write_pairs();
    write_shapes();
    write_structures();
    if (coverage_.examined > 0) write_rejected();
  }

 private:
  void write_top(const std::string& file);
  void write_cards();
  void write_nav();
  void write_operators();
  void write_operator(size_t place, int64_t most);
  void write_pairs();
  void write_missing();
  void write_shapes();
  void write_structures();
  void write_rejected();

  using Name = std::function<std::string(int64_t)>;  // of a value or bucket
  // Columns from the least value to the largest, those between that have no count too.
  void histogram(const std::string& title, const std::string& note, const Histogram& counts,
                 const Name& label, const Name& meaning);
  // Of values as they are, and of floor(log2).
  void values(const std::string& title, const std::string& note, const Histogram& counts);
  void octaves(const std::string& title, const std::string& note, const Histogram& counts);

  Markup& out_;
  const SynthCoverage& coverage_;
  const SynthSummary summary_;
};

void Page::write_top(const std::string& file) {
  const auto header = out_.element("header", {{"id", "headline"}});
  out_.leaf("div", "Kernelwright", {{"class", "brand"}});
  {
    const auto title = out_.element("h1");
    out_.text(file);
    out_.leaf("small", " what its tasks cover");
  }
  out_.leaf("p",
            levels_text(coverage_.levels) + "; " + counts_text(coverage_.dtypes) + "; split " +
                counts_text(coverage_.splits),
            {{"class", "verdict"}});
  write_cards();
  write_nav();
}

void Page::write_cards() {
  const auto cards = out_.element("div", {{"class", "cards"}});
  const auto note = [&](const std::string& text) { out_.leaf("div", text, {{"class", "note"}}); };
  {
    Card card(out_, std::to_string(coverage_.programs),
              coverage_.programs == 1 ? "program" : "programs");
  }
  {
    Card card(out_, std::to_string(summary_.structures), "distinct structures");
    note("rows that repeat an earlier one's: " + std::to_string(summary_.repeats));
  }
  {
    Card card(out_,
              std::to_string(summary_.operators) + " of " + std::to_string(summary_.all_operators),
              "operators occur");
  }
  {
    Card card(out_, std::to_string(summary_.pairs) + " of " + std::to_string(summary_.all_pairs),
              "ordered pairs occur");
    note(summary_.missing.empty() ? "a step reads a result of another" : missing_text(summary_));
  }
  if (coverage_.examined == 0) return;
  Card card(out_, percent_text(share(summary_.rejected, coverage_.examined)),
            "of the programs drawn are rejected");
  note(std::to_string(summary_.rejected) + " of " + std::to_string(coverage_.examined) +
       " examined");
}

void Page::write_nav() {
  const auto nav = out_.element("nav");
  const auto link = [&](const char* target, const char* name) {
    out_.leaf("a", name, {{"href", target}});
  };
  link("#operators", "Operators");
  link("#pairs", "Pairs");
  link("#distributions", "Distributions");
  link("#structures", "Structures");
  if (coverage_.examined > 0) link("#rejected", "Rejected programs");
}

void Page::write_operators() {
  const auto section = out_.element("section", {{"id", "operators"}});
  out_.leaf("h2", "Operators");
  const bool examined = coverage_.examined > 0;
  caption(out_,
          std::string("Steps of each, and programs that have one.") +
              (examined ? " Examined are the programs of the file and those drawn before them "
                          "that were rejected."
                        : ""));
  const auto scroll = out_.element("div", {{"class", "scroll"}});
  const auto table = out_.element("table", {{"class", examined ? "flaws" : "bars"}});
  std::vector<Column> columns = {{"operator"}, {"steps", true}, {""}, {"programs", true}};
  if (examined) {
    columns.insert(columns.end(), {{"examined", true}, {"rejected", true}, {""}, {"for"}});
  }
  write_header_row(out_, columns);
  const auto body = out_.element("tbody");
  int64_t most = 1;
  for (const OperatorCounts& counts : coverage_.operators) most = std::max(most, counts.steps);
  for (size_t i = 0; i < coverage_.operators_meant(); ++i) write_operator(i, most);
}

void Page::write_operator(size_t place, int64_t most) {
  const OperatorCounts& counts = coverage_.operators[place];
  const auto row = out_.element("tr");
  out_.leaf("td", operator_name(place), {{"class", counts.steps > 0 ? "strong" : "alarm"}});
  number_cell(out_, std::to_string(counts.steps));
  write_bars(out_, {{share(counts.steps, most)}});
  number_cell(out_, std::to_string(counts.programs));
  if (coverage_.examined == 0) return;
  int64_t rejected = 0;
  for (const auto& [flaw, count] : counts.rejected) rejected += count;
  const double part = share(rejected, counts.examined);
  number_cell(out_, std::to_string(counts.examined));
  number_cell(out_, counts.examined > 0 ? percent_text(part) : "–");
  write_bars(out_, {{part, "bad"}});
  out_.leaf("td", flaws_text(counts.rejected), {{"class", "reason"}});
}

void Page::write_pairs() {
  const auto section = out_.element("section", {{"id", "pairs"}});
  out_.leaf("h2", "Pairs");
  std::vector<std::string> names;
  std::vector<std::vector<std::optional<HeatCell>>> cells;
  int64_t most = 0;
  const auto operators = synth_operators().first(coverage_.operators_meant());
  for (size_t producer = 0; producer < operators.size(); ++producer) {
    names.push_back(operator_name(producer));
    cells.emplace_back(operators.size());
    for (size_t consumer = 0; consumer < operators.size(); ++consumer) {
      const int64_t count = coverage_.pairs[producer][consumer];
      if (!coverage_.possible[producer][consumer] && count == 0) continue;
      most = std::max(most, count);
      cells.back()[consumer] = {count, is_held_out(operators[producer], operators[consumer])};
    }
  }
  caption(out_,
          "How often a step of the row's operator makes what a step of the column's reads, " +
              std::to_string(most) +
              " times at most; shades go from the least count to the most, by logarithm. Blank: in "
              "no program, framed where the "
              "pair is held out for the split unseen. No cell: what one gives the other cannot "
              "read.");
  {
    const auto heat = out_.element("div", {{"class", "heat"}});
    write_heat_map(out_, "Reads of results by pair of operators", names, cells);
  }
  write_missing();
}

// Pairs that drawing more could give, by producer.
void Page::write_missing() {
  std::vector<std::string> readers(coverage_.operators_meant());
  for (const OperatorPair& pair : summary_.missing) {
    const auto operators = synth_operators();
    if (is_held_out(operators[pair.producer], operators[pair.consumer])) continue;
    std::string& text = readers[pair.producer];
    text += (text.empty() ? "" : ", ") + operator_name(pair.consumer);
  }
  const size_t count = summary_.missing.size() - summary_.missing_held_out;
  if (count == 0 || summary_.pairs == 0) return;  // no list of them all at level 1
  const auto details = out_.element("details");
  out_.leaf("summary", count_text(count, "pair") + " in no program, not held out");
  const auto list = out_.element("dl");
  for (size_t i = 0; i < readers.size(); ++i) {
    if (readers[i].empty()) continue;
    out_.leaf("dt", operator_name(i) + " →");
    out_.leaf("dd", readers[i]);
  }
}

void Page::histogram(const std::string& title, const std::string& note, const Histogram& counts,
                     const Name& label, const Name& meaning) {
  if (counts.empty()) return;
  const auto figure = out_.element("div");
  out_.leaf("h3", title);
  caption(out_, note + "; median " + label(median(counts)));
  const int64_t first = counts.begin()->first, last = counts.rbegin()->first;
  const int64_t most = std::min<int64_t>(last, first + kMostColumns - 1);
  std::vector<ChartColumn> columns;
  for (int64_t value = first; value <= most; ++value) {
    columns.push_back({label(value), meaning(value), 0});
  }
  for (const auto& [value, count] : counts) {
    columns[static_cast<size_t>(std::min(value, most) - first)].count += count;
  }
  if (last > most) columns.back().meaning += " and more";
  write_columns(out_, title, columns);
}

void Page::values(const std::string& title, const std::string& note, const Histogram& counts) {
  const Name name = [](int64_t value) { return std::to_string(value); };
  histogram(title, note, counts, name, name);
}

void Page::octaves(const std::string& title, const std::string& note, const Histogram& counts) {
  histogram(title, note, counts, octave_text, [](int64_t value) {
    return value == kNoFlops ? "none" : octave_text(value) + " to below " + octave_text(value + 1);
  });
}

void Page::write_shapes() {
  const auto section = out_.element("section", {{"id", "distributions"}});
  out_.leaf("h2", "Distributions");
  const auto charts = out_.element("div", {{"class", "charts"}});
  const SynthCoverage& c = coverage_;
  values("Depth", "steps of a program's longest chain", c.depth);
  values("Fan-out", "reads of a step's result; 0: an output", c.reads);
  values("Inputs", "of a program", c.inputs);
  values("Parameters", "of a program, buffers with them", c.parameters);
  values("Outputs", "of a program", c.outputs);
  values("Ranks", "of all tensors", c.ranks);
  octaves("Sizes", "of all dims of all tensors", c.sizes);
  octaves("Largest tensor", "its elements, by program", c.largest);
  octaves("FLOPs", "of a program", c.flops);
  const Name part = [](int64_t value) -> std::string {
    if (value < 0) return "below";
    if (value >= kWindowParts) return "above";
    return std::to_string(100 * value / kWindowParts) + " %";
  };
  histogram("Place in the window", "FLOPs from the lower end to the upper, by logarithm",
            c.position, part, [&](int64_t value) {
              return value < 0 || value >= kWindowParts
                         ? part(value) + " the window"
                         : part(value) + " to " + std::to_string(100 * (value + 1) / kWindowParts) +
                               " %";
            });
}

void Page::write_structures() {
  const auto section = out_.element("section", {{"id", "structures"}});
  out_.leaf("h2", "Structures");
  caption(out_, "Operators, what reads what and parameters, all but the sizes: " +
                    std::to_string(summary_.structures) +
                    " that differ. Rows that repeat an earlier one's: " +
                    std::to_string(summary_.repeats) + ".");
  const std::vector<RepeatedStructure> repeated = coverage_.most_repeated(kMostRepeated);
  if (repeated.empty()) return;
  const auto scroll = out_.element("div", {{"class", "scroll"}});
  const auto table = out_.element("table");
  write_header_row(out_, {{"rows", true}, {"structure"}, {"operators"}, {"one of them"}});
  const auto body = out_.element("tbody");
  for (const RepeatedStructure& each : repeated) {
    const auto row = out_.element("tr");
    std::string operators;
    for (size_t op : each.operators) {
      operators += (operators.empty() ? "" : ", ") + operator_name(op);
    }
    number_cell(out_, std::to_string(each.rows));
    {
      const auto cell = out_.element("td");
      out_.leaf("code", each.structure.substr(0, 12));
    }
    out_.leaf("td", operators, {{"class", "reason"}});
    out_.leaf("td", each.id, {{"class", "reason"}});
  }
}

void Page::write_rejected() {
  const auto section = out_.element("section", {{"id", "rejected"}});
  out_.leaf("h2", "Rejected programs");
  caption(out_, std::to_string(summary_.rejected) + " of " + std::to_string(coverage_.examined) +
                    " programs that were examined, by the first flaw that was found.");
  if (coverage_.rejected.empty()) return;
  const auto table = out_.element("table", {{"class", "bars"}});
  write_header_row(out_, {{"flaw"}, {"programs", true}, {"of the examined", true}, {""}});
  const auto body = out_.element("tbody");
  for (const auto& [flaw, count] : coverage_.rejected) {
    const auto row = out_.element("tr");
    out_.leaf("td", flaw, {{"class", "reason"}});
    number_cell(out_, std::to_string(count));
    number_cell(out_, percent_text(share(count, coverage_.examined)));
    write_bars(out_, {{share(count, summary_.rejected)}});
  }
}

}  // namespace

std::string synth_page(const SynthCoverage& coverage, const std::string& file) {
  Markup out;
  out.trusted("<!DOCTYPE html>\n");
  {
    const auto html = out.element("html", {{"lang", "en"}});
    write_head(out, file, kChartStyle);
    const auto body = out.element("body");
    Page(out, coverage).write(file);
  }
  return out.str() + "\n";
}

}  // namespace kw
