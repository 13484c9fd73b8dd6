// Runs a candidate for whoever watches the process (protocol.h, BareRequest). For one thread.
#pragma once

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "runtime/protocol.h"

namespace kw::exec {

// Returns when the device has done it. Throws as Replay::run() does.
void run_bare(const BareRequest& request, LoadedTask& reference, LoadedTask& candidate,
              Backend& backend);

}  // namespace kw::exec
