#include "executor/trial/bare.h"

#include "executor/aten/guarded_memory.h"
#include "executor/aten/seeds.h"

namespace kw::exec {

void run_bare(const BareRequest& request, LoadedTask& reference, LoadedTask& candidate,
              Backend& backend) {
  const Draw draw = reference.draw(request.seed, {});
  Guards guards = Guards::bare(backend.device());
  // New buffers hold what `guards` puts there, which is nothing.
  const auto options = ReplayOptions::candidate(guards, Unwritten::kPoison);
  backend.clear_scratch(true);
  std::vector<at::Tensor> all = guards.copy(draw.state);
  const std::vector<at::Tensor> derived = candidate.draw_derived(all, options);
  const std::vector<at::Tensor> inputs = guards.copy(draw.inputs);
  all.insert(all.end(), derived.begin(), derived.end());
  all.insert(all.end(), inputs.begin(), inputs.end());
  seed_generators(derive_seed(request.seed, Purpose::kForward));
  candidate.forward().run(std::move(all), options);
  backend.synchronize();
  backend.clear_scratch(false);
}

}  // namespace kw::exec
