#include "report/graph/graph_svg.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/run/figures.h"

namespace kw {
namespace {

constexpr int kColours = 8;

std::string px(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", x);
  return text;
}

Attributes rectangle(double x, double y, double width, double height, double round) {
  return {
      {"x", px(x)}, {"y", px(y)}, {"width", px(width)}, {"height", px(height)}, {"rx", px(round)}};
}

void write_text(Markup& out, double x, double y, const std::string& text, const char* style) {
  out.leaf("text", text, {{"x", px(x)}, {"y", px(y)}, {"class", style}});
}

// Sideways moves, which lie between layers, become S-curves with vertical ends.
std::string path_text(const std::vector<Point>& route) {
  std::string out;
  for (size_t i = 0; i < route.size(); ++i) {
    const Point& p = route[i];
    if (i == 0) {
      out += "M" + px(p.x) + " " + px(p.y);
      continue;
    }
    const Point& q = route[i - 1];
    if (std::abs(p.x - q.x) < 0.1) {
      out += "V" + px(p.y);
    } else {
      const std::string middle = px((p.y + q.y) / 2);
      out += "C" + px(q.x) + " " + middle + " " + px(p.x) + " " + middle + " " + px(p.x) + " " +
             px(p.y);
    }
  }
  return out;
}

class Drawing {
 public:
  Drawing(Markup& out, const ProgramGraph& graph, const StepText& text,
          const std::vector<double>& seconds)
      : out_(out), graph_(graph), text_(text), seconds_(seconds) {
    total_ = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  }

  void write() {
    const auto svg =
        out_.element("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                             {"role", "img"},
                             {"aria-label", "Graph of the program"},
                             {"width", px(graph_.width)},
                             {"height", px(graph_.height)},
                             {"viewBox", "0 0 " + px(graph_.width) + " " + px(graph_.height)}});
    out_.trusted(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\"/></marker></defs>");
    for (size_t g = 0; g < graph_.groups.size(); ++g) frame(static_cast<int>(g));
    for (const GraphEdge& e : graph_.edges) edge(e);
    for (size_t g = 0; g < graph_.groups.size(); ++g) frame_title(static_cast<int>(g));
    for (const GraphNode& n : graph_.nodes) node(n);
  }

 private:
  void frame(int g) {
    const GraphGroup& group = graph_.groups[g];
    if (!group.framed) return;
    Attributes attributes = rectangle(group.x, group.y, group.width, group.height, 10);
    attributes.push_back({"class", "frame " + group_class(g)});
    out_.empty("rect", attributes);
  }

  void frame_title(int g) {
    const GraphGroup& group = graph_.groups[g];
    if (!group.framed) return;
    const auto link = out_.element(
        "a", {{"href", "#fragment-" + std::to_string(g + 1)}, {"class", group_class(g)}});
    write_text(out_, group.x + 12, group.y + 16, group.title, "frame-title");
  }

  void edge(const GraphEdge& e) {
    const GraphNode& from = graph_.nodes[e.from];
    const auto path = out_.element(
        "path", {{"d", path_text(e.route)}, {"class", "edge"}, {"marker-end", "url(#arrow)"}});
    const GraphTab& tab = from.tabs[e.tab];
    out_.leaf("title", text_.name(tab.value) + ": " + tab.label + ", " + from.title + " → " +
                           graph_.nodes[e.to].title);
  }

  void node(const GraphNode& n) {
    const char* kind = n.kind == GraphNode::Kind::kInput    ? "node input"
                       : n.kind == GraphNode::Kind::kOutput ? "node output"
                       : n.faint                            ? "node view"
                                                            : "node step";
    Attributes attributes = {{"class", kind}};
    if (n.group >= 0) attributes[0].value += " " + group_class(n.group);
    if (n.step >= 0) attributes.push_back({"id", "step-" + std::to_string(n.step)});
    const auto group = out_.element("g", attributes);
    if (n.step >= 0) out_.leaf("title", text_.line(n.step));
    const bool pill = n.kind != GraphNode::Kind::kStep;
    Attributes box = rectangle(n.x, n.y, n.width, n.height, pill ? n.height / 2 : 5);
    box.push_back({"class", "box"});
    out_.empty("rect", box);
    double y = n.y + kTitleHeight - 4;
    if (pill && n.rows.empty()) {
      write_text(out_, n.x + n.width / 2, y, n.title, "name middle");
    } else {
      write_text(out_, n.x + kBoxPadding, y, n.title, "name");
    }
    if (n.step >= 0) write_text(out_, n.x + n.width - kBoxPadding, y, corner(n), "corner end");
    for (const std::string& row : n.rows) {
      y += kRowHeight;
      write_text(out_, n.x + (pill ? 14 : kBoxPadding), y, row, "row");
    }
    for (const GraphTab& tab : n.tabs) write_tab(n, tab);
  }

  // "12 % #3": share of the time, number of the step.
  std::string corner(const GraphNode& n) const {
    const std::string number = "#" + std::to_string(n.step);
    const bool timed = static_cast<size_t>(n.step) < seconds_.size() && total_ > 0;
    if (!timed || n.faint) return number;
    return percent_text(seconds_[n.step] / total_) + "  " + number;
  }

  void write_tab(const GraphNode& n, const GraphTab& tab) {
    const double top = n.y + n.height;
    Attributes box = rectangle(n.x + tab.x, top, tab.width, kTabHeight, 3);
    box.push_back({"class", "tab"});
    out_.empty("rect", box);
    write_text(out_, n.x + tab.x + tab.width / 2, top + 11, tab.label, "shape middle");
  }

  Markup& out_;
  const ProgramGraph& graph_;
  const StepText& text_;
  const std::vector<double>& seconds_;
  double total_ = 0;
};

}  // namespace

std::string group_class(int group) { return "c" + std::to_string(group % kColours); }

void write_graph(Markup& out, const ProgramGraph& graph, const StepText& text,
                 const std::vector<double>& step_seconds) {
  Drawing(out, graph, text, step_seconds).write();
}

}  // namespace kw
