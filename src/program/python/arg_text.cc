#include "program/python/arg_text.h"

#include <variant>

#include "program/checked/checked_names.h"

namespace kw {
namespace {

struct ArgSpeller {
  const ArgSpelling& spelling;

  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool x) const { return x ? "True" : "False"; }
  std::string operator()(int64_t x) const { return std::to_string(x); }
  std::string operator()(double x) const { return spelling.number(x); }
  std::string operator()(const std::string& x) const { return spelling.text(x); }
  std::string operator()(const ValueRef& x) const { return spelling.value(x.id); }
  std::string operator()(DType x) const { return spelling.torch + std::string(dtype_name(x)); }
  std::string operator()(const DeviceArg&) const { return spelling.device; }
  std::string operator()(const LayoutArg& x) const { return spelling.torch + checked_layout(x); }
  std::string operator()(const MemoryFormatArg& x) const {
    return spelling.torch + checked_memory_format(x);
  }
  std::string operator()(const ArgList& x) const {
    std::string items;
    for (const Arg& item : x) {
      items += (items.empty() ? "" : ", ") + arg_text(item, spelling);
    }
    return "[" + items + "]";
  }
};

}  // namespace

std::string arg_text(const Arg& arg, const ArgSpelling& spelling) {
  return std::visit(ArgSpeller{spelling}, arg.v);
}

}  // namespace kw
