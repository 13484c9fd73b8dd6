// What a result is compared with, by a trusted process (compile_server.h): torch.compile's versions
// of references, and calls as Python makes them. Used by one thread at a time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "verify/verifier.h"
#include "worker/services/compile_server.h"

namespace kw {

// What a package is made from.
struct BaselineRequest {
  RecordRequest model;
  std::vector<StateEntry> state;
  // Which of the forward program's inputs (state first, then arguments) the package takes, in this
  // order; empty: all of them, in theirs.
  std::vector<int> inputs;
  bool max_autotune = false;  // as torch.compile's mode of this name; takes the GPU meanwhile
};

class Baselines {
 public:
  // `device` is "cuda" or "cpu". At most `parallel` packages are built at once.
  Baselines(const std::string& device, int parallel);

  // AOTInductor packages in the order of `requests`; empty, with one line on stderr, where there is
  // none. They live in `folder`, which belongs to one such call.
  std::vector<std::string> build(const std::vector<BaselineRequest>& requests,
                                 const std::filesystem::path& folder);

  // Wall times of calls of the reference and of its optimized.py `python`, in a process that has
  // the device. `compile`: torch.compile too, which takes some ten seconds for each of its two
  // modes.
  CallTimes time_calls(const RecordRequest& model, const std::string& python, bool compile,
                       const std::filesystem::path& folder);

 private:
  const int parallel_;
  CompileServer server_;
};

}  // namespace kw
