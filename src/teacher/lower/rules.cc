#include "teacher/lower/rules.h"

#include <map>
#include <vector>

namespace kw::teacher {

std::span<const LoweringRule> lowering_rules() {
  static const std::vector<LoweringRule> all = [] {
    std::vector<LoweringRule> out;
    for (auto rules :
         {arithmetic_rules(), convolution_rules(), copy_rules(), factory_rules(), grid_rules(),
          lookup_rules(), loss_rules(), matmul_rules(), norm_rules(), pointwise_rules(),
          reduction_rules(), resampling_rules(), scan_rules(), view_rules(), window_rules()}) {
      out.insert(out.end(), rules.begin(), rules.end());
    }
    return out;
  }();
  return all;
}

const LoweringRule* find_rule(const std::string& op) {
  static const std::map<std::string_view, const LoweringRule*> by_name = [] {
    std::map<std::string_view, const LoweringRule*> out;
    for (const LoweringRule& rule : lowering_rules()) out[rule.op] = &rule;
    return out;
  }();
  const std::string_view base = std::string_view(op).substr(0, op.rfind('.'));
  for (const std::string_view name : {std::string_view(op), base}) {
    if (const auto it = by_name.find(name); it != by_name.end()) return it->second;
  }
  return nullptr;
}

Refusal not_written(const Call& call) {
  return Refusal{call.op() + " is not written by the teacher"};
}

}  // namespace kw::teacher
