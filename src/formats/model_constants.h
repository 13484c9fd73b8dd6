// Integer constants at the top level of a model file, such as `NAME = 123` or `NAME = 4 * 512`,
// each on a separate line. By this convention model files name their sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kw {

struct ModelConstant {
  std::string name;
  int64_t value = 0;
};

// Returns the constants in the order of the file. A name that is defined twice has its last value.
// Values that do not fit 64 bits are left out.
std::vector<ModelConstant> model_constants(const std::string& text);

// Writes `NAME = value` in each line that defines the constant; line numbers stay. Returns false if
// no line does.
bool set_model_constant(std::string& text, const ModelConstant& constant);

}  // namespace kw
