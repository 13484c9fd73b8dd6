// What tests of the teacher share: fragments built by hand, and a device.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "program/program.h"
#include "worker/device_profile.h"

namespace kw::teacher {

inline constexpr auto kNoDeadline = std::chrono::steady_clock::time_point::max();

// A fragment built by hand: inputs, then operator calls.
class FragmentBuilder {
 public:
  ValueId input(std::vector<int64_t> shape, DType dtype = DType::kFloat32,
                std::vector<int64_t> strides = {}) {
    const ValueId id = value(std::move(shape), dtype, std::move(strides));
    task_.forward.inputs.push_back(id);
    task_.arguments.push_back({{"in", task_.forward.inputs.size() - 1}});
    return id;
  }
  ValueId call(const std::string& op, std::map<std::string, Arg> args, std::vector<int64_t> shape,
               DType dtype = DType::kFloat32) {
    const ValueId id = value(std::move(shape), dtype, {});
    task_.forward.steps.emplace_back(AtenCall{op, std::move(args), {id}, {}});
    return id;
  }
  // Another result of the last call.
  ValueId result(std::vector<int64_t> shape, DType dtype) {
    const ValueId id = value(std::move(shape), dtype, {});
    std::get<AtenCall>(task_.forward.steps.back()).results.push_back(id);
    return id;
  }
  Task build(ValueId output) {
    task_.forward.outputs = {output};
    task_.result = {{"out", 0}};
    return task_;
  }

 private:
  ValueId value(std::vector<int64_t> shape, DType dtype, std::vector<int64_t> strides) {
    if (strides.empty()) {
      strides.assign(shape.size(), 1);
      for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    }
    const int storage = static_cast<int>(task_.forward.values.size());
    task_.forward.values.push_back({dtype, std::move(shape), std::move(strides), 0, storage});
    return storage;
  }
  Task task_;
};

inline Arg ref(ValueId id) { return Arg{ValueRef{id}}; }
inline Arg num(int64_t n) {
  Arg out;
  out.v = n;
  return out;
}
inline Arg list(const std::vector<int64_t>& items) {
  ArgList out;
  for (int64_t i : items) out.push_back(num(i));
  Arg arg;
  arg.v = std::move(out);
  return arg;
}

inline DeviceProfile profile() {
  DeviceProfile p;
  p.name = "test", p.arch = "sm_90", p.sms = 132, p.shared_per_block = 232448;
  p.l2_bytes = 50 << 20, p.memory_bytes = int64_t{140} << 30;
  p.bytes_per_second = 4e12, p.fp32_flops = 60e12, p.tf32_flops = 490e12, p.half_flops = 980e12;
  p.fp64_flops = 30e12, p.launch_seconds = 2e-6;
  return p;
}

inline Task softmax_task(int64_t rows, int64_t cols) {
  FragmentBuilder b;
  const ValueId x = b.input({rows, cols});
  return b.build(b.call("aten._softmax.default",
                        {{"self", ref(x)}, {"dim", num(-1)}, {"half_to_float", Arg{false}}},
                        {rows, cols}));
}

// An operator that keeps the shape, or reduces to one element, over dimension 1.
inline Task row_task(const std::string& op, int64_t rows, int64_t cols, bool reduces, DType dtype) {
  FragmentBuilder b;
  const ValueId x = b.input({rows, cols});
  const std::vector<int64_t> shape = reduces ? std::vector<int64_t>{rows} : std::vector{rows, cols};
  return b.build(b.call(op, {{"self", ref(x)}, {"dim", num(1)}}, shape, dtype));
}

inline Task cumsum_task(int64_t rows, int64_t cols) {
  return row_task("aten.cumsum.default", rows, cols, false, DType::kFloat32);
}

inline Task argmax_task(int64_t rows, int64_t cols) {
  return row_task("aten.argmax.default", rows, cols, true, DType::kInt64);
}

inline Task linear_task(int64_t m, int64_t n, int64_t k, DType dtype) {
  FragmentBuilder b;
  const ValueId x = b.input({m, k}, dtype), w = b.input({n, k}, dtype);
  const ValueId y =
      b.call("aten.linear.default", {{"input", ref(x)}, {"weight", ref(w)}}, {m, n}, dtype);
  return b.build(b.call("aten.relu.default", {{"self", ref(y)}}, {m, n}, dtype));
}

}  // namespace kw::teacher
