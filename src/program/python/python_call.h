// How exported code calls an operator: by PyTorch's own name for it, or through torch.ops if it has
// none. PyTorch's names cost the host less: 1.3 us instead of 3.6 for a view, and 2.5 us instead of
// 5.3 for an empty tensor.
#pragma once

#include <string>

namespace kw {

struct PythonCall {
  std::string callee;   // "torch.empty"; of a method "view"
  bool method = false;  // the first argument is written before the name
};

// For an operator such as "aten.view.default". `on_tensor`: its first argument is a tensor, not a
// number or a list. Arguments keep the schema's order and names.
PythonCall python_call(const std::string& op, bool on_tensor);

}  // namespace kw
