#include "program/task_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/base/error.h"
#include "formats/base/sha256.h"

namespace kw {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 40;
constexpr size_t kMaxRank = 16;

Json float_to_json(double x) {
  if (std::isnan(x)) return {{"f", "nan"}};
  if (std::isinf(x)) return {{"f", x > 0 ? "inf" : "-inf"}};
  return x;
}

double float_from_tag(const JsonReader& in) {
  const std::string& text = in.string();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  in.fail("expected \"inf\", \"-inf\" or \"nan\"");
}

// Products and sums of sizes stay far from 64 bits, whatever order they are taken in.
void check_extent(const Value& value, const JsonReader& in) {
  double elements = 1, last = static_cast<double>(value.offset);
  for (size_t d = 0; d < value.shape.size(); ++d) {
    elements *= static_cast<double>(std::max<int64_t>(value.shape[d], 1));
    last += static_cast<double>(std::max<int64_t>(value.shape[d] - 1, 0)) *
            static_cast<double>(value.strides[d]);
  }
  if (elements > static_cast<double>(kMaxDim)) in.at("shape").fail("too many elements");
  if (last > static_cast<double>(kMaxDim)) in.at("strides").fail("reaches beyond all memory");
}

DType dtype_from_json(const JsonReader& in) {
  try {
    return parse_dtype(in.string());
  } catch (const InputError& error) {
    in.fail(error.what());
  }
}

std::vector<ValueId> ids_from_json(const JsonReader& in, bool nullable) {
  std::vector<ValueId> out;
  for (const JsonReader& item : in.items()) {
    out.push_back(nullable && item.is_null() ? -1 : static_cast<int>(item.integer(0, INT32_MAX)));
  }
  return out;
}

Json step_to_json(const Step& step) {
  Json out = Json::object();
  if (const auto* call = std::get_if<AtenCall>(&step)) {
    out["op"] = call->op;
    out["args"] = Json::object();
    for (const auto& [name, arg] : call->args) out["args"][name] = arg_to_json(arg);
    out["results"] = Json::array();
    for (ValueId id : call->results) out["results"].push_back(id < 0 ? Json() : Json(id));
    out["mutated"] = call->mutated;
    return out;
  }
  const auto& launch = std::get<Launch>(step);
  out["launch"] = launch.kernel;
  out["grid"] = launch.grid;
  out["args"] = Json::array();
  for (const Arg& arg : launch.args) out["args"].push_back(arg_to_json(arg));
  return out;
}

Step step_from_json(const JsonReader& in) {
  if (in.has("op")) {
    AtenCall call;
    call.op = in.at("op").string();
    for (const auto& [name, arg] : in.at("args").members()) {
      call.args.emplace(name, arg_from_json(arg));
    }
    call.results = ids_from_json(in.at("results"), true);
    call.mutated = ids_from_json(in.at("mutated"), false);
    return call;
  }
  Launch launch;
  launch.kernel = static_cast<int>(in.at("launch").integer(0, INT32_MAX));
  const auto grid = in.at("grid").items();
  if (grid.size() != 3) in.at("grid").fail("expected three sizes");
  // CUDA's limits: 2^31-1 blocks in x, 65535 in y and z.
  for (size_t i = 0; i < 3; ++i) launch.grid[i] = grid[i].integer(0, i == 0 ? INT32_MAX : 65535);
  for (const JsonReader& arg : in.at("args").items()) launch.args.push_back(arg_from_json(arg));
  return launch;
}

Json compiled_to_json(const Compiled& c) {
  Json out = {{"arch", c.arch},
              {"cubin", sha256_hex(c.cubin)},
              {"symbol", c.symbol},
              {"num_warps", c.num_warps},
              {"num_ctas", c.num_ctas},
              {"shared", c.shared},
              {"global_scratch_size", c.global_scratch_size},
              {"global_scratch_align", c.global_scratch_align},
              {"profile_scratch_size", c.profile_scratch_size},
              {"profile_scratch_align", c.profile_scratch_align},
              {"launch_pdl", c.launch_pdl},
              {"launch_cooperative_grid", c.launch_cooperative_grid},
              {"registers", c.registers},
              {"spills", c.spills},
              {"reads", c.reads},
              {"writes", c.writes}};
  for (const DescriptorForm& form : c.descriptors) {
    out["descriptors"].push_back({{"swizzle", form.swizzle},
                                  {"element_type", form.element_type},
                                  {"element_bytes", form.element_bytes},
                                  {"block", form.block}});
  }
  return out;
}

DescriptorForm descriptor_from_json(const JsonReader& in) {
  DescriptorForm form;
  form.swizzle = static_cast<int>(in.at("swizzle").integer(0, 7));
  form.element_type = static_cast<int>(in.at("element_type").integer(0, 15));
  form.element_bytes = in.at("element_bytes").integer(1, 8);
  for (const JsonReader& size : in.at("block").items()) form.block.push_back(size.integer(1, 256));
  if (form.block.empty() || form.block.size() > 5) in.at("block").fail("expected 1 to 5 sizes");
  return form;
}

const std::string& look_up(const JsonReader& in, const std::map<std::string, std::string>& files) {
  auto it = files.find(in.string());
  if (it == files.end()) in.fail("names a file that is not there");
  return it->second;
}

Compiled compiled_from_json(const JsonReader& in, size_t param_count,
                            const std::map<std::string, std::string>* files) {
  constexpr int64_t kMaxBytes = int64_t{1} << 32;
  Compiled c;
  c.arch = in.at("arch").string();
  c.cubin = files ? look_up(in.at("cubin"), *files) : std::string();
  c.symbol = in.at("symbol").string();
  c.num_warps = static_cast<int>(in.at("num_warps").integer(1, 64));
  c.num_ctas = static_cast<int>(in.at("num_ctas").integer(1, 16));
  c.shared = in.at("shared").integer(0, kMaxBytes);
  c.global_scratch_size = in.at("global_scratch_size").integer(0, kMaxBytes);
  c.global_scratch_align = in.at("global_scratch_align").integer(1, 1 << 20);
  c.profile_scratch_size = in.at("profile_scratch_size").integer(0, kMaxBytes);
  c.profile_scratch_align = in.at("profile_scratch_align").integer(1, 1 << 20);
  c.launch_pdl = in.at("launch_pdl").boolean();
  c.launch_cooperative_grid = in.at("launch_cooperative_grid").boolean();
  c.registers = in.at("registers").integer(0, 65536);
  c.spills = in.at("spills").integer(0, kMaxBytes);
  for (const auto& [key, list] : {std::pair{"reads", &c.reads}, {"writes", &c.writes}}) {
    for (const JsonReader& item : in.at(key).items()) {
      list->push_back(static_cast<int>(item.integer(0, static_cast<int64_t>(param_count) - 1)));
    }
  }
  if (in.has("descriptors")) {
    for (const JsonReader& form : in.at("descriptors").items()) {
      c.descriptors.push_back(descriptor_from_json(form));
    }
  }
  return c;
}

}  // namespace

Json arg_to_json(const Arg& arg) {
  return std::visit(
      [](const auto& x) -> Json {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, double>)
          return float_to_json(x);
        else if constexpr (std::is_same_v<T, ValueRef>)
          return {{"v", x.id}};
        else if constexpr (std::is_same_v<T, DType>)
          return {{"dtype", dtype_name(x)}};
        else if constexpr (std::is_same_v<T, DeviceArg>)
          return {{"device", "cuda"}};
        else if constexpr (std::is_same_v<T, LayoutArg>)
          return {{"layout", x.name}};
        else if constexpr (std::is_same_v<T, MemoryFormatArg>)
          return {{"memory_format", x.name}};
        else if constexpr (std::is_same_v<T, ArgList>) {
          Json out = Json::array();
          for (const Arg& item : x) out.push_back(arg_to_json(item));
          return out;
        } else
          return x;
      },
      arg.v);
}

namespace {

// Reads a name, which must be a known one, because it is written into Python source unchanged
// (step_writer.cc).
std::string known_name(const JsonReader& in, std::initializer_list<std::string_view> known) {
  const std::string& name = in.string();
  if (std::find(known.begin(), known.end(), name) == known.end()) in.fail("unknown name");
  return name;
}

}  // namespace

Arg arg_from_json(const JsonReader& in) {
  const Json& json = in.raw();
  if (json.is_null()) return {};
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_number_integer()) return {in.integer()};
  if (json.is_number()) return {in.number()};
  if (json.is_string()) return {in.string()};
  if (json.is_array()) {
    ArgList list;
    for (const JsonReader& item : in.items()) list.push_back(arg_from_json(item));
    return {std::move(list)};
  }
  if (json.size() != 1) in.fail("expected an argument");
  if (in.has("v")) return {ValueRef{static_cast<int>(in.at("v").integer(0, INT32_MAX))}};
  if (in.has("dtype")) return {dtype_from_json(in.at("dtype"))};
  if (in.has("f")) return {float_from_tag(in.at("f"))};
  if (in.has("device")) {
    if (in.at("device").string() != "cuda") in.at("device").fail("expected \"cuda\"");
    return {DeviceArg{}};
  }
  if (in.has("layout")) return {LayoutArg{known_name(in.at("layout"), {"strided"})}};
  if (in.has("memory_format")) {
    return {
        MemoryFormatArg{known_name(in.at("memory_format"), {"contiguous_format", "preserve_format",
                                                            "channels_last", "channels_last_3d"})}};
  }
  in.fail("unknown kind of argument");
}

Json to_json(const Value& value) {
  return {{"dtype", dtype_name(value.dtype)},
          {"shape", value.shape},
          {"strides", value.strides},
          {"offset", value.offset},
          {"storage", value.storage}};
}

Value value_from_json(const JsonReader& in) {
  Value value;
  value.dtype = dtype_from_json(in.at("dtype"));
  for (const JsonReader& dim : in.at("shape").items()) {
    value.shape.push_back(dim.integer(0, kMaxDim));
  }
  if (value.shape.size() > kMaxRank) in.at("shape").fail("too many dimensions");
  for (const JsonReader& s : in.at("strides").items())
    value.strides.push_back(s.integer(0, kMaxDim));
  if (value.strides.size() != value.shape.size()) {
    in.at("strides").fail("expected one stride for each dimension");
  }
  value.offset = in.at("offset").integer(0, kMaxDim);
  check_extent(value, in);
  value.storage = static_cast<int>(in.at("storage").integer(0, INT32_MAX));
  return value;
}

Json to_json(const Program& program) {
  Json out = {{"values", Json::array()},
              {"inputs", program.inputs},
              {"steps", Json::array()},
              {"outputs", program.outputs}};
  for (const Value& value : program.values) out["values"].push_back(to_json(value));
  for (const Step& step : program.steps) out["steps"].push_back(step_to_json(step));
  return out;
}

Program program_from_json(const JsonReader& in) {
  Program program;
  for (const JsonReader& value : in.at("values").items()) {
    program.values.push_back(value_from_json(value));
  }
  program.inputs = ids_from_json(in.at("inputs"), false);
  for (const JsonReader& step : in.at("steps").items()) {
    program.steps.push_back(step_from_json(step));
  }
  program.outputs = ids_from_json(in.at("outputs"), false);
  return program;
}

Json to_json(const Kernel& kernel) {
  Json out = {{"name", kernel.name},
              {"params", Json::array()},
              {"constexprs", kernel.constexprs},
              {"attrs", kernel.attrs},
              {"options", kernel.options}};
  for (const KernelParam& p : kernel.params) {
    out["params"].push_back({{"name", p.name}, {"type", p.type}});
  }
  if (!kernel.source.empty()) out["source"] = sha256_hex(kernel.source);
  if (kernel.compiled) out["compiled"] = compiled_to_json(*kernel.compiled);
  return out;
}

Kernel kernel_from_json(const JsonReader& in, const std::map<std::string, std::string>* files) {
  Kernel kernel;
  kernel.name = in.at("name").string();
  for (const JsonReader& p : in.at("params").items()) {
    kernel.params.push_back({p.at("name").string(), p.at("type").string()});
  }
  if (kernel.params.size() > 1024) in.at("params").fail("too many parameters");
  for (const KernelParam& param : kernel.params) {
    if (param.name.size() > 256) in.at("params").fail("a parameter's name is too long");
  }
  for (const auto& [key, member] : {std::pair{"constexprs", &kernel.constexprs},
                                    {"attrs", &kernel.attrs},
                                    {"options", &kernel.options}}) {
    in.at(key).members();  // must be an object
    *member = in.at(key).raw();
  }
  if (files && in.has("source")) kernel.source = look_up(in.at("source"), *files);
  if (in.has("compiled") && !in.at("compiled").is_null()) {
    kernel.compiled = compiled_from_json(in.at("compiled"), kernel.params.size(), files);
  }
  return kernel;
}

namespace {

Json names_json(const std::optional<std::vector<std::string>>& names) {
  return names ? Json(*names) : Json();
}

std::optional<std::vector<std::string>> names_from_json(const JsonReader& in) {
  if (in.raw().is_null()) return std::nullopt;
  std::vector<std::string> out;
  for (const JsonReader& name : in.items()) out.push_back(name.string());
  return out;
}

Json modules_json(const std::map<std::string, ModuleSource>& modules) {
  Json out = Json::object();
  for (const auto& [path, module] : modules) {
    out[path] = {{"class", module.cls},         {"parts", names_json(module.parts)},
                 {"hooks", module.hooks},       {"hiding", names_json(module.hiding)},
                 {"settings", module.settings}, {"absent", module.absent}};
  }
  return out;
}

std::map<std::string, ModuleSource> modules_from_json(const JsonReader& source) {
  std::map<std::string, ModuleSource> out;
  if (source.has("modules")) {
    for (const auto& [path, in] : source.at("modules").members()) {
      ModuleSource module;
      module.cls = in.at("class").string();
      module.parts = names_from_json(in.at("parts"));
      module.hooks = static_cast<int>(in.at("hooks").integer());
      module.hiding = names_from_json(in.at("hiding"));
      for (const auto& [name, value] : in.at("settings").members()) {
        module.settings[name] = value.raw();
      }
      module.absent = names_from_json(in.at("absent")).value_or(std::vector<std::string>());
      out[path] = std::move(module);
    }
    return out;
  }
  // Earlier records have the modes of modules alone, and the earliest the model's own.
  if (source.has("modes")) {
    for (const auto& [path, mode] : source.at("modes").members()) {
      out[path].settings["training"] = mode.boolean();
    }
  } else if (const std::string mode = source.at("mode").string(); mode != "any") {
    out[""].settings["training"] = mode == "train";
  }
  return out;
}

}  // namespace

Json to_json(const Task& task) {
  Json out = {{"format", "kernelwright.task"},
              {"version", 1},
              {"target", task.target},
              {"source",
               {{"file", task.source.file},
                {"class", task.source.cls},
                {"modules", modules_json(task.source.modules)},
                {"device", task.source.device},
                {"parameters", task.source.parameters}}},
              {"state", Json::array()},
              {"kernels", Json::array()},
              {"init", to_json(task.init)},
              {"derive", to_json(task.derive)},
              {"inputs", to_json(task.inputs)},
              {"forward", to_json(task.forward)},
              {"arguments", task.arguments},
              {"result", task.result}};
  if (task.source.aligned) out["source"]["aligned"] = true;
  if (task.source.compares_addresses) out["source"]["compares_addresses"] = true;
  if (task.source.default_dtype != DType::kFloat32) {
    out["source"]["default_dtype"] = dtype_name(task.source.default_dtype);
  }
  for (const StateEntry& entry : task.state) {
    out["state"].push_back({{"names", entry.names}, {"kind", entry.kind}});
    if (entry.premise) out["state"].back()["premise"] = true;
  }
  for (const Kernel& kernel : task.kernels) out["kernels"].push_back(to_json(kernel));
  return out;
}

Task task_from_json(const JsonReader& in, const std::map<std::string, std::string>* files) {
  if (in.at("format").string() != "kernelwright.task") in.at("format").fail("not a task document");
  if (in.at("version").integer() != 1) {
    in.at("version").fail("this build reads version 1");
  }
  Task task;
  task.target = in.at("target").string();
  const JsonReader source = in.at("source");
  task.source.file = source.at("file").string();
  task.source.cls = source.at("class").string();
  task.source.modules = modules_from_json(source);
  if (source.has("device")) {
    for (const auto& [name, value] : source.at("device").members()) {
      if (!value.raw().is_string() && !value.raw().is_number_integer()) {
        value.fail("expected an integer or a string");
      }
      task.source.device[name] = value.raw();
    }
  }
  if (source.has("aligned")) task.source.aligned = source.at("aligned").boolean();
  if (source.has("compares_addresses")) {
    task.source.compares_addresses = source.at("compares_addresses").boolean();
  }
  if (source.has("default_dtype")) {
    task.source.default_dtype = dtype_from_json(source.at("default_dtype"));
  }
  for (const JsonReader& p : source.at("parameters").items()) {
    task.source.parameters.push_back(p.string());
  }
  for (const JsonReader& entry : in.at("state").items()) {
    StateEntry state;
    for (const JsonReader& name : entry.at("names").items()) state.names.push_back(name.string());
    state.kind = entry.at("kind").string();
    state.premise = entry.has("premise") && entry.at("premise").boolean();
    task.state.push_back(std::move(state));
  }
  for (const JsonReader& k : in.at("kernels").items()) {
    task.kernels.push_back(kernel_from_json(k, files));
  }
  task.init = program_from_json(in.at("init"));
  task.derive = program_from_json(in.at("derive"));
  task.inputs = program_from_json(in.at("inputs"));
  task.forward = program_from_json(in.at("forward"));
  in.at("arguments").items();
  task.arguments = in.at("arguments").raw();
  task.result = in.at("result").raw();
  check_task(task);
  return task;
}

}  // namespace kw
