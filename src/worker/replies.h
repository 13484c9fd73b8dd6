// Parsers of what a zygote and its children say (docs/formats/protocol.md, "Worker"). They treat it
// as hostile input: they return a value or throw InputError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/frame.h"
#include "worker/process/sandbox.h"
#include "worker/process/unique_fd.h"
#include "worker/worker_pool.h"

namespace kw {

// What a zygote reports about one job.
struct ZygoteReport {
  enum class Kind { kStarted, kExited, kSignalled, kNotForked } kind = Kind::kStarted;
  uint64_t job = 0;
  UniqueFd pidfd;     // of kStarted
  int code = 0;       // exit code or signal number
  std::string error;  // of kNotForked
};

// Reads a message about one job; `fds` came with it.
ZygoteReport report_from_json(const JsonReader& in, std::vector<UniqueFd> fds);

// Reads the layers of the sandbox that each child adds, from the zygote's greeting.
std::vector<SandboxLayer> layers_from_json(const JsonReader& in);

// Reads a child's whole reply as the result of its job.
JobResult result_from_reply(Frame frame);

}  // namespace kw
