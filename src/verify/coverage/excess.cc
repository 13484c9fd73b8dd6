#include "verify/coverage/excess.h"

#include <cstdio>
#include <set>

#include "ops/operator.h"
#include "program/cost.h"

namespace kw {
namespace {

// What a task's calls do, as far as their sizes are recorded.
struct Work {
  double launches = 0, programs = 0, bytes = 0;
};

void add(const Program& program, Work& work) {
  std::set<int> given, made;
  for (const ValueId id : program.inputs) given.insert(program.values[id].storage);
  for (const Step& step : program.steps) {
    if (const auto* launch = std::get_if<Launch>(&step)) {
      ++work.launches;
      double programs = 1;
      for (const int64_t size : launch->grid) programs *= static_cast<double>(size);
      work.programs += programs;
    }
    for (const ValueId id : step_defines(step)) {
      const Value& value = program.values[id];
      if (!given.contains(value.storage) && made.insert(value.storage).second) {
        work.bytes += static_cast<double>(value.bytes());
      }
    }
  }
}

// Returns the steps of a reference. A recurrent operator is as many as its sequence is long.
double steps_of(const Program& forward) {
  double out = 0;
  for (const Step& step : forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    double times = 1;
    if (row && row->cls == OpClass::kRecurrent && !call->results.empty()) {
      const Value& result = forward.values[call->results.front()];
      for (const int64_t size : result.shape) times *= static_cast<double>(size);
      if (!result.shape.empty()) times /= static_cast<double>(result.shape.back());
    }
    out += times;
  }
  return out;
}

std::string too_many(double found, double allowed, const char* what) {
  if (found <= allowed) return "";
  char text[200];
  std::snprintf(text, sizeof(text),
                "%.3g %s, where the work of the reference allows for %.3g [work]", found, what,
                allowed);
  return text;
}

}  // namespace

std::string excess(const Task& reference, const Task& candidate) {
  constexpr double kLaunches = 4096, kPrograms = 0x1p20, kBytes = 0x1p28, kFactor = 64;
  Work work;
  add(candidate.derive, work);
  add(candidate.forward, work);
  const double bytes = program_cost(reference.forward).bytes;
  std::string why = too_many(work.launches, kLaunches + kFactor * steps_of(reference.forward),
                             "kernels are launched in one call");
  if (why.empty()) {
    why = too_many(work.programs, kPrograms + kFactor * bytes, "programs are launched in one call");
  }
  if (why.empty()) {
    why = too_many(work.bytes, kBytes + kFactor * bytes, "bytes of memory are taken in one call");
  }
  return why;
}

}  // namespace kw
