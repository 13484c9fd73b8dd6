#include "train/step/placement.h"

#include "formats/base/error.h"

namespace kw::train {

at::TensorOptions placed(const std::string& device) {
  if (device != "auto" && device != "cpu" && device != "cuda") {
    throw InputError("a device \"" + device + "\" was asked for; expected auto, cpu or cuda");
  }
  if (device == "cuda" && !at::hasCUDA()) {
    throw EnvironmentError("there is no GPU that this build of torch can use");
  }
  const bool cuda = device != "cpu" && at::hasCUDA();
  return cuda ? at::TensorOptions(at::kBFloat16).device(at::kCUDA) : at::TensorOptions(at::kFloat);
}

}  // namespace kw::train
