// What keeps the host's share of a call small: what forward found in the model is kept for the next
// call, and each launch keeps what Triton compiled for it.
#pragma once

#include <string>
#include <vector>

namespace kw {

// The class _kw_Launch and its objects _kw_launch_0, ..., which are made of `launches`
// (StepWriter::launch_by()); empty where there are none.
std::string launch_class(const std::vector<std::string>& launches);

// The classes _kw_Call and _kw_Bound, and the functions that they call. `graphs`: calls may run by
// CUDA graphs (graph_path.h).
std::string bound_class(bool graphs);

}  // namespace kw
