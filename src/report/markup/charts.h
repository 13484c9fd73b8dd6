// Charts as inline SVG: columns over a scale, and a table of counts as shades. Exact numbers are
// in the tooltips. Classes are kChartStyle's, which a page adds to its style sheet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/markup/markup.h"

namespace kw {

extern const std::string_view kChartStyle;

struct ChartColumn {
  std::string label;    // under the column, where there is room
  std::string meaning;  // "2 steps": in the tooltip, before the count
  int64_t count = 0;
};

// `name` is for readers who do not see it.
void write_columns(Markup& out, const std::string& name, const std::vector<ChartColumn>& columns);

struct CurvePoint {
  std::string label;  // under the point
  double share = 0;   // 0 to 1, as its ends
  double lower = 0, upper = 0;
};

// Shares, each with its interval as a bar.
void write_curve(Markup& out, const std::string& name, const std::vector<CurvePoint>& points);

struct HeatCell {
  int64_t count = 0;
  bool marked = false;  // framed
};

// Shades go from the least count to the largest, by logarithm. A cell is empty where there cannot
// be a count; `cells` has a row and a column for each name.
void write_heat_map(Markup& out, const std::string& name, const std::vector<std::string>& names,
                    const std::vector<std::vector<std::optional<HeatCell>>>& cells);

}  // namespace kw
