// The oracle is an evaluator of Tasks on symbols: a draw is "w0", "w1", ... in order, so that equal
// constructors draw equal weights, as they do in Python under one seed.
#include "program/rewrite/adopt.h"

#include <gtest/gtest.h>

#include <chrono>

#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw {
namespace {

constexpr int64_t kSize = 8;

// Builds a Program of tensors of 8 elements.
class Steps {
 public:
  explicit Steps(Program& program) : program_(program) {}

  ValueId input() {
    program_.inputs.push_back(value());
    return program_.inputs.back();
  }
  // Takes metadata and shared memory over from another Program's values.
  ValueId input_like(const Value& value, std::map<int, int>& storages) {
    program_.inputs.push_back(this->value());
    Value& mine = program_.values.back();
    const int storage = storages.try_emplace(value.storage, mine.storage).first->second;
    mine = value;
    mine.storage = storage;
    return program_.inputs.back();
  }
  ValueId empty() { return call("aten.empty.memory_format", {{"size", size()}}); }
  ValueId zeros() { return call("aten.zeros.default", {{"size", size()}}); }
  ValueId neg(ValueId a) { return call("aten.neg.default", {{"self", {ValueRef{a}}}}); }
  ValueId half(ValueId a) {
    const ValueId id =
        call("aten._to_copy.default", {{"self", {ValueRef{a}}}, {"dtype", {DType::kFloat16}}});
    program_.values[id].dtype = DType::kFloat16;
    return id;
  }
  ValueId add(ValueId a, ValueId b) {
    return call("aten.add.Tensor", {{"self", {ValueRef{a}}}, {"other", {ValueRef{b}}}});
  }
  ValueId view(ValueId a) {
    const ValueId id = call("aten.view.default", {{"self", {ValueRef{a}}}, {"size", size()}});
    program_.values[id].storage = program_.values[a].storage;
    return id;
  }
  ValueId draw(ValueId a) { return in_place("aten.uniform_.default", a); }
  ValueId relu(ValueId a) { return in_place("aten.relu_.default", a); }
  ValueId drawn() { return draw(empty()); }
  void launch(ValueId from, ValueId to) {
    program_.steps.push_back(Launch{0, {1, 1, 1}, {{ValueRef{from}}, {ValueRef{to}}}});
  }

 private:
  static Arg size() { return {ArgList{{kSize}}}; }
  ValueId value() {
    const auto id = static_cast<ValueId>(program_.values.size());
    program_.values.push_back({DType::kFloat32, {kSize}, {1}, 0, 100 + id});
    return id;
  }
  ValueId call(const std::string& op, std::map<std::string, Arg> args) {
    const ValueId id = value();
    program_.steps.push_back(AtenCall{op, std::move(args), {id}, {}});
    return id;
  }
  ValueId in_place(const std::string& op, ValueId a) {
    const ValueId id = value();
    program_.values[id] = program_.values[a];
    program_.steps.push_back(AtenCall{op, {{"self", {ValueRef{a}}}}, {id}, {a}});
    return id;
  }
  Program& program_;
};

// A model under construction: first its state, then (begin_calls) derive and forward.
class Model {
  Task task_;

 public:
  Model() : init(task_.init), derive(task_.derive), forward(task_.forward) {
    Kernel kernel;
    kernel.name = "k";
    kernel.params = {{"from", "*fp32"}, {"to", "*fp32"}};
    kernel.compiled = Compiled{.reads = {0}, .writes = {1}};
    task_.kernels = {kernel};
  }

  Steps init, derive, forward;
  std::vector<ValueId> in_derive, in_forward;  // the state there
  ValueId x = -1;                              // the input of forward

  Model& state(const std::string& name, ValueId value, const std::string& kind = "parameter") {
    task_.state.push_back({{name}, kind});
    task_.init.outputs.push_back(value);
    return *this;
  }
  // `derived` makes the values of derive that forward gets besides.
  std::vector<ValueId> begin_calls(
      const std::function<std::vector<ValueId>(Model&)>& derived = {}) {
    std::map<int, int> of_derive, of_forward;
    for (ValueId id : task_.init.outputs) {
      in_derive.push_back(derive.input_like(task_.init.values[id], of_derive));
      in_forward.push_back(forward.input_like(task_.init.values[id], of_forward));
    }
    for (size_t i = 0; i < in_derive.size(); ++i) {  // what derive makes may be a view of the state
      const int storage = task_.derive.values[in_derive[i]].storage;
      of_forward[storage] = task_.forward.values[in_forward[i]].storage;
    }
    std::vector<ValueId> out;
    if (derived) task_.derive.outputs = derived(*this);
    for (ValueId id : task_.derive.outputs) {
      out.push_back(forward.input_like(task_.derive.values[id], of_forward));
    }
    std::map<int, int> state;
    for (ValueId id : task_.init.outputs) {
      Steps(task_.inputs).input_like(task_.init.values[id], state);
    }
    task_.inputs.outputs = {Steps(task_.inputs).drawn()};
    x = forward.input();
    task_.arguments = {{{"in", 0}}};
    task_.result = {{"out", 0}};
    task_.source = {"model.py", "Model", {}, {"x"}};
    return out;
  }
  Task result(ValueId value) {
    task_.forward.outputs = {value};
    Task out = canonical(task_);
    check_task(out);
    return out;
  }
};

// What is in memory, as symbols.
class Memory {
 public:
  std::vector<std::string> run(const Task& task, const Program& program,
                               const std::vector<std::string>& inputs, const std::string& draw) {
    std::map<int, std::string> at;
    int draws = 0;
    const auto of = [&](ValueId id) -> std::string& { return at[program.values[id].storage]; };
    for (size_t i = 0; i < inputs.size(); ++i) of(program.inputs[i]) = inputs[i];
    for (const Step& step : program.steps) {
      if (const auto* launch = std::get_if<Launch>(&step)) {
        of(launch->args[1].value()) =
            "k(" + of(launch->args[0].value()) + "," + of(launch->args[1].value()) + ")";
        continue;
      }
      const auto& call = std::get<AtenCall>(step);
      const auto self = [&] { return of(call.find("self")->value()); };
      std::string& result = of(call.results[0]);
      if (call.op.starts_with("aten.empty")) result = "?";
      if (call.op.starts_with("aten.zeros")) result = "0";
      if (call.op.starts_with("aten.neg")) result = "neg(" + self() + ")";
      if (call.op.starts_with("aten._to_copy")) result = "half(" + self() + ")";
      if (call.op.starts_with("aten.clone")) result = self();
      if (call.op.starts_with("aten.relu_")) result = "relu(" + self() + ")";
      if (call.op.starts_with("aten.uniform_")) result = draw + std::to_string(draws++);
      if (call.op.starts_with("aten.add")) {
        result = "(" + self() + "+" + of(call.find("other")->value()) + ")";
      }
    }
    std::vector<std::string> out;
    for (ValueId id : program.outputs) out.push_back(of(id));
    (void)task;
    return out;
  }
};

// What forward gives, with the weights of the task's own constructor.
std::string meaning(const Task& task) {
  Memory memory;
  const auto state = memory.run(task, task.init, {}, "w");
  auto all = state;
  for (const auto& each : memory.run(task, task.derive, state, "d")) all.push_back(each);
  for (const auto& each : memory.run(task, task.inputs, state, "x")) all.push_back(each);
  return memory.run(task, task.forward, all, "f").at(0);
}

// forward: x and these entries of the state, in this order.
Task sum_of(Model& model, const std::vector<size_t>& entries) {
  model.begin_calls();
  ValueId sum = model.x;
  for (size_t entry : entries) sum = model.forward.add(sum, model.in_forward[entry]);
  return model.result(sum);
}

// forward: x + first + second.
Task two_weights() {
  Model model;
  model.state("first", model.init.drawn()).state("second", model.init.drawn());
  return sum_of(model, {0, 1});
}

// Returns the adopted Task, and checks what holds of all.
Task adopted(const Task& reference, const Task& candidate) {
  const Adoption adoption = adopt(reference, candidate);
  EXPECT_TRUE(adoption.task) << adoption.fault;
  const Task& task = adoption.task.value();
  EXPECT_EQ(task.init, reference.init);
  EXPECT_EQ(task.inputs, reference.inputs);
  EXPECT_EQ(task.state, reference.state);
  EXPECT_EQ(task.source, reference.source);
  const Adoption again = adopt(reference, task);
  EXPECT_EQ(canonical_hash(again.task.value()), canonical_hash(task)) << "of itself";
  return task;
}

TEST(Adopt, IsTheReferenceWhereTheCandidateIs) {
  EXPECT_EQ(canonical_hash(adopted(two_weights(), two_weights())), canonical_hash(two_weights()));
}

TEST(Adopt, FindsStateByNameInAnotherOrder) {
  Model model;
  model.state("second", model.init.zeros()).state("first", model.init.zeros());
  const Task candidate = sum_of(model, {1, 0});
  EXPECT_EQ(meaning(adopted(two_weights(), candidate)), meaning(two_weights()));
}

TEST(Adopt, FindsRenamedWeightsByTheOrderOfTheirDraws) {
  Model model;
  const ValueId a = model.init.drawn(), b = model.init.drawn();
  model.state("other", b).state("one", a);  // another order of attributes
  const Task candidate = sum_of(model, {1, 0});
  EXPECT_EQ(meaning(candidate), meaning(two_weights()));
  EXPECT_EQ(meaning(adopted(two_weights(), candidate)), meaning(two_weights()));
}

// The candidate makes a layer that neither uses, under other names.
TEST(Adopt, CountsDrawsThatNobodyUses) {
  Model reference;
  reference.state("unused", reference.init.drawn()).state("used", reference.init.drawn());
  const Task wanted = sum_of(reference, {1});
  Model candidate;
  candidate.state("a", candidate.init.drawn()).state("b", candidate.init.drawn());
  EXPECT_EQ(meaning(adopted(wanted, sum_of(candidate, {1}))), meaning(wanted));
}

// It makes the layer alone that it uses: it must mean the one that the reference uses.
TEST(Adopt, FindsTheWeightThatTheReferenceUses) {
  Model reference;
  reference.state("unused", reference.init.drawn()).state("used", reference.init.drawn());
  const Task wanted = sum_of(reference, {1});
  Model candidate;
  candidate.state("a", candidate.init.drawn());
  EXPECT_EQ(meaning(adopted(wanted, sum_of(candidate, {0}))), meaning(wanted));
}

// What the candidate was told on the host must hold of the reference's state.
TEST(Adopt, TakesPremisesOver) {
  Model reference;
  reference.state("table", reference.init.zeros(), "buffer")
      .state("other", reference.init.neg(reference.init.zeros()), "buffer")
      .state("viewed", reference.init.view(reference.init.zeros()), "buffer");
  const Task given = sum_of(reference, {});
  const auto premises = [&](const std::function<ValueId(Model&)>& make, const std::string& name) {
    Model candidate;
    candidate.state(name, make(candidate), "buffer");
    Task told = sum_of(candidate, {});
    told.state[0].premise = true;
    const Adoption adoption = adopt(given, told);
    std::vector<bool> out;
    if (!adoption.task) return std::make_pair(out, adoption.fault);
    for (const StateEntry& entry : adoption.task->state) out.push_back(entry.premise);
    return std::make_pair(out, adoption.fault);
  };
  const auto zeros = [](Model& model) { return model.init.zeros(); };
  const auto negated = [](Model& model) { return model.init.neg(model.init.zeros()); };
  const auto viewed = [](Model& model) { return model.init.view(model.init.zeros()); };
  EXPECT_EQ(premises(zeros, "table").first, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(premises(negated, "other").first, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(premises(viewed, "viewed").first, (std::vector<bool>{false, false, true}));
  EXPECT_NE(premises(negated, "table").second.find("other steps"), std::string::npos);
}

// A weight that is found by name is no more to be had by its lineage.
TEST(Adopt, WhatANameFoundIsNotFoundAgain) {
  Model model;
  model.state("one", model.init.drawn()).state("first", model.init.drawn());
  const Task candidate = sum_of(model, {1, 0});
  EXPECT_EQ(meaning(adopted(two_weights(), candidate)), meaning(two_weights()));
}

TEST(Adopt, AWeightThatTheConstructorPacksFollowsTheWeight) {
  Model model;
  const ValueId first = model.init.drawn(), second = model.init.drawn();
  const ValueId packed = model.init.neg(model.init.view(first));
  model.state("first", first).state("second", second).state("packed", packed, "buffer");
  const Task candidate = sum_of(model, {2});
  const Task task = adopted(two_weights(), candidate);
  EXPECT_EQ(meaning(task), "(x0+neg(w0))");
  EXPECT_EQ(task.derive.outputs.size(), 1u);
}

TEST(Adopt, AWeightOfAnotherTypeIsConvertedFromTheReferences) {
  Model model;
  const ValueId first = model.init.half(model.init.drawn());
  const ValueId second = model.init.half(model.init.drawn());
  model.state("second", second).state("first", first);
  const Task candidate = sum_of(model, {1});
  EXPECT_EQ(meaning(adopted(two_weights(), candidate)), "(x0+half(w0))");
}

TEST(Adopt, WhatAConstructorChangesInPlaceIsACopy) {
  Model model;
  const ValueId packed = model.init.relu(model.init.drawn());
  model.state("packed", packed);
  const Task candidate = sum_of(model, {0});
  const Task task = adopted(two_weights(), candidate);
  EXPECT_EQ(meaning(task), "(x0+relu(w0))");
  for (const Step& step : task.derive.steps) {
    for (ValueId written : step_writes(step, {})) {
      for (ValueId input : task.derive.inputs) {
        EXPECT_NE(task.derive.values[written].storage, task.derive.values[input].storage);
      }
    }
  }
}

TEST(Adopt, RefusesAWeightOfItsOwn) {
  Model model;
  model.state("first", model.init.drawn()).state("second", model.init.drawn());
  model.state("third", model.init.drawn());
  const Task candidate = sum_of(model, {2});
  const Adoption adoption = adopt(two_weights(), candidate);
  EXPECT_FALSE(adoption.task);
  EXPECT_NE(adoption.fault.find("third"), std::string::npos) << adoption.fault;
}

TEST(Adopt, AWeightOfItsOwnThatNothingUsesDoesNotMatter) {
  Model model;
  model.state("third", model.init.drawn()).state("first", model.init.drawn());
  const Task candidate = sum_of(model, {1});
  EXPECT_EQ(meaning(adopted(two_weights(), candidate)), "(x0+w0)");
}

TEST(Adopt, KeepsWhatTheFirstCallPacks) {
  Model model;
  model.state("one", model.init.drawn());
  const auto derived = model.begin_calls(
      [](Model& m) { return std::vector<ValueId>{m.derive.neg(m.in_derive[0])}; });
  const Task candidate = model.result(model.forward.add(model.x, derived[0]));
  const Task task = adopted(two_weights(), candidate);
  EXPECT_EQ(meaning(task), "(x0+neg(w0))");
  EXPECT_EQ(task.derive.outputs.size(), 1u);
}

TEST(Adopt, RefusesWhatTheFirstCallDraws) {
  Model model;
  model.state("first", model.init.drawn());
  const auto derived =
      model.begin_calls([](Model& m) { return std::vector<ValueId>{m.derive.drawn()}; });
  const Task candidate = model.result(model.forward.add(model.x, derived[0]));
  EXPECT_FALSE(adopt(two_weights(), candidate).task);
}

// A buffer of the candidate's that launches write: a counter, a result to be returned again.
TEST(Adopt, WhatForwardWritesIsMadeInEachCall) {
  for (const bool in_constructor : {true, false}) {
    Model model;
    if (in_constructor) model.state("buffer", model.init.zeros(), "buffer");
    const auto derived = model.begin_calls([&](Model& m) {
      return in_constructor ? std::vector<ValueId>() : std::vector<ValueId>{m.derive.zeros()};
    });
    const ValueId buffer = in_constructor ? model.in_forward[0] : derived[0];
    model.forward.launch(model.x, buffer);
    const Task task = adopted(two_weights(), model.result(buffer));
    EXPECT_EQ(meaning(task), "k(x0,0)");
    EXPECT_TRUE(task.derive.outputs.empty());
    EXPECT_EQ(task.forward.steps.size(), 2u);
  }
}

TEST(Adopt, WritesToTheReferencesStateStay) {
  Model reference, candidate;
  for (Model* model : {&reference, &candidate}) {
    model->state("running", model->init.zeros(), "buffer");
    model->begin_calls();
  }
  candidate.forward.launch(candidate.x, candidate.in_forward[0]);
  const Task task = adopted(reference.result(reference.forward.add(reference.x, reference.x)),
                            candidate.result(candidate.forward.add(candidate.x, candidate.x)));
  const auto& launch = std::get<Launch>(task.forward.steps[0]);
  EXPECT_EQ(launch.args[1].value(), task.forward.inputs[0]);
}

// A launch that writes a buffer leaves no trace, so what is derived of it is derived in each call.
TEST(Adopt, WhatDependsOnStateThatForwardWritesIsMadeInEachCall) {
  Model reference, candidate;
  for (Model* model : {&reference, &candidate}) {
    const ValueId position = model->init.zeros();
    model->state("position", position, "buffer");
    if (model == &candidate) model->state("packed", model->init.neg(position), "buffer");
    model->begin_calls();
  }
  candidate.forward.launch(candidate.x, candidate.in_forward[0]);
  const Task task =
      adopted(reference.result(reference.forward.add(reference.x, reference.x)),
              candidate.result(candidate.forward.add(candidate.x, candidate.in_forward[1])));
  EXPECT_TRUE(task.derive.outputs.empty());
  EXPECT_EQ(meaning(task), "(x0+neg(0))");
}

TEST(Adopt, ScratchMayBeMadeAsWhatIsPacked) {
  Model model;
  const ValueId first = model.init.drawn();
  const ValueId packed = model.init.neg(first), scratch = model.init.neg(packed);
  model.state("first", first).state("packed", packed, "buffer").state("scratch", scratch, "buffer");
  model.begin_calls();
  model.forward.launch(model.in_forward[1], model.in_forward[2]);
  const Task task = adopted(two_weights(), model.result(model.in_forward[2]));
  EXPECT_EQ(meaning(task), "k(neg(w0),neg(neg(w0)))");
  EXPECT_EQ(task.derive.outputs.size(), 1u);
}

TEST(Adopt, ScratchIsNoBufferOfTheReference) {
  Model reference, candidate;
  const ValueId mean = reference.init.zeros();
  reference.state("mean", mean, "buffer");
  reference.begin_calls();
  const ValueId scratch = candidate.init.zeros(), renamed = candidate.init.zeros();
  candidate.state("scratch", scratch, "buffer").state("renamed", renamed, "buffer");
  candidate.begin_calls();
  candidate.forward.launch(candidate.in_forward[1], candidate.in_forward[0]);
  const Task task =
      adopted(reference.result(reference.forward.add(reference.x, reference.in_forward[0])),
              candidate.result(candidate.in_forward[0]));
  const auto& launch = std::get<Launch>(task.forward.steps.back());
  EXPECT_EQ(launch.args[0].value(), task.forward.inputs[0]);
  EXPECT_NE(launch.args[1].value(), task.forward.inputs[0]);
}

TEST(Adopt, ViewsOfOneStorageAreFoundEach) {
  Model reference, candidate;
  for (Model* model : {&reference, &candidate}) {
    const ValueId base = model->init.drawn();
    const ValueId a = model->init.view(base), b = model->init.view(base);
    model->state("a", a).state("b", b);
    if (model == &candidate) {
      model->state("packed", model->init.add(model->init.neg(a), b), "buffer");
    }
    model->begin_calls();
  }
  const Task task =
      adopted(reference.result(reference.forward.add(reference.x, reference.in_forward[0])),
              candidate.result(candidate.forward.add(candidate.x, candidate.in_forward[2])));
  EXPECT_EQ(meaning(task), "(x0+(neg(w0)+w0))");
}

// A constructor that draws without end is refused, and not searched without end.
TEST(Adopt, ManyDrawsAreRefusedInTime) {
  Model model;
  const ValueId own = model.init.empty();
  for (int i = 0; i < 1500; ++i) model.init.draw(model.init.view(own));
  model.state("own", own);
  const Task candidate = sum_of(model, {0});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(adopt(two_weights(), candidate).task);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Adopt, RefusesOtherArguments) {
  Model model;
  model.begin_calls();
  Task candidate = model.result(model.forward.add(model.x, model.x));
  EXPECT_TRUE(adopt(two_weights(), candidate).task);
  candidate.arguments = {{{"in", 0}}, 3};
  EXPECT_FALSE(adopt(two_weights(), candidate).task);
  Value& x = candidate.forward.values[candidate.forward.inputs[0]];
  candidate.arguments = {{{"in", 0}}};
  x.dtype = DType::kFloat16;
  EXPECT_FALSE(adopt(two_weights(), candidate).task);
}

// Two weights of the reference that the candidate takes for one.
TEST(Adopt, RefusesSharingThatTheReferenceDoesNotHave) {
  Model model;
  const ValueId first = model.init.drawn();
  model.state("first", first).state("second", model.init.view(first));
  model.begin_calls();
  const Task candidate = model.result(model.forward.add(model.in_forward[0], model.in_forward[1]));
  EXPECT_FALSE(adopt(two_weights(), candidate).task);
}

}  // namespace
}  // namespace kw
