#include "report/comparison_section.h"

namespace kw {

void write_comparison(Markup& out, const std::string& id, const std::string& heading,
                      const std::vector<RunComparison>& comparisons, const std::string& note) {
  const auto section = out.element("section", {{"id", id}});
  out.leaf("h2", heading);
  out.leaf("p",
           "Differences by task, of the first that is named less the other, with 95 % intervals "
           "(docs/metrics.md). Where one had more samples, pass@1 alone is fair.",
           {{"class", "caption"}});
  if (!note.empty()) out.leaf("p", note);
  for (const RunComparison& each : comparisons) {
    out.leaf("h4", title_of(each));
    const auto table = out.element("table");
    const auto body = out.element("tbody");
    for (const auto& [name, text] : rows_of(each.comparison)) {
      const auto row = out.element("tr");
      out.leaf("td", name);
      out.leaf("td", text);
    }
  }
}

}  // namespace kw
