#include "report/markup/charts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/run/figures.h"

namespace kw {

// Shades are opacities, so that they do on a light page and on a dark one.
const std::string_view kChartStyle = R"css(
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 4px 28px; }
.charts svg, .heat svg { display: block; max-width: 100%; height: auto; }
.heat { overflow-x: auto; }
svg .column { fill: var(--bar); } svg .base { fill: var(--line); }
svg .place { fill: transparent; } svg .place:hover { fill: var(--link); fill-opacity: .15; }
svg .cell { fill: var(--link); stroke: none; } svg .cell:hover { stroke: var(--ink); }
svg .h0 { fill: var(--card); stroke: var(--line); } svg .h0.marked { stroke: var(--warn); }
svg .h1 { fill-opacity: .16; } svg .h2 { fill-opacity: .28; } svg .h3 { fill-opacity: .4; }
svg .h4 { fill-opacity: .53; } svg .h5 { fill-opacity: .68; } svg .h6 { fill-opacity: .84; }
svg .label { font-size: 10px; fill: var(--ink); }
svg .curve { fill: none; stroke: var(--link); stroke-width: 1.6; }
svg .point { fill: var(--link); } svg .whisker { fill: var(--link); fill-opacity: .35; }
)css";

namespace {

constexpr int kShades = 7;

struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;
};

std::string px(double x) {
  std::string text = std::to_string(std::llround(10 * x));  // tenths
  if (text.size() < 2) text.insert(0, "0");
  const char tenth = text.back();
  text.pop_back();
  return tenth == '0' ? text : text + "." + tenth;
}

Attributes attributes(const Rectangle& r, const std::string& style) {
  return {{"x", px(r.x)},
          {"y", px(r.y)},
          {"width", px(r.width)},
          {"height", px(r.height)},
          {"class", style}};
}

void write_rectangle(Markup& out, const Rectangle& r, const std::string& style,
                     const std::string& tooltip) {
  const auto rect = out.element("rect", attributes(r, style));
  out.leaf("title", tooltip);
}

void write_text(Markup& out, double x, double y, const std::string& text, const char* style) {
  out.leaf("text", text, {{"x", px(x)}, {"y", px(y)}, {"class", style}});
}

Markup::Scope svg(Markup& out, const std::string& name, double width, double height) {
  return out.element("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                             {"role", "img"},
                             {"aria-label", name},
                             {"width", px(width)},
                             {"height", px(height)},
                             {"viewBox", "0 0 " + px(width) + " " + px(height)}});
}

// Of counts from `least` to `most`: 1 to kShades; 0 of none.
int shade(int64_t count, int64_t least, int64_t most) {
  if (count <= 0) return 0;
  if (least == most) return kShades;
  const auto log = [](int64_t x) { return std::log(static_cast<double>(x)); };
  const double share = (log(count) - log(least)) / (log(most) - log(least));
  return 1 + static_cast<int>(std::lround((kShades - 1) * share));
}

// Characters of a label, about.
constexpr double kCharacter = 6.2;

}  // namespace

void write_columns(Markup& out, const std::string& name, const std::vector<ChartColumn>& columns) {
  constexpr double kWidth = 380, kTop = 16, kHeight = 110, kFoot = 18;
  int64_t most = 1, all = 0;
  size_t longest = 1;
  for (const ChartColumn& column : columns) {
    most = std::max(most, column.count);
    all += column.count;
    longest = std::max(longest, column.label.size());
  }
  const auto chart = svg(out, name, kWidth, kTop + kHeight + kFoot);
  const double step = kWidth / static_cast<double>(std::max<size_t>(columns.size(), 1));
  // As many labels as do not touch.
  const auto every = static_cast<size_t>(
      std::max(1.0, std::ceil(kCharacter * (static_cast<double>(longest) + 1) / step)));
  for (size_t i = 0; i < columns.size(); ++i) {
    const ChartColumn& column = columns[i];
    const double part = static_cast<double>(column.count) / static_cast<double>(most);
    // What is there is seen.
    const double height = column.count > 0 ? std::max(1.0, kHeight * part) : 0;
    const double left = step * static_cast<double>(i), width = std::min(step * 0.84, 60.0);
    const double middle = left + step / 2;
    const double share =
        static_cast<double>(column.count) / static_cast<double>(std::max<int64_t>(all, 1));
    const std::string tooltip =
        column.meaning + ": " + std::to_string(column.count) + " (" + percent_text(share) + ")";
    out.empty("rect",
              attributes({middle - width / 2, kTop + kHeight - height, width, height}, "column"));
    write_rectangle(out, {left, kTop, step, kHeight}, "place", tooltip);
    if (step >= 48 && column.count > 0) {
      write_text(out, middle, kTop + kHeight - height - 4, percent_text(share), "row middle");
    }
    if (i % every == 0) write_text(out, middle, kTop + kHeight + 14, column.label, "row middle");
  }
  out.empty("rect", attributes({0, kTop + kHeight, kWidth, 1}, "base"));
}

void write_curve(Markup& out, const std::string& name, const std::vector<CurvePoint>& points) {
  constexpr double kWidth = 380, kLeft = 36, kTop = 8, kHeight = 130, kFoot = 18;
  const auto chart = svg(out, name, kWidth, kTop + kHeight + kFoot);
  const auto y = [&](double share) { return kTop + kHeight * (1 - std::clamp(share, 0.0, 1.0)); };
  for (const double share : {0.0, 0.5, 1.0}) {
    out.empty("rect", attributes({kLeft, y(share), kWidth - kLeft, 1}, "base"));
    write_text(out, kLeft - 4, y(share) + 4, percent_text(share), "row end");
  }
  const double step = (kWidth - kLeft) / static_cast<double>(std::max<size_t>(points.size(), 1));
  const auto x = [&](size_t i) { return kLeft + step * (static_cast<double>(i) + 0.5); };
  size_t longest = 1;
  std::string line;
  for (size_t i = 0; i < points.size(); ++i) {
    line += (i ? " " : "") + px(x(i)) + "," + px(y(points[i].share));
    longest = std::max(longest, points[i].label.size());
  }
  out.empty("polyline", {{"points", line}, {"class", "curve"}});
  const auto every = static_cast<size_t>(
      std::max(1.0, std::ceil(kCharacter * (static_cast<double>(longest) + 1) / step)));
  for (size_t i = 0; i < points.size(); ++i) {
    const CurvePoint& point = points[i];
    const double top = y(point.upper);
    out.empty("rect", attributes({x(i) - 1.5, top, 3, y(point.lower) - top}, "whisker"));
    out.empty("rect", attributes({x(i) - 2.5, y(point.share) - 2.5, 5, 5}, "point"));
    write_rectangle(out, {x(i) - step / 2, kTop, step, kHeight}, "place",
                    point.label + ": " + percent_text(point.share) + " (" +
                        percent_text(point.lower) + " to " + percent_text(point.upper) + ")");
    if (i % every == 0) write_text(out, x(i), kTop + kHeight + 14, point.label, "row middle");
  }
}

void write_heat_map(Markup& out, const std::string& name, const std::vector<std::string>& names,
                    const std::vector<std::vector<std::optional<HeatCell>>>& cells) {
  constexpr double kCell = 14, kBox = kCell - 1;
  size_t longest = 0;
  int64_t least = 0, most = 0;
  for (const std::string& each : names) longest = std::max(longest, each.size());
  for (const auto& row : cells) {
    for (const auto& cell : row) {
      if (!cell || cell->count <= 0) continue;
      least = least == 0 ? cell->count : std::min(least, cell->count);
      most = std::max(most, cell->count);
    }
  }
  const double labels = kCharacter * static_cast<double>(longest) + 8;
  const double side = kCell * static_cast<double>(names.size());
  // Labels of columns lean over to the right.
  const auto map = svg(out, name, labels + side + labels / 2, labels + side);
  for (size_t i = 0; i < names.size(); ++i) {
    const double at = labels + kCell * static_cast<double>(i);
    write_text(out, labels - 6, at + 10, names[i], "label end");
    const std::string foot = px(at + 10) + " " + px(labels - 6);
    out.leaf("text", names[i],
             {{"x", px(at + 10)},
              {"y", px(labels - 6)},
              {"class", "label"},
              {"transform", "rotate(-65 " + foot + ")"}});
  }
  for (size_t row = 0; row < cells.size(); ++row) {
    for (size_t column = 0; column < cells[row].size(); ++column) {
      const auto& cell = cells[row][column];
      if (!cell) continue;
      const Rectangle place{labels + kCell * static_cast<double>(column),
                            labels + kCell * static_cast<double>(row), kBox, kBox};
      write_rectangle(out, place,
                      "cell h" + std::to_string(shade(cell->count, least, most)) +
                          (cell->marked ? " marked" : ""),
                      names[row] + " → " + names[column] + ": " + std::to_string(cell->count));
    }
  }
}

}  // namespace kw
