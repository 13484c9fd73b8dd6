#include "report/graph/program_graph.h"

#include <algorithm>
#include <map>
#include <set>

namespace kw {
namespace {

constexpr double kTitleCharacter = 7.4, kRowCharacter = 6.7, kTabCharacter = 6.2;
constexpr double kTabGap = 6;
constexpr size_t kTitleLength = 34, kRowLength = 44, kMostRows = 4;

// Builds nodes and edges step by step, remembering which box last gave each value its content.
class GraphBuilder {
 public:
  GraphBuilder(const StepText& text, std::vector<GraphGroup> groups) : text_(text) {
    graph_.groups = std::move(groups);
  }

  ProgramGraph build() {
    const Program& program = text_.program();
    group_of_.assign(program.steps.size(), -1);
    for (size_t g = 0; g < graph_.groups.size(); ++g) claim(static_cast<int>(g));
    for (ValueId id : program.inputs) {
      if (!text_.is_state(id)) add_input(id);
    }
    for (size_t i = 0; i < program.steps.size(); ++i) add_step(static_cast<int>(i));
    for (size_t k = 0; k < program.outputs.size(); ++k) add_output(k);
    for (GraphNode& node : graph_.nodes) measure(node);
    return std::move(graph_);
  }

 private:
  struct Source {
    int node = -1;
    ValueId value = -1;
  };

  void claim(int g) {
    std::vector<int> kept;
    for (int step : graph_.groups[g].steps) {
      const bool exists = step >= 0 && step < static_cast<int>(group_of_.size());
      if (!exists || group_of_[step] >= 0) continue;
      group_of_[step] = g;
      kept.push_back(step);
    }
    graph_.groups[g].steps = kept;
  }

  void add_input(ValueId id) {
    GraphNode node;
    node.kind = GraphNode::Kind::kInput;
    node.title = ellipsis(text_.name(id), kTitleLength);
    graph_.nodes.push_back(node);
    provide(id);
    tab_of(static_cast<int>(graph_.nodes.size()) - 1, id);
  }

  void add_step(int step) {
    const int index = static_cast<int>(graph_.nodes.size());
    GraphNode node;
    node.step = step;
    node.group = group_of_[step];
    node.title = ellipsis(text_.op(step), kTitleLength);
    node.faint = text_.is_view(step);
    if (const std::string attributes = text_.attributes(step); !attributes.empty()) {
      node.rows.push_back(ellipsis(attributes, kRowLength));
    }
    graph_.nodes.push_back(node);
    const Step& s = text_.program().steps[step];
    for (const TensorArgument& operand : text_.operands(step)) connect(operand, index);
    for (ValueId id : step_writes(s, text_.task().kernels)) {
      storages_[storage(id)] = {index, id};
    }
    for (ValueId id : step_defines(s)) {
      provide(id);
      if (!written_in_place(s, id)) tab_of(index, id);
    }
    if (graph_.nodes[index].rows.size() > kMostRows) {
      const size_t more = graph_.nodes[index].rows.size() - (kMostRows - 1);
      graph_.nodes[index].rows.resize(kMostRows - 1);
      graph_.nodes[index].rows.push_back("and " + std::to_string(more) + " more");
    }
  }

  void add_output(size_t k) {
    const int index = static_cast<int>(graph_.nodes.size());
    GraphNode node;
    node.kind = GraphNode::Kind::kOutput;
    const bool single = text_.program().outputs.size() == 1;
    node.title = single ? "result" : "result " + std::to_string(k);
    graph_.nodes.push_back(node);
    connect({"", text_.program().outputs[k]}, index);
  }

  int storage(ValueId id) const { return text_.program().values[id].storage; }

  bool written_in_place(const Step& step, ValueId id) const {
    const std::vector<ValueId> written = step_writes(step, text_.task().kernels);
    return std::any_of(written.begin(), written.end(),
                       [&](ValueId w) { return storage(w) == storage(id); });
  }

  // The newest node makes `id`.
  void provide(ValueId id) { makers_[id] = {static_cast<int>(graph_.nodes.size()) - 1, id}; }

  // An edge from whatever last made or wrote the operand; parameters become a row of the box.
  void connect(const TensorArgument& operand, int to) {
    Source source;
    if (auto it = makers_.find(operand.value); it != makers_.end()) source = it->second;
    if (auto it = storages_.find(storage(operand.value));
        it != storages_.end() && it->second.node > source.node) {
      source = {it->second.node, operand.value};
    }
    if (source.node < 0) {
      const Value& value = text_.program().values[operand.value];
      const std::string role = operand.role.empty() ? "" : operand.role + " ";
      graph_.nodes[to].rows.push_back(
          ellipsis(role + text_.name(operand.value) + " " + shape_text(value), kRowLength));
      return;
    }
    const int tab = tab_of(source.node, source.value);
    const bool drawn = std::any_of(graph_.edges.begin(), graph_.edges.end(), [&](const auto& e) {
      return e.from == source.node && e.tab == tab && e.to == to;
    });
    if (!drawn && source.node != to) graph_.edges.push_back({source.node, tab, to, {}});
  }

  int tab_of(int node, ValueId id) {
    std::vector<GraphTab>& tabs = graph_.nodes[node].tabs;
    for (size_t i = 0; i < tabs.size(); ++i) {
      if (tabs[i].value == id) return static_cast<int>(i);
    }
    tabs.push_back({id, shape_text(text_.program().values[id]), 0, 0});
    return static_cast<int>(tabs.size()) - 1;
  }

  static void measure(GraphNode& node) {
    double content = kTitleCharacter * static_cast<double>(code_points(node.title));
    // Room for the step's number and its share of the time.
    if (node.kind == GraphNode::Kind::kStep) content += kRowCharacter * (node.faint ? 5 : 12);
    for (const std::string& row : node.rows) {
      content = std::max(content, kRowCharacter * static_cast<double>(code_points(row)));
    }
    double tabs = -kTabGap;
    for (GraphTab& tab : node.tabs) {
      tab.width = kTabCharacter * static_cast<double>(code_points(tab.label)) + 10;
      tabs += tab.width + kTabGap;
    }
    node.width = std::max(content + 2 * kBoxPadding, tabs + 12);
    node.height = kTitleHeight + 4 + kRowHeight * static_cast<double>(node.rows.size());
    double x = (node.width - tabs) / 2;
    for (GraphTab& tab : node.tabs) {
      tab.x = x;
      x += tab.width + kTabGap;
    }
  }

  const StepText& text_;
  ProgramGraph graph_;
  std::vector<int> group_of_;
  std::map<ValueId, Source> makers_;
  std::map<int, Source> storages_;  // last writes in place
};

}  // namespace

ProgramGraph draw_program(const StepText& text, std::vector<GraphGroup> groups) {
  ProgramGraph graph = GraphBuilder(text, std::move(groups)).build();
  place_graph(graph);
  return graph;
}

}  // namespace kw
