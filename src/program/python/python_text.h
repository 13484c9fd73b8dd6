// Constants and names of a Task as Python text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/json.h"
#include "ops/dtype.h"

namespace kw {

std::string python_float(double x);
// In ASCII, with escapes: no character of `text` can end the string or its line. InputError for a
// text that is not UTF-8.
std::string python_string(const std::string& text);
std::string python_tuple(const std::vector<int64_t>& items);
std::string torch_dtype(DType dtype);  // "torch.float32"
// A constexpr or option of a kernel, or a literal of an argument tree (docs/formats/task.md).
// InputError when it is none.
std::string python_literal(const Json& value);
std::string special_float(const Json& tree);  // {"f": "inf"}; InputError for another word
// `layers.0.weight` or `many[0].weight` as an attribute path from `self`; names that are no
// identifiers, or are keywords, go through getattr. InputError for one that begins with "__".
std::string attribute_path(const std::string& qualified);
// The names and keys on the same path, as items of a tuple: `"many", 0, "weight", `.
std::string attribute_keys(const std::string& qualified);

}  // namespace kw
