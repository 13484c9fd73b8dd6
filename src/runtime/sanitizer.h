// Runs of candidates under compute-sanitizer, NVIDIA's checker of what kernels do to memory. Two of
// its tools run: memcheck, for accesses outside of allocations, and initcheck, for reads of global
// memory that nobody has written. What they find in other kernels, such as PyTorch's, does not
// count.
//
// Nor does what concerns shared memory, which is the compiler's. memcheck takes the operands of
// Hopper's products for larger than they are (NVIDIA/compute-sanitizer-samples#19), and racecheck,
// which does not run, finds races in what Triton makes of right products and sums
// (triton-lang/triton#4736). No tool sees races in global memory. Torch-free.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"
#include "program/program.h"
#include "runtime/executor_process.h"

namespace kw {

struct SanitizerFinding {
  std::string tool;
  std::string what;   // "Invalid __global__ read of size 16 bytes"
  std::string where;  // the kernel; "_softmax in model.py:12" if it was compiled with its lines
  int64_t count = 1;  // of messages, which are one a thread
};

struct SanitizerReport {
  std::vector<SanitizerFinding> findings;  // memcheck's
  // initcheck's. To read what nobody wrote is no fault if its value does not matter, and that is
  // for trials to find out, with several values (protocol.h, Unwritten).
  std::vector<SanitizerFinding> noted;
  std::string fault;   // why a tool did not run to its end; empty: both did
  double seconds = 0;  // wall time
};

Json to_json(const SanitizerReport& report);
// Returns the first of `findings`, as to_json() has them, in one line, and how many more there are.
// Empty for none.
std::string findings_text(const Json& findings);

// Returns what a log of compute-sanitizer says of global memory in kernels with these symbols.
std::vector<SanitizerFinding> read_findings(const std::string& tool, std::string_view log,
                                            const std::set<std::string>& symbols);

// Each tool has an executor process that starts at first use. It runs candidates in bare memory
// (protocol.h, BareRequest), and lasts until its tool says something. Any thread may call.
class Sanitizer {
 public:
  // Finds compute-sanitizer: $KERNELWRIGHT_SANITIZER, on PATH, or in the folder of CUDA's tools.
  // Throws InputError if there is none, or if `executor` has no GPU.
  explicit Sanitizer(ExecutorConfig executor);
  Sanitizer(ExecutorConfig executor, const std::string& program);
  virtual ~Sanitizer();

  // Runs a candidate whose trials went well, on inputs as the reference draws them. `deadline` is
  // for each tool.
  virtual SanitizerReport inspect(const Task& reference, const Task& candidate, uint64_t seed,
                                  std::chrono::milliseconds deadline);

 private:
  class Tool;
  std::unique_ptr<Tool> memcheck_, initcheck_;
};

}  // namespace kw
