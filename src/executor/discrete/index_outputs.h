// Integer outputs that a rounding may change: indices of largest elements, orders of sorts, codes
// of quantised numbers (codes.h). Two elements may be nearer to one another than the rounding of
// what is chosen among, and then either is right. An index is right when it is the reference's, or
// picks an element that float64 puts within the reference's own error of the one that the reference
// picked. Which one of elements that are equal in float64 is chosen, PyTorch says, unless it
// promises nothing, or has rounded them apart itself.
#pragma once

#include <optional>
#include <vector>

#include "executor/aten/aten.h"
#include "executor/discrete/discontinuities.h"
#include "program/program.h"

namespace kw {

struct Choice {
  size_t output = 0;           // of the program, by position
  ValueId among = -1;          // what is chosen among, or rounded to integers
  std::optional<int64_t> dim;  // along which; none: among all elements
  std::optional<Jump> jump;    // of what is rounded: where
  // What `among` is compared with: less that, it is what jumps. A number, or a value.
  std::optional<Arg> other;
  bool any_of_equal = false;  // whether of equal elements any is right
};

// The outputs of a program that operators of class Numerics::kChoice made, seen through views that
// keep the order of elements, and those that are codes. Not where what is chosen among is
// overwritten.
std::vector<Choice> find_choices(const Program& program);

// The program with what its outputs are chosen among as further outputs, one for each choice.
Program with_choices(Program program, const std::vector<Choice>& choices);

// What an output's indices are held to: the oracle's elements, and how far off they may be of one
// another, for each place along the dimension. All flat, or as the program has them.
struct ChoiceRule {
  at::Tensor among;
  // Of a code: code_slack(). Else for each row four numbers (see allowed() in choices.cc).
  at::Tensor slack;
  // The same elements as the reference has them, where that may tell equal ones apart.
  at::Tensor found = {};
};
ChoiceRule choice_rule(const Choice& choice, const at::Tensor& reference, const at::Tensor& oracle);
// Lets indices be as far off as the elements are in another run, where that is further.
void allow_errors_of(const Choice& choice, const at::Tensor& run, ChoiceRule& rule);

// Elements of `got` that are neither `expected` nor a near tie with it. `exact` is the oracle's
// answer.
int64_t wrong_choices(const Choice& choice, const ChoiceRule& rule, const at::Tensor& got,
                      const at::Tensor& expected, const at::Tensor& exact);

}  // namespace kw
