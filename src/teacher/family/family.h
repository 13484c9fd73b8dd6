// Families: loop structures with a schedule space each. A family lists its schedules for a graph
// with an estimate of the time of each; a schedule is written only when it is chosen.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "teacher/emit/kernel_text.h"
#include "teacher/graph/space.h"
#include "worker/device_profile.h"

namespace kw::teacher {

// What is being written. All families see the same.
struct Subject {
  const Graph& graph;
  const AccessTable& table;
  const Program& program;
  const DeviceProfile& profile;
  std::string operators;  // "linear, silu, mul": for comments and plans
};

struct Scratch {
  std::string name, shape, dtype;  // "partial0", "splits, n_rows", "torch.float32"
};

// A schedule, written: kernels in launch order and the memory between them.
struct Written {
  std::vector<KernelText> kernels;
  std::vector<Scratch> scratch;
  std::vector<std::string> memory;  // statements that make what the kernels store into
  std::set<std::string> in_place;   // outputs that are stored into the argument that they replace
};

struct Choice {
  std::string family;  // "pointwise", "reduction", "matmul"
  std::string tiling;  // for the plan: "persistent, BLOCK_M=4 BLOCK_N=1024"
  int warps = 4;
  int stages = 0;      // 0: the kernel has no pipelined loop
  double seconds = 0;  // the model's estimate of device time; a table of schedules corrects it
  int64_t programs = 1;
  std::function<Written()> write;
  std::string precision;  // of tensor cores, where a family offers several: "tf32", "tf32x3"
  // What decides which schedule is best, as the family sees it: type, sizes by powers of two,
  // layout. Equal for all choices of a subject; see schedule.h.
  std::string shape_class;
  double model_seconds = 0;  // the estimate before it was corrected
};

// Return nothing if the graph is not of this family.
std::vector<Choice> pointwise_choices(const Subject& subject);
std::vector<Choice> reduction_choices(const Subject& subject);
std::vector<Choice> matmul_choices(const Subject& subject);
std::vector<Choice> convolution_choices(const Subject& subject);
std::vector<Choice> stencil_choices(const Subject& subject);

// ---- Shared by the families

// Returns a size's place in a shape class: "2^13" for 5793 to 11585.
std::string size_class(int64_t size);
// Returns the type of the largest access and how many there are: "float32 accesses=3".
std::string access_class(const Subject& subject);
// Gives all choices the same class.
std::vector<Choice> in_class(std::vector<Choice> choices, const std::string& shape_class);

int64_t cdiv(int64_t a, int64_t b);
int64_t next_power_of_2(int64_t n);
std::string host_cdiv(const std::string& n, int64_t block);  // "triton.cdiv(n_rows, 8)"
// Returns the bytes that cross the memory bus if the innermost loops of a tile are `inner`. An
// access that strides through all of them fetches a whole sector for each element.
double moved_bytes(const Subject& subject, const std::vector<Loop>& inner);
// The arithmetic of pointwise and reduction nodes, and the rate it runs at.
double scalar_flops(const Subject& subject);
double scalar_rate(const Subject& subject);
// Returns a roofline time with the share of the machine that `programs` programs of `warps` warps
// can fill. `bytes_per_program` is what one program has in flight.
double model_seconds(const Subject& subject, double bytes, double flop_seconds, int64_t programs,
                     int warps, double bytes_per_program);

}  // namespace kw::teacher
