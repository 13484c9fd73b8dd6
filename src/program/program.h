// Programs, Kernels and Tasks: the one structure that moves through Kernelwright
// (docs/formats/task.md). Plain values: copy, compare and cut them freely; no threads, no handles.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/json.h"
#include "ops/dtype.h"

namespace kw {

// A tensor's metadata. Shape, strides and offset count elements.
struct Value {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  int storage = 0;

  int64_t numel() const;
  int64_t bytes() const { return numel() * dtype_bytes(dtype); }
  bool operator==(const Value&) const = default;
};

// Index into Program::values; -1 where an operator returned no tensor.
using ValueId = int;

struct Arg;
struct ValueRef {
  ValueId id = -1;
  bool operator==(const ValueRef&) const = default;
};
struct DeviceArg {
  bool operator==(const DeviceArg&) const = default;
};
struct LayoutArg {
  std::string name;
  bool operator==(const LayoutArg&) const = default;
};
struct MemoryFormatArg {
  std::string name;
  bool operator==(const MemoryFormatArg&) const = default;
};
using ArgList = std::vector<Arg>;

// One argument of an operator call.
struct Arg {
  std::variant<std::monostate, bool, int64_t, double, std::string, ValueRef, DType, DeviceArg,
               LayoutArg, MemoryFormatArg, ArgList>
      v;

  bool is_none() const { return std::holds_alternative<std::monostate>(v); }
  bool is_value() const { return std::holds_alternative<ValueRef>(v); }
  ValueId value() const { return std::get<ValueRef>(v).id; }
  bool operator==(const Arg&) const;
};

struct AtenCall {
  std::string op;                   // "aten.linear.default"
  std::map<std::string, Arg> args;  // by schema name; defaults are left out
  std::vector<ValueId> results;
  std::vector<ValueId> mutated;

  const Arg* find(std::string_view name) const;  // nullptr when left at its default
  bool operator==(const AtenCall&) const = default;
};

struct Launch {
  int kernel = 0;  // index into Task::kernels
  std::array<int64_t, 3> grid{1, 1, 1};
  std::vector<Arg> args;  // one for each non-constexpr parameter
  bool operator==(const Launch&) const = default;
};

using Step = std::variant<AtenCall, Launch>;

struct Program {
  std::vector<Value> values;
  std::vector<ValueId> inputs;
  std::vector<Step> steps;
  std::vector<ValueId> outputs;
  bool operator==(const Program&) const = default;
};

// How machine code wants one host tensor descriptor: the part of a CUtensorMap that the compiler
// decides.
struct DescriptorForm {
  int swizzle = 0;       // CUtensorMapSwizzle
  int element_type = 0;  // CUtensorMapDataType
  int64_t element_bytes = 4;
  std::vector<int64_t> block;  // elements that one access moves, of each dimension
  bool operator==(const DescriptorForm&) const = default;
};

// Machine code of one kernel for one architecture, made by the trusted compile.
struct Compiled {
  std::string arch;
  std::string cubin;  // the bytes
  std::string symbol;
  int num_warps = 4;
  int num_ctas = 1;
  int64_t shared = 0;  // bytes
  int64_t global_scratch_size = 0, global_scratch_align = 1;
  int64_t profile_scratch_size = 0, profile_scratch_align = 1;
  bool launch_pdl = false;
  bool launch_cooperative_grid = false;
  int64_t registers = 0, spills = 0;
  std::vector<int> reads, writes;           // parameter indices, from the compiler's IR
  std::vector<DescriptorForm> descriptors;  // of the descriptor parameters, in order
  bool operator==(const Compiled&) const = default;
};

struct KernelParam {
  std::string name;
  std::string type;  // "*fp32", "i32", "constexpr", ...
  bool is_constexpr() const { return type == "constexpr"; }
  // A host tensor descriptor; its shape (i32) and strides (i64) are the next parameters.
  bool is_descriptor() const { return type.starts_with("tensordesc<"); }
  // Whether a tensor is passed for it.
  bool is_pointer() const { return type.starts_with('*') || is_descriptor(); }
  bool operator==(const KernelParam&) const = default;
};

struct Kernel {
  std::string name;
  std::vector<KernelParam> params;
  Json constexprs = Json::object();  // path -> literal
  Json attrs = Json::object();       // path -> [["tt.divisibility", 16]]
  Json options = Json::object();
  std::string source;  // the slice's text
  std::optional<Compiled> compiled;
  bool operator==(const Kernel&) const = default;
};

struct StateEntry {
  std::vector<std::string> names;
  std::string kind;      // "parameter", "buffer", "constant"
  bool premise = false;  // a table (rewrite/tables.h) whose contents forward takes for granted
  bool operator==(const StateEntry&) const = default;
};

// What forward was told by a module of the model, or by a container of modules and tensors. What
// is empty or missing does not matter.
struct ModuleSource {
  std::string cls;                                 // its class's name
  std::optional<std::vector<std::string>> parts;   // names of its modules and tensors, or its keys
  int hooks = -1;                                  // how many; -1: that does not matter
  std::optional<std::vector<std::string>> hiding;  // its attributes that hide one of the class
  std::map<std::string, Json> settings;            // attributes that forward reads: literals
  std::vector<std::string> absent;                 // attributes that it asked for in vain
  bool operator==(const ModuleSource&) const = default;
};

struct TaskSource {
  std::string file, cls;
  std::map<std::string, ModuleSource> modules;  // by attribute path; the model itself is ""
  std::vector<std::string> parameters;
  // Properties of the device that the program read, by PyTorch's names: integers and strings. What
  // it read of the capability follows from the target.
  std::map<std::string, Json> device;
  bool aligned = false;  // whether the program asked how a tensor's address is aligned
  bool compares_addresses = false;
  DType default_dtype = DType::kFloat32;  // PyTorch's while forward was recorded
  bool operator==(const TaskSource&) const = default;
};

struct Task {
  std::string target = "sm_90";
  TaskSource source;
  std::vector<StateEntry> state;
  std::vector<Kernel> kernels;
  Program init, derive, inputs, forward;
  Json arguments = Json::array();  // trees
  Json result;                     // tree
  bool operator==(const Task&) const = default;
};

// Values a step reads: every tensor argument of a call, and the launch arguments its kernel's
// `reads` name (all tensors while the kernel is not compiled). Duplicates are kept once.
std::vector<ValueId> step_reads(const Step& step, const std::vector<Kernel>& kernels);
// Values a step overwrites in place: `mutated` of a call, the kernel's `writes` of a launch.
std::vector<ValueId> step_writes(const Step& step, const std::vector<Kernel>& kernels);
// Values a step defines (results other than -1). A launch defines none.
std::vector<ValueId> step_defines(const Step& step);
// Whether some kernel takes a host tensor descriptor.
bool takes_descriptors(const Task& task);

// Visits every tensor argument of a step, which may be changed.
void for_each_value(Step& step, const std::function<void(ValueId&)>& visit);

}  // namespace kw
