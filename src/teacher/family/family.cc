#include "teacher/family/family.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kw::teacher {

int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t next_power_of_2(int64_t n) {
  int64_t out = 1;
  while (out < n) out *= 2;
  return out;
}

std::string host_cdiv(const std::string& n, int64_t block) {
  if (block == 1) return n;
  return "triton.cdiv(" + n + ", " + std::to_string(block) + ")";
}

std::string size_class(int64_t size) {
  return size < 1 ? "0" : "2^" + std::to_string(std::lround(std::log2(static_cast<double>(size))));
}

std::string access_class(const Subject& subject) {
  const auto& accesses = subject.table.accesses;
  std::string out = "none";
  int count = 0;
  for (const Access& access : accesses) {
    if (access.kind == Access::Kind::kIndex) continue;
    if (count++ > 0) continue;  // the largest comes first
    const ValueId value = access.kind == Access::Kind::kStore
                              ? subject.graph.outputs[access.id].value
                              : subject.program.inputs[subject.graph.nodes[access.id].input];
    out = std::string(dtype_name(subject.program.values[value].dtype));
  }
  return out + " accesses=" + std::to_string(count);
}

std::vector<Choice> in_class(std::vector<Choice> choices, const std::string& shape_class) {
  for (Choice& choice : choices) choice.shape_class = shape_class;
  return choices;
}

double moved_bytes(const Subject& subject, const std::vector<Loop>& inner) {
  constexpr double kSector = 32;
  double out = 0;
  std::map<int, std::pair<double, double>> inputs;  // input -> read in all, size of it
  for (const Access& access : subject.table.accesses) {
    if (access.bytes == 0) continue;
    const double element = static_cast<double>(access.bytes) / static_cast<double>(access.numel);
    bool varies = false;
    double waste = std::max(1.0, kSector / element);
    for (const Loop& loop : inner) {
      const LeafStride* s = likely_stride(access, loop);
      if (!s) continue;
      varies = true;
      waste = std::min(waste, std::max(1.0, std::abs(static_cast<double>(s->stride))));
    }
    const double moved = static_cast<double>(access.bytes * access.again) * (varies ? waste : 1.0);
    if (access.kind != Access::Kind::kLoad) {
      out += moved;
      continue;
    }
    auto& [read, size] = inputs[subject.graph.nodes[access.id].input];
    read += moved;
    size = std::max(size, static_cast<double>(access.reach + 1) * element);
  }
  // Data that is read again (elements of a window, a tensor and its transpose) is mostly in a
  // cache.
  for (const auto& [input, traffic] : inputs) {
    const double once = std::min(traffic.first, traffic.second);
    out += once + 0.2 * (traffic.first - once);
  }
  return out;
}

double scalar_flops(const Subject& subject) {
  double out = 0;
  for (const Node& node : subject.graph.nodes) {
    const bool scan = node.kind == NodeKind::kScan;
    const bool folds = node.kind == NodeKind::kReduce || node.kind == NodeKind::kWindow;
    if (node.kind != NodeKind::kPointwise && !folds && !scan) continue;
    const bool call = node.expression.find("tl.") != std::string::npos ||
                      node.expression.find("libdevice.") != std::string::npos;
    double size = static_cast<double>(subject.graph.axes.size(node.varies));
    if (folds) size *= static_cast<double>(subject.graph.axes.size(node.axes));
    const bool compares = node.kind == NodeKind::kWindow && node.reduce == ReduceOp::kMaximum;
    out += size * (call || scan || compares ? 10 : 2);
  }
  return out;
}

double scalar_rate(const Subject& subject) {
  for (const Node& node : subject.graph.nodes) {
    if (node.dtype == DType::kFloat64) return subject.profile.fp64_flops;
  }
  return subject.profile.fp32_flops;
}

double model_seconds(const Subject& subject, double bytes, double flop_seconds, int64_t programs,
                     int warps, double bytes_per_program) {
  const DeviceProfile& device = subject.profile;
  const double per_sm = std::clamp(48.0 / warps, 1.0, 16.0);
  const double resident = std::min<double>(static_cast<double>(programs), device.sms * per_sm);
  // Little's law: bandwidth needs this much in flight at some 700 ns of latency.
  const double needed = device.bytes_per_second * 700e-9;
  const double busy = std::min(1.0, static_cast<double>(programs) / device.sms);
  const double filled = std::clamp(resident * bytes_per_program / needed, 1e-3, busy);
  const double waves = static_cast<double>(programs) / (device.sms * per_sm);
  const double tail = waves <= 1 ? 1.0 : 1.0 + 0.3 * (std::ceil(waves) / waves - 1.0);
  const double work = std::max(bytes / (device.bytes_per_second * filled), flop_seconds / busy);
  // Every program costs some issue time.
  const double dispatch = static_cast<double>(programs) * 250e-9 / (device.sms * per_sm);
  return device.launch_seconds + work * tail + dispatch;
}

}  // namespace kw::teacher
