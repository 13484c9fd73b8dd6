#include "policy/verl_row.h"

namespace kw {

Json verl_row(const Prompt& prompt, const std::string& level, const std::string& id, Json about) {
  return {{"data_source", level.empty() ? "kernelwright" : "kernelwright-level" + level},
          {"prompt",
           {{{"role", "system"}, {"content", prompt.system}},
            {{"role", "user"}, {"content", prompt.user}}}},
          {"ability", "kernels"},
          {"reward_model", {{"style", "rule"}, {"ground_truth", id}}},
          {"extra_info", std::move(about)}};
}

}  // namespace kw
