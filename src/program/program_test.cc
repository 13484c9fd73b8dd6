#include "program/program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "formats/base/error.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw {
namespace {

// A straight-line program builder for tests: float32 [4, 8] everywhere.
class Graph {
 public:
  Graph() { program.values.reserve(64); }
  ValueId input() {
    program.inputs.push_back(value());
    return program.inputs.back();
  }
  ValueId add(ValueId a, ValueId b) {
    AtenCall call{"aten.add.Tensor", {{"self", {ValueRef{a}}}, {"other", {ValueRef{b}}}}, {}, {}};
    call.results = {value()};
    program.steps.push_back(call);
    return call.results[0];
  }
  ValueId relu_(ValueId a) {
    AtenCall call{"aten.relu_.default", {{"self", {ValueRef{a}}}}, {}, {a}};
    const int storage = program.values[a].storage;
    call.results = {value()};
    program.values.back().storage = storage;
    program.steps.push_back(call);
    return call.results[0];
  }
  Program program;

 private:
  ValueId value() {
    const int id = static_cast<int>(program.values.size());
    program.values.push_back({DType::kFloat32, {4, 8}, {8, 1}, 0, next_storage_++});
    return id;
  }
  int next_storage_ = 0;
};

Program empty_factory(int count) {
  Program program;
  for (int i = 0; i < count; ++i) {
    program.values.push_back({DType::kFloat32, {4, 8}, {8, 1}, 0, i});
    AtenCall call{"aten.randn.default", {{"size", {ArgList{{int64_t{4}}, {int64_t{8}}}}}}, {i}, {}};
    program.steps.push_back(call);
    program.outputs.push_back(i);
  }
  return program;
}

// A task without state whose forward is `program`.
Task task_of(const Program& program) {
  Task task;
  task.forward = program;
  task.inputs = empty_factory(static_cast<int>(program.inputs.size()));
  for (size_t k = 0; k < program.inputs.size(); ++k) task.arguments.push_back({{"in", k}});
  Json leaves = Json::array();
  for (size_t k = 0; k < program.outputs.size(); ++k) leaves.push_back({{"out", k}});
  task.result = {{"tuple", leaves}};
  check_task(task);
  return task;
}

// Interprets add / relu_ programs on single numbers, by storage: an oracle for rewriting.
std::vector<double> evaluate(const Program& program, std::vector<double> inputs) {
  std::map<int, double> memory;
  for (size_t i = 0; i < inputs.size(); ++i) {
    memory[program.values[program.inputs[i]].storage] = inputs[i];
  }
  auto at = [&](ValueId id) -> double& { return memory[program.values[id].storage]; };
  for (const Step& step : program.steps) {
    const auto& call = std::get<AtenCall>(step);
    if (call.op == "aten.add.Tensor") {
      const double sum = at(call.find("self")->value()) + at(call.find("other")->value());
      at(call.results[0]) = sum;
    } else {
      double& x = at(call.find("self")->value());
      x = std::max(0.0, x);
    }
  }
  std::vector<double> out;
  for (ValueId id : program.outputs) out.push_back(at(id));
  return out;
}

Graph random_graph(std::mt19937& rng, bool in_place) {
  Graph g;
  std::vector<ValueId> pool;
  for (int i = 0; i < 3; ++i) pool.push_back(g.input());
  const size_t first = pool.size();
  for (int i = 0; i < 12; ++i) {
    if (in_place && pool.size() > first && rng() % 4 == 0) {
      // Only of values made here: the inputs stay as they are.
      ValueId& victim = pool[first + rng() % (pool.size() - first)];
      const int storage = g.program.values[victim].storage;
      const ValueId fresh = g.relu_(victim);
      for (ValueId& id : pool) {
        if (g.program.values[id].storage == storage) id = fresh;
      }
    } else {
      pool.push_back(g.add(pool[rng() % pool.size()], pool[rng() % pool.size()]));
    }
  }
  g.program.outputs = {pool.back(), pool[first + rng() % (pool.size() - first)]};
  return g;
}

TEST(Canonical, KeepsMeaningAndIsIdempotent) {
  std::mt19937 rng(3);
  for (int round = 0; round < 300; ++round) {
    const Program p = random_graph(rng, true).program;
    const Program c = canonical(p, {});
    EXPECT_EQ(evaluate(p, {1, -2, 3}), evaluate(c, {1, -2, 3}));
    EXPECT_EQ(canonical(c, {}), c);
    EXPECT_LE(c.steps.size(), p.steps.size());
  }
}

TEST(Canonical, DropsWhatNothingNeeds) {
  Graph g;
  const ValueId x = g.input();
  g.add(x, x);
  const ValueId y = g.add(x, x);
  g.program.outputs = {y};
  EXPECT_EQ(canonical(g.program, {}).steps.size(), 1u);
}

TEST(Json, TasksRoundTrip) {
  std::mt19937 rng(4);
  for (int round = 0; round < 50; ++round) {
    const Task task = task_of(canonical(random_graph(rng, true).program, {}));
    const Json json = to_json(task);
    EXPECT_EQ(task_from_json(JsonReader(json, ""), nullptr), task);
    EXPECT_EQ(task_from_frame(task_to_frame(task)), task);
  }
}

// Changing any scalar of a document gives a task or InputError, never a crash.
TEST(Json, DamagedTasksAreRefusedOrSound) {
  std::mt19937 rng(5);
  const Json original = to_json(task_of(random_graph(rng, true).program));
  const Json flat = original.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& bad : {Json(-1), Json(1e300), Json("x"), Json(), Json(1 << 30)}) {
      Json damaged = original;
      damaged[Json::json_pointer(pointer)] = bad;
      try {
        const Task task = task_from_json(JsonReader(damaged, ""), nullptr);
        canonical_hash(task);
      } catch (const InputError&) {
      }
    }
  }
}

// What names an object goes into Python source.
// Sizes and places in memory are computed in 64 bits all over: no value may leave them.
TEST(Json, ValuesBeyondAllMemoryAreRefused) {
  const int64_t huge = int64_t{1} << 40;
  const auto refused = [](std::vector<int64_t> shape, std::vector<int64_t> strides,
                          int64_t offset) {
    const Json json = to_json(Value{DType::kFloat32, shape, strides, offset, 0});
    try {
      value_from_json(JsonReader(json, "value"));
      return false;
    } catch (const InputError&) {
      return true;
    }
  };
  EXPECT_TRUE(refused({huge, huge}, {1, 1}, 0));
  EXPECT_TRUE(refused({huge, huge, huge, 0}, {1, 1, 1, 1}, 0));  // no elements, but a product
  EXPECT_TRUE(refused({1 << 24, 2}, {huge, 1}, 0));
  EXPECT_TRUE(refused({2}, {huge}, 2));
  EXPECT_FALSE(refused({huge}, {1}, 0));
  EXPECT_FALSE(refused({huge, 1, 0}, {0, huge, huge}, huge));  // one stride is never taken
  EXPECT_FALSE(refused({}, {}, 5));
}

// Names that are written into Python as they are: a recording is hostile, and its text is run.
TEST(Json, FormatsAndLayoutsAreKnownOnes) {
  const auto read = [](const char* kind, const std::string& name) {
    const Json json = {{kind, name}};
    return arg_from_json(JsonReader(json, "arg"));
  };
  for (const char* name :
       {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}) {
    EXPECT_EQ(std::get<MemoryFormatArg>(read("memory_format", name).v).name, name);
  }
  EXPECT_EQ(std::get<LayoutArg>(read("layout", "strided").v).name, "strided");
  for (const char* bad : {"", "contiguous_format)", "contiguous_format)\nimport os\n", "Strided"}) {
    EXPECT_THROW(read("memory_format", bad), InputError) << bad;
    EXPECT_THROW(read("layout", bad), InputError) << bad;
  }
}

// Constants are written out by their shape: what is recorded may have fewer numbers, or none.
TEST(Check, ConstantsHaveTheirNumbers) {
  const auto checked = [](std::map<std::string, Arg> args) {
    Task task;
    task.forward.values = {Value{DType::kFloat32, {2, 2}, {2, 1}, 0, 0}};
    task.forward.steps = {AtenCall{"kernelwright.constant.default", std::move(args), {0}, {}}};
    task.forward.outputs = {0};
    task.result = {{"out", 0}};
    check_task(task);
  };
  const Arg shape{ArgList{{int64_t{2}}, {int64_t{2}}}}, four{ArgList{{1.0}, {2.0}, {3.0}, {4.0}}};
  EXPECT_NO_THROW(checked({{"data", four}, {"shape", shape}}));
  EXPECT_THROW(checked({{"shape", shape}}), InputError);
  EXPECT_THROW(checked({{"data", four}}), InputError);
  EXPECT_THROW(checked({{"data", {1.0}}, {"shape", shape}}), InputError);
  EXPECT_THROW(checked({{"data", {ArgList{{1.0}}}}, {"shape", shape}}), InputError);
  EXPECT_THROW(checked({{"data", {ArgList{}}}, {"shape", shape}}), InputError);
  EXPECT_THROW(checked({{"data", {ArgList{four, four, four, four}}}, {"shape", shape}}),
               InputError);
}

TEST(Json, ObjectsInResultsHaveNames) {
  Task task;
  const auto result = [](const Json& type, const Json& fields) {
    return Json{{"object", {{"type", type}, {"kind", "dataclass"}, {"fields", fields}}}};
  };
  task.result = result("Output", {{"logits", 1.0}, {"loss", nullptr}});
  EXPECT_NO_THROW(check_task(task));
  for (const Json& bad :
       {result("Out put", Json::object()), result("os.system", Json::object()), result(3, 3),
        result("f()", Json::object()), result("", Json::object()),
        result("Output", {{"a=1, b", 2}}), result("Output", {{"", 2}}),
        result("Output", Json::array({1})), Json{{"object", {{"type", "Output"}}}},
        result("Output", {{"logits", {{"out", 7}}}})}) {
    task.result = bad;
    EXPECT_THROW(check_task(task), InputError) << bad;
  }
  task.result = nullptr;
  task.arguments = Json::array({result("Output", Json::object())});
  EXPECT_THROW(check_task(task), InputError) << "arguments are not made again";
}

TEST(Hash, IgnoresNumberingButNotMeaning) {
  std::mt19937 rng(6);
  std::set<std::string> hashes;
  for (int round = 0; round < 50; ++round) {
    const Task task = task_of(random_graph(rng, false).program);
    EXPECT_EQ(canonical_hash(task), canonical_hash(canonical(task)));
    hashes.insert(canonical_hash(task));
    Task resized = task;
    for (Program* p : {&resized.inputs, &resized.forward}) {
      for (Value& v : p->values) v.shape = {4, 9}, v.strides = {9, 1};
    }
    EXPECT_NE(canonical_hash(resized), canonical_hash(task));
    EXPECT_EQ(structure_hash(resized), structure_hash(task));
  }
  EXPECT_GT(hashes.size(), 40u);
}

TEST(Canonical, ConstantsAreMadeWhenTheyAreUsed) {
  const auto program_of = [](const std::vector<int>& order) {
    const Arg shape{ArgList{{int64_t{2}}}};
    const auto constant = [&](double number, ValueId id) {
      return AtenCall{"kernelwright.constant.default",
                      {{"data", {ArgList{{number}, {number}}}}, {"shape", shape}},
                      {id},
                      {}};
    };
    const auto add = [](ValueId a, ValueId b, ValueId out) {
      return AtenCall{
          "aten.add.Tensor", {{"self", {ValueRef{a}}}, {"other", {ValueRef{b}}}}, {out}, {}};
    };
    const std::vector<AtenCall> steps = {constant(1, 0), constant(2, 1), add(2, 0, 3),
                                         add(3, 1, 4),   constant(3, 5), add(2, 5, 6)};
    Program out;
    for (int i = 0; i < 7; ++i) out.values.push_back({DType::kFloat32, {2}, {1}, 0, i});
    out.inputs = {2};
    for (int i : order) out.steps.emplace_back(steps[i]);
    out.outputs = {4, 0};
    return out;
  };
  const Program made = canonical(program_of({0, 2, 1, 3}), {});
  std::vector<std::string> ops;
  for (const Step& step : made.steps) ops.push_back(std::get<AtenCall>(step).op.substr(0, 5));
  EXPECT_EQ(ops, (std::vector<std::string>{"kerne", "aten.", "kerne", "aten."}));
  // Steps that nothing needs, and with them first uses that do not count, are dropped.
  for (const auto& order : {std::vector{0, 1, 2, 3}, {1, 0, 2, 3}, {4, 1, 0, 5, 2, 3}}) {
    EXPECT_EQ(canonical(program_of(order), {}), made);
  }
}

// Cutting any convex set out and splicing its own steps back in leaves the meaning alone.
TEST(CutAndSplice, IdentityOnRandomGraphs) {
  std::mt19937 rng(7);
  int cuts = 0;
  for (int round = 0; round < 300; ++round) {
    const Task task = task_of(canonical(random_graph(rng, round % 2).program, {}));
    const auto dependencies = step_dependencies(task.forward, {});
    std::vector<int> steps;
    for (int i = 0; i < static_cast<int>(task.forward.steps.size()); ++i) {
      if (rng() % 3 == 0) steps.push_back(i);
    }
    if (!is_convex(dependencies, steps)) continue;
    const bool writes = std::any_of(steps.begin(), steps.end(), [&](int i) {
      return !step_writes(task.forward.steps[i], {}).empty();
    });
    if (writes) continue;  // fragments that write in place are not proposed
    const Fragment fragment = cut(task, steps);
    ++cuts;
    // The fragment computes on its inputs what the original computed there.
    Replacement same{fragment, fragment.task};
    const Task spliced = splice(task, {same});
    EXPECT_EQ(evaluate(spliced.forward, {1, -2, 3}), evaluate(task.forward, {1, -2, 3}));
  }
  EXPECT_GT(cuts, 30);
}

// The steps behind an output are enough for it.
TEST(Lineage, GivesItsOutputOnRandomGraphs) {
  std::mt19937 rng(9);
  int fewer = 0;
  for (int round = 0; round < 300; ++round) {
    const Program whole = canonical(random_graph(rng, round % 2).program, {});
    const std::vector<double> expected = evaluate(whole, {1, -2, 3});
    for (size_t i = 0; i < whole.outputs.size(); ++i) {
      const Lineage lineage = lineage_of(whole, {}, {whole.outputs[i]});
      Program part = whole;
      part.outputs = {whole.outputs[i]};
      part.steps.clear();
      for (size_t k = 0; k < whole.steps.size(); ++k) {
        if (lineage.steps[k]) part.steps.push_back(whole.steps[k]);
      }
      fewer += part.steps.size() < whole.steps.size();
      EXPECT_EQ(evaluate(part, {1, -2, 3}), std::vector<double>{expected[i]});
    }
  }
  EXPECT_GT(fewer, 30);
}

TEST(Convex, MatchesPathEnumeration) {
  std::mt19937 rng(8);
  for (int round = 0; round < 500; ++round) {
    const Program p = random_graph(rng, true).program;
    const auto deps = step_dependencies(p, {});
    const int n = static_cast<int>(deps.size());
    std::vector<std::vector<bool>> reach(n,
                                         std::vector<bool>(n, false));  // reach[i][j]: i before j
    for (int j = 0; j < n; ++j) {
      for (int d : deps[j]) {
        reach[d][j] = true;
        for (int i = 0; i < d; ++i) reach[i][j] = reach[i][j] || reach[i][d];
      }
    }
    std::vector<int> steps;
    std::vector<bool> in(n, false);
    for (int i = 0; i < n; ++i) {
      if ((in[i] = rng() % 2)) steps.push_back(i);
    }
    if (steps.empty()) continue;
    bool convex = true;
    for (int a : steps) {
      for (int b : steps) {
        for (int x = 0; x < n; ++x) convex = convex && (in[x] || !reach[a][x] || !reach[x][b]);
      }
    }
    EXPECT_EQ(is_convex(deps, steps), convex);
  }
}

// Two convex fragments can depend on each other: a1 -> a2, b2 -> b1, a1 -> b1, b2 -> a2.
TEST(Splice, MutualDependenceIsRefused) {
  Graph g;
  const ValueId x = g.input();
  const ValueId a1 = g.add(x, x);    // 0
  const ValueId b2 = g.add(x, x);    // 1
  const ValueId a2 = g.add(a1, b2);  // 2
  const ValueId b1 = g.add(b2, a1);  // 3
  g.program.outputs = {a2, b1};
  const Task task = task_of(g.program);
  const auto deps = step_dependencies(task.forward, {});
  ASSERT_TRUE(is_convex(deps, {0, 2}));
  ASSERT_TRUE(is_convex(deps, {1, 3}));
  const Fragment a = cut(task, {0, 2}), b = cut(task, {1, 3});
  EXPECT_THROW(splice(task, {{a, a.task}, {b, b.task}}), InputError);
}

TEST(Bundle, RoundTripAndDamage) {
  std::mt19937 rng(9);
  Task task = task_of(random_graph(rng, false).program);
  Kernel kernel;
  kernel.name = "k";
  kernel.params = {{"x", "*fp32"}};
  kernel.source = "@triton.jit\ndef k(x):\n    pass\n";
  kernel.compiled = Compiled{.arch = "sm_90", .cubin = "bytes", .symbol = "k", .reads = {0}};
  task.kernels.push_back(kernel);
  const auto folder =
      std::filesystem::temp_directory_path() / ("kw_bundle_test_" + std::to_string(::getpid()));
  write_bundle(task, folder);
  EXPECT_EQ(read_bundle(folder), task);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "kernels")) {
    std::ofstream(entry.path(), std::ios::app) << "x";
    break;
  }
  EXPECT_THROW(read_bundle(folder), InputError);
  write_bundle(task, folder);  // over one that is damaged
  EXPECT_EQ(read_bundle(folder), task);
  std::ofstream(folder / "kernels" / "thesis.py") << "mine";
  EXPECT_THROW(write_bundle(task, folder), InputError);
  EXPECT_TRUE(std::filesystem::exists(folder / "kernels" / "thesis.py"));
  std::filesystem::remove_all(folder);
  EXPECT_THROW(read_bundle(folder), InputError);
}

}  // namespace
}  // namespace kw
