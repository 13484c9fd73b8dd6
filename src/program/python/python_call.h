// How exported code calls an operator: by PyTorch's own name for it where it has one, which costs
// the host a third of what torch.ops.aten costs (1.3 against 3.6 us for a view, 2.5 against 5.3 us
// for an empty tensor), else through torch.ops.
#pragma once

#include <string>

namespace kw {

struct PythonCall {
  std::string callee;   // "torch.empty"; of a method "view"
  bool method = false;  // the first argument stands before the name
};

// For an operator such as "aten.view.default". `on_tensor`: its first argument is a tensor, not a
// number or a list. Arguments keep the schema's order and names.
PythonCall python_call(const std::string& op, bool on_tensor);

}  // namespace kw
