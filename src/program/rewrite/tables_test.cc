#include "program/rewrite/tables.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw {
namespace {

constexpr int64_t kLength = 8;

// A constructor that makes one tensor, and a model that holds it.
class Constructor {
 public:
  ValueId make(const std::string& op, std::map<std::string, Arg> args = {}) {
    const ValueId id = value(DType::kFloat32);
    task_.init.steps.push_back(AtenCall{"aten." + op, std::move(args), {id}, {}});
    return id;
  }
  ValueId zeros() { return make("zeros.default", {{"size", {ArgList{{kLength}}}}}); }
  ValueId arange() { return make("arange.default", {{"end", {kLength}}}); }
  ValueId sin(ValueId a) { return make("sin.default", {{"self", {ValueRef{a}}}}); }
  ValueId drawn() { return make("randn.default", {{"size", {ArgList{{kLength}}}}}); }
  ValueId in_place(const std::string& op, ValueId a, std::map<std::string, Arg> args = {}) {
    args["self"] = {ValueRef{a}};
    const ValueId id = make(op, std::move(args));
    task_.init.values[id] = task_.init.values[a];
    std::get<AtenCall>(task_.init.steps.back()).mutated = {a};
    return id;
  }
  ValueId first_half(ValueId a) {
    const ValueId id = make("narrow.default", {{"self", {ValueRef{a}}},
                                               {"dim", {int64_t{0}}},
                                               {"start", {int64_t{0}}},
                                               {"length", {kLength / 2}}});
    task_.init.values[id].storage = task_.init.values[a].storage;
    task_.init.values[id].shape = {kLength / 2};
    return id;
  }
  void launch_on(ValueId id) {
    Kernel kernel;
    kernel.name = "k";
    kernel.params = {{"to", "*fp32"}};
    kernel.compiled = Compiled{.writes = {0}};
    task_.kernels = {kernel};
    task_.init.steps.push_back(Launch{0, {1, 1, 1}, {{ValueRef{id}}}});
  }
  void hold(ValueId id, const std::string& kind) {
    task_.state.push_back({{"held" + std::to_string(task_.state.size())}, kind});
    task_.init.outputs.push_back(id);
  }
  void set_dtype(ValueId id, DType dtype) { task_.init.values[id].dtype = dtype; }

  // forward reads the entry `read` of the state, or writes it.
  Task task(int read = -1, bool writes = false) {
    Task out = task_;
    for (Program* program : {&out.derive, &out.inputs, &out.forward}) {
      for (ValueId id : out.init.outputs) {
        program->inputs.push_back(static_cast<ValueId>(program->values.size()));
        program->values.push_back(out.init.values[id]);
      }
    }
    if (read >= 0) {
      Value made = out.forward.values[read];
      made.storage = writes ? made.storage : 1000;
      out.forward.values.push_back(made);
      const auto id = static_cast<ValueId>(out.forward.values.size()) - 1;
      out.forward.steps.push_back(
          AtenCall{writes ? "aten.neg_.default" : "aten.neg.default",
                   {{"self", {ValueRef{read}}}},
                   {id},
                   writes ? std::vector<ValueId>{read} : std::vector<ValueId>{}});
      out.forward.outputs = {id};
      out.result = {{"out", 0}};
    }
    check_task(out);
    return out;
  }

 private:
  ValueId value(DType dtype) {
    const auto id = static_cast<ValueId>(task_.init.values.size());
    task_.init.values.push_back({dtype, {kLength}, {1}, 0, 100 + id});
    return id;
  }
  Task task_;
};

// Whether the tensor that `make` makes is a table.
bool is_table(const std::function<ValueId(Constructor&)>& make,
              const std::string& kind = "buffer") {
  Constructor constructor;
  constructor.hold(make(constructor), kind);
  return tables(constructor.task()).at(0);
}

TEST(Tables, AreMadeOfLiteralsAlone) {
  EXPECT_TRUE(is_table([](Constructor& c) { return c.sin(c.arange()); }));
  EXPECT_FALSE(is_table([](Constructor& c) { return c.drawn(); }));
  EXPECT_FALSE(is_table([](Constructor& c) { return c.sin(c.drawn()); }));
  EXPECT_FALSE(is_table([](Constructor& c) { return c.in_place("uniform_.default", c.arange()); }));
  EXPECT_FALSE(is_table([](Constructor& c) { return c.sin(c.arange()); }, "parameter"));
  EXPECT_TRUE(is_table([](Constructor& c) { return c.sin(c.arange()); }, "constant"));
}

TEST(Tables, AreNoRunningStatistics) {
  EXPECT_FALSE(is_table([](Constructor& c) { return c.zeros(); }));
  EXPECT_FALSE(is_table([](Constructor& c) {
    return c.in_place("fill_.Scalar", c.make("empty.memory_format"), {{"value", {1.0}}});
  }));
  EXPECT_FALSE(is_table([](Constructor& c) {
    return c.in_place("add_.Scalar", c.zeros(), {{"other", {1.0}}});
  }));
  EXPECT_FALSE(is_table([](Constructor& c) { return c.sin(c.zeros()); }));
  EXPECT_TRUE(is_table([](Constructor& c) {
    const ValueId all = c.zeros();
    c.in_place("fill_.Scalar", c.first_half(all), {{"value", {1.0}}});
    return all;
  })) << "half of it is one";
  EXPECT_FALSE(is_table([](Constructor& c) { return c.in_place("zero_.default", c.arange()); }))
      << "all of it is overwritten";
  EXPECT_TRUE(is_table([](Constructor& c) {
    return c.in_place("copy_.default", c.zeros(), {{"src", {ValueRef{c.arange()}}}});
  }));
  EXPECT_TRUE(is_table([](Constructor& c) {
    const ValueId zeros = c.zeros();
    return c.make("cat.default",
                  {{"tensors",
                    {ArgList{{ValueRef{zeros}},
                             {ValueRef{c.make("exp.default", {{"self", {ValueRef{zeros}}}})}}}}}});
  })) << "zeros and ones";
  EXPECT_TRUE(is_table([](Constructor& c) {
    const ValueId flags = c.zeros();
    c.set_dtype(flags, DType::kBool);
    return flags;
  })) << "no statistic is a mask";
  EXPECT_TRUE(is_table([](Constructor& c) { return c.zeros(); }, "constant"));
}

TEST(Tables, AreNotMadeOfParametersAndShareNoMemoryWithThem) {
  for (const bool view : {true, false}) {
    Constructor constructor;
    const ValueId weight = constructor.arange();
    constructor.hold(weight, "parameter");
    constructor.hold(view ? constructor.first_half(weight) : constructor.sin(weight), "buffer");
    EXPECT_EQ(tables(constructor.task()), (std::vector<bool>{false, false}));
    EXPECT_EQ(varied_state(constructor.task()), (std::vector<int>{0, 1}));
  }
}

TEST(Tables, AreNotMadeByKernels) {
  Constructor constructor;
  const ValueId grid = constructor.zeros();
  constructor.launch_on(grid);
  constructor.hold(grid, "constant");
  EXPECT_FALSE(tables(constructor.task()).at(0));
}

TEST(Tables, AreNotWrittenByForward) {
  Constructor constructor;
  constructor.hold(constructor.arange(), "buffer");
  EXPECT_TRUE(tables(constructor.task(0)).at(0));
  EXPECT_FALSE(tables(constructor.task(0, true)).at(0));
}

TEST(Premises, AreTheTablesThatForwardReads) {
  Constructor constructor;
  constructor.hold(constructor.sin(constructor.arange()), "buffer");
  constructor.hold(constructor.drawn(), "buffer");
  constructor.hold(constructor.arange(), "buffer");
  for (const int read : {0, 1, 2}) {
    Task task = constructor.task(read);
    mark_premises(task);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(task.state[i].premise, i == read && read != 1);
  }
  EXPECT_TRUE(varied_state(constructor.task()) == std::vector<int>{1});
}

TEST(Premises, AreMadeByTheirOwnStepsOfTheConstructor) {
  Constructor constructor;
  constructor.hold(constructor.drawn(), "parameter");
  const ValueId all = constructor.zeros(), half = constructor.first_half(all);
  constructor.sin(constructor.arange());
  constructor.in_place("fill_.Scalar", half, {{"value", {1.0}}});
  constructor.hold(all, "buffer");
  Task task = constructor.task(1);
  mark_premises(task);
  const Program made = premises_of(task);
  check_program(made, {}, "premises");
  std::vector<std::string> ops;
  for (const Step& step : made.steps) ops.push_back(std::get<AtenCall>(step).op);
  EXPECT_EQ(ops, (std::vector<std::string>{"aten.zeros.default", "aten.narrow.default",
                                           "aten.fill_.Scalar"}));
  EXPECT_EQ(made.outputs.size(), 1u);
  task.state[0].premise = true;
  EXPECT_THROW(premises_of(task), InputError) << "a weight";
}

}  // namespace
}  // namespace kw
