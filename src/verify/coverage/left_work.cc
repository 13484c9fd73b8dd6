#include "verify/coverage/left_work.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "ops/operator.h"
#include "program/makers.h"
#include "program/rewrite/algebra.h"
#include "program/rewrite/step_history.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

std::string_view work_name(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  return row ? work_row(*row).name : std::string_view(call.op);
}

// A value as it is before a step.
struct Place {
  bool derived = false;  // in the derive Program
  ValueId id = -1;
  int end = 0;
  auto operator<=>(const Place&) const = default;
};

// Finds out where the values of a Task come from. Borrows it.
class Origins {
 public:
  explicit Origins(const Task& task)
      : task_(task), forward_(task.forward, task.kernels), derive_(task.derive, task.kernels) {
    for (const bool derived : {false, true}) {
      const Program& program = this->program(derived);
      for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
        for (ValueId id : step_defines(program.steps[i])) makers_[{derived, id}] = i;
      }
    }
  }

  const Program& program(bool derived) const { return derived ? task_.derive : task_.forward; }
  const Value& value(const Place& place) const { return program(place.derived).values[place.id]; }

  // The step that made the value; -1: an input.
  int maker(const Place& place) const {
    const auto found = makers_.find({place.derived, place.id});
    return found == makers_.end() ? -1 : found->second;
  }
  const AtenCall* call(const Place& place) const {
    const int step = maker(place);
    return step < 0 ? nullptr : std::get_if<AtenCall>(&program(place.derived).steps[step]);
  }
  bool is_view(const Place& place) const {
    const int step = maker(place);
    return step >= 0 && history(place.derived).written(step).empty();
  }
  // Whether the memory is as the value's maker left it.
  bool is_as_made(Place place) const {
    const int last = last_write(place);
    while (is_view(place)) {
      const Arg* self = call(place)->find("self");
      if (!self || !self->is_value()) return false;
      place.id = self->value();
    }
    return maker(place) == last;
  }

  // The place of the operands of the value's maker. A view shows what its memory holds when it is
  // read, not when it is made.
  Place before(const Place& place) const {
    return {place.derived, -1, is_view(place) ? place.end : maker(place)};
  }

  // Returns the value of which this one is a copy in another layout, or a view of all elements in
  // their order.
  Place behind_copies(Place place) const {
    while (is_as_made(place)) {
      const auto& inputs = task_.forward.inputs;
      if (maker(place) < 0 && !place.derived) {
        const size_t at = std::find(inputs.begin(), inputs.end(), place.id) - inputs.begin();
        const size_t states = task_.state.size(), derived = task_.derive.outputs.size();
        if (at < states || at >= states + derived) return place;
        place = {true, task_.derive.outputs[at - states], derive_.end()};
        continue;
      }
      const AtenCall* made = call(place);
      const Arg* self = made ? made->find("self") : nullptr;
      if (!self || !self->is_value()) return place;
      Place source = {place.derived, self->value(), place.end};
      if (is_view(place)) {
        const ValueId whole = behind_views(program(place.derived), place.id);
        if (whole == place.id) return place;
        source.id = whole;
      } else if (is_layout_copy(*made, place, source)) {
        source.end = maker(place);
      } else {
        return place;
      }
      place = source;
    }
    return place;
  }

  // The number of an input among the state or the arguments: state counts from 0, arguments from
  // the end of the inputs.
  int input_number(const Place& place) const {
    const std::vector<ValueId>& inputs = program(place.derived).inputs;
    const auto at =
        static_cast<int>(std::find(inputs.begin(), inputs.end(), place.id) - inputs.begin());
    const bool state = place.derived || at < static_cast<int>(task_.state.size());
    return state ? at : at - static_cast<int>(inputs.size());
  }

 private:
  const StepHistory& history(bool derived) const { return derived ? derive_ : forward_; }
  int last_write(const Place& place) const {
    return history(place.derived).last_write(value(place).storage, place.end);
  }
  bool is_layout_copy(const AtenCall& call, const Place& place, const Place& source) const {
    static constexpr std::string_view kCopies[] = {"aten.clone.default", "aten.contiguous.default",
                                                   "aten._to_copy.default"};
    return std::count(std::begin(kCopies), std::end(kCopies), call.op) > 0 &&
           value(place).dtype == value(source).dtype && value(place).shape == value(source).shape;
  }

  const Task& task_;
  const StepHistory forward_, derive_;
  std::map<std::pair<bool, ValueId>, int> makers_;
};

// Compares values of two Tasks. Borrows both.
class SameValues {
 public:
  SameValues(const Task& reference, const Task& candidate) : theirs_(reference), ours_(candidate) {}

  // Whether two calls compute the same, each at the place of its first operand.
  bool calls(const AtenCall& theirs, Place their_place, const AtenCall& ours, Place our_place) {
    if (theirs.args.size() != ours.args.size() || theirs.results.size() != ours.results.size() ||
        work_name(theirs) != work_name(ours) || is_random(theirs)) {
      return false;
    }
    return std::all_of(theirs.args.begin(), theirs.args.end(), [&](const auto& named) {
      const Arg* own = ours.find(named.first);
      return own && args(named.second, their_place, *own, our_place);
    });
  }

 private:
  bool args(const Arg& theirs, Place their_place, const Arg& ours, Place our_place) {
    const auto* their_list = std::get_if<ArgList>(&theirs.v);
    const auto* our_list = std::get_if<ArgList>(&ours.v);
    if (their_list && our_list) {
      return std::equal(
          their_list->begin(), their_list->end(), our_list->begin(), our_list->end(),
          [&](const Arg& a, const Arg& b) { return args(a, their_place, b, our_place); });
    }
    if (!theirs.is_value() || !ours.is_value()) return theirs == ours;
    their_place.id = theirs.value();
    our_place.id = ours.value();
    if (their_place.id < 0 || our_place.id < 0) return their_place.id == our_place.id;
    return values(their_place, our_place);
  }

  bool values(const Place& theirs, const Place& ours) {
    const Value &their_value = theirs_.value(theirs), &our_value = ours_.value(ours);
    if (their_value.dtype != our_value.dtype || their_value.shape != our_value.shape) return false;
    const auto key = std::pair(theirs, ours);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const bool same = compare(theirs_.behind_copies(theirs), ours_.behind_copies(ours));
    return known_[key] = same;
  }

  bool compare(const Place& theirs, const Place& ours) {
    if (!theirs_.is_as_made(theirs) || !ours_.is_as_made(ours)) return false;
    const AtenCall *their_call = theirs_.call(theirs), *our_call = ours_.call(ours);
    if (theirs_.maker(theirs) < 0 && ours_.maker(ours) < 0) {
      return theirs_.input_number(theirs) == ours_.input_number(ours);
    }
    if (!their_call || !our_call) return false;
    const auto number = [](const AtenCall& call, ValueId id) {
      return std::find(call.results.begin(), call.results.end(), id) - call.results.begin();
    };
    return number(*their_call, theirs.id) == number(*our_call, ours.id) &&
           calls(*their_call, theirs_.before(theirs), *our_call, ours_.before(ours));
  }

  const Origins theirs_, ours_;
  std::map<std::pair<Place, Place>, bool> known_;
};

}  // namespace

LeftWork left_work(const Task& reference, const Task& candidate) {
  LeftWork out{reference, candidate};
  SameValues same(reference, candidate);
  const std::vector<bool> live = live_steps(candidate.forward, candidate.kernels);
  for (int i = 0; i < static_cast<int>(live.size()); ++i) {
    const auto* ours = std::get_if<AtenCall>(&candidate.forward.steps[i]);
    if (!live[i] || !ours) continue;
    for (int k = 0; k < static_cast<int>(reference.forward.steps.size()); ++k) {
      const auto* theirs = std::get_if<AtenCall>(&reference.forward.steps[k]);
      if (!theirs || !same.calls(*theirs, {false, -1, k}, *ours, {false, -1, i})) continue;
      std::get<AtenCall>(out.reference.forward.steps[k]).args[kGiven] = {true};
      std::get<AtenCall>(out.candidate.forward.steps[i]).args[kGiven] = {true};
    }
  }
  return out;
}

}  // namespace kw
