// Integer constants at the top level of a model file, `NAME = 123` or `NAME = 4 * 512`, each on a
// line of its own: the convention by which model files name their sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kw {

struct ModelConstant {
  std::string name;
  int64_t value = 0;
};

// In the order of the file; of a name that stands there twice, the last value. Values that 64 bits
// do not hold are none.
std::vector<ModelConstant> model_constants(const std::string& text);

// The text with `NAME = value` for each line that has the constant; line numbers stay. False where
// there is none.
bool set_model_constant(std::string& text, const ModelConstant& constant);

}  // namespace kw
