#include "executor/aten/backend.h"

#include <algorithm>
#include <array>
#include <new>

#include "formats/base/error.h"

namespace kw::exec {

bool lacks_memory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) ||
      dynamic_cast<const std::bad_alloc*>(&error)) {
    return true;
  }
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  return std::ranges::any_of(
      std::array{"out of memory", "can't allocate memory", "STATUS_ALLOC_FAILED"},
      [&](const char* words) { return text.find(words) != std::string::npos; });
}

int64_t divisibility(const Kernel& kernel, size_t param) {
  if (kernel.params.at(param).is_descriptor()) return 16;  // what TMA asks of an address
  const auto found = kernel.attrs.find(std::to_string(param));
  if (found == kernel.attrs.end() || !found->is_array()) return 1;
  for (const Json& attr : *found) {
    if (attr.is_array() && attr.size() == 2 && attr[0] == "tt.divisibility" &&
        attr[1].is_number_integer() && attr[1].get<int64_t>() > 0) {
      return attr[1].get<int64_t>();
    }
  }
  return 1;
}

std::vector<size_t> runtime_params(const Kernel& kernel) {
  std::vector<size_t> out;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (!kernel.params[i].is_constexpr()) out.push_back(i);
  }
  return out;
}

void check_specialization(const Kernel& kernel, const Launch& launch) {
  const std::vector<size_t> params = runtime_params(kernel);
  if (params.size() != launch.args.size()) {
    throw InputError("kernel " + kernel.name + ": wrong number of launch arguments");
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const auto* number = std::get_if<int64_t>(&launch.args[i].v);
    if (number && *number % divisibility(kernel, params[i]) != 0) {
      throw InputError("kernel " + kernel.name + ": " + kernel.params[params[i]].name + " = " +
                       std::to_string(*number) +
                       " is not divisible as the kernel was compiled for");
    }
  }
}

}  // namespace kw::exec
