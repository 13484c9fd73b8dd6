// Every set of parameters that a call may have: the domains of docs/synthesis.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "synth/skeleton/synth_operators.h"

namespace kw {

// What a call is given in addition to its tensors.
struct Parameters {
  int dim = 0, dim1 = 0;
  bool keepdim = false;
  int kernel = 1, stride = 1, padding = 0, dilation = 1, output_padding = 0;
  int groups = 1;
  int normalized = 1;  // trailing dims that a layer norm takes together
  int diagonal = 0;
  int size = 0;                           // of the dims that an adaptive pool or topk returns
  int scale = 1;                          // how many times as large the result is
  int before = 0, after = 0;              // number of elements that are added
  std::array<int8_t, kRanks> order = {};  // of a permutation: the dim at each place
  int index_rank = 0;                     // of an embedding's indices
  bool affine = false;                    // separate weight and bias (convolution: bias alone)
  bool training = false;                 // batch norm uses the batch's statistics, not running ones
  std::vector<std::string_view> chosen;  // a value for each of the operator's `choices`, in order
  int rank = 0;                          // of the result; 0 if no operator may read it
};

// Returns how many tensors of a call may be results of other operators: 1 or 2.
int operand_count(Domain domain);

// Returns every set of parameters for operands of these ranks (b: 0 if there is one operand); none
// if the ranks are outside the domain. The sets are made once, and live until the end. Any thread.
const std::vector<Parameters>& parameter_sets(const SynthOperator& op, int a, int b);

// Returns the text of `key` in {key} of `call`; empty if it is none of these parameters.
std::string parameter_text(const SynthOperator& op, const Parameters& parameters,
                           std::string_view key);

}  // namespace kw
