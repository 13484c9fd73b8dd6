#include "verify/aliasing.h"

#include <algorithm>

#include "ops/dtype.h"

namespace kw {
namespace {

// Whether the stretches of memory from first to last element meet. Values that lie between each
// other's elements count too: they have other strides than results of their own.
bool overlap(const Value& a, const Value& b) {
  if (a.storage != b.storage || a.numel() == 0 || b.numel() == 0) return false;
  const auto begin = [](const Value& v) { return v.offset * dtype_bytes(v.dtype); };
  const auto end = [](const Value& v) {
    int64_t last = v.offset;
    for (size_t d = 0; d < v.shape.size(); ++d) last += (v.shape[d] - 1) * v.strides[d];
    return (last + 1) * dtype_bytes(v.dtype);
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

const Value& output(const Program& program, size_t i) { return program.values[program.outputs[i]]; }

bool is_of_inputs(const Program& program, size_t i) {
  return std::any_of(program.inputs.begin(), program.inputs.end(),
                     [&](ValueId id) { return overlap(program.values[id], output(program, i)); });
}

}  // namespace

std::string aliasing_fault(const Program& reference, const Program& candidate) {
  for (size_t i = 0; i < reference.outputs.size(); ++i) {
    const std::string name = "output " + std::to_string(i);
    if (is_of_inputs(candidate, i) && !is_of_inputs(reference, i)) {
      return name +
             " is memory of an input, a parameter or a tensor kept between calls, where the "
             "reference's is its own";
    }
    for (size_t j = 0; j < i; ++j) {
      if (overlap(output(candidate, i), output(candidate, j)) &&
          !overlap(output(reference, i), output(reference, j))) {
        return name + " shares memory with output " + std::to_string(j) +
               ", where the reference's does not";
      }
    }
  }
  return {};
}

}  // namespace kw
