// A device guard that does nothing, for a torch built without CUDA.
//
// Recording runs PyTorch on fake cuda tensors, which have metadata and no memory. A CPU build of
// torch refuses to even dispatch on them ("not linked with support for cuda devices") until someone
// has registered a guard for that device. Loading this library is that registration; a CUDA build
// has its own guard and must not load it.
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {
const c10::impl::DeviceGuardImplRegistrar registrar(
    c10::DeviceType::CUDA, new c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA>());
}  // namespace
