#include "program/python/host_path.h"

namespace kw {

// Triton's own call finds the compiled kernel by a key of all arguments, which takes time. The
// compiled kernel's run() takes the arguments in the order of the kernel's parameters, as Triton's
// launcher does (triton/compiler/compiler.py, CompiledKernel.__getitem__).
std::string launch_class(const std::vector<std::string>& launches) {
  if (launches.empty()) return "";
  std::string out = R"py(

class _kw_Launch:
    """A launch of a kernel. Triton finds what it compiled by the types, numbers and alignment of the
    arguments. These are the same in each call of forward, so it is asked once for each GPU."""

    def __init__(self, kernel, grid, constants, options):
        self.kernel, self.grid = kernel, grid
        self.last = tuple(constants.values())  # the kernel's last parameters
        self.named = {**constants, **options}
        self.compiled = {}  # by GPU

    def __call__(self, where, *args):
        if where is None:
            self.kernel[self.grid](*args, **self.named)
            return
        gpu, stream = where
        compiled = self.compiled.get(gpu)
        if compiled is None:
            self.compiled[gpu] = self.kernel[self.grid](*args, **self.named)
            return
        known = compiled.function, compiled.packed_metadata, None, None, None
        compiled.run(*self.grid, stream, *known, *args, *self.last)


)py";
  for (size_t i = 0; i < launches.size(); ++i) {
    out += "_kw_launch_" + std::to_string(i) + " = _kw_Launch(" + launches[i] + ")\n";
  }
  return out;
}

std::string bound_class() {
  return R"py(

def _kw_kept(owner, key):
    """The dict or list where an object keeps an item or an attribute; None if Python computes it."""
    if isinstance(owner, (dict, list, tuple)):
        return owner
    own = getattr(owner, "__dict__", None)
    if own is None or not isinstance(key, str) or hasattr(getattr(type(owner), key, None), "__set__"):
        return None
    for kept in (own, own.get("_parameters"), own.get("_buffers"), own.get("_modules")):
        if isinstance(kept, dict) and key in kept:
            return kept
    return None


def _kw_layouts(tensors):
    """What kernels are written for."""
    return [(t.dtype, t.shape, t.stride(), t.is_neg()) for t in tensors]


def _kw_traits(tensors):
    """What else decides whether kernels may run on tensors that are others in each call."""
    return [(type(t), t.get_device(), t.requires_grad, t.data_ptr() % 16) for t in tensors]


def _kw_modes():
    """What decides it beside the model and the arguments."""
    return (
        torch.is_grad_enabled(),
        torch.is_autocast_enabled(_kw_device),
        torch.get_default_dtype(),
        torch._C._are_functorch_transforms_active(),
        torch.jit.is_tracing(),
        torch.autograd.forward_ad._current_level,
        None if _kw_interpreted else torch.cuda.current_device(),
    )


class _kw_Bound:
    """The tensors that forward takes from the model, and what a call was judged by. A call that finds
    the same is not judged again."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.aligned = False

    def watch(self, model, state, versioned, arguments):
        """Keeps what the call was judged by. False if a later one cannot be told to be the same."""
        if torch.compiler.is_compiling():
            return False
        settings = [
            (*path, key) for path, *_, told in model._kw_modules for key, *value in told if value
        ]
        modules = [path for path, *_ in model._kw_modules]
        places, ends = {}, []
        for path in (*model._kw_paths, *settings, *modules):
            owner = model
            for key in path:
                kept = _kw_kept(owner, key)
                if kept is None:
                    return False
                owner = kept[key]
                places[id(kept), key] = kept, key, owner
            ends.append(owner)
        if not all(end is tensor for end, tensor in zip(ends, state)):
            return False
        self.tables, self.sizes, self.hooks, self.absent, self.own_absent = [], [], [], [], []
        modules = ends[len(ends) - len(modules) :]
        self.parts = [owner for owner in modules if owner is not model]
        self.kinds = list(map(type, self.parts))
        for owner, (*_, told) in zip(modules, model._kw_modules):
            if isinstance(owner, torch.jit.ScriptModule):
                return False  # its attributes are computed when they are asked
            if isinstance(owner, (dict, list, tuple)):
                (self.tables if isinstance(owner, dict) else self.sizes).append(owner)
                continue
            self.tables.append(owner._modules)
            self.sizes += [owner._parameters, owner._buffers]
            absent = [key for key, *value in told if not value]
            if owner is model:
                self.own_absent = absent
            else:
                self.absent += [(owner.__dict__, key) for key in absent]
                self.sizes.append(owner.__dict__)
                self.hooks += [owner._forward_hooks, owner._forward_pre_hooks]
        self.keys_of, self.counts = list(map(tuple, self.tables)), list(map(len, self.sizes))
        self.hooked = list(map(tuple, self.hooks))
        if not all(type(t) in (torch.Tensor, torch.nn.Parameter) for t in (*state, *arguments)):
            return False  # others may be computed when they are asked
        own = model.__dict__  # not held, or the model would hold itself
        places = places.values()
        self.own_count = len(own) + ("_kw_bound" not in own)
        self.own = [(key, found) for kept, key, found in places if kept is own]
        apart = [place for place in places if place[0] is not own]
        self.kept, self.keys, self.found = ([place[i] for place in apart] for i in range(3))
        self.model = _kw_weakref.ref(model)
        self.state, self.versioned = state, versioned
        self.held = [t.detach() for t in versioned]  # or others may get their addresses
        self.modes, self.traits = _kw_modes(), _kw_traits(arguments)
        self.layouts = _kw_layouts((*state, *arguments))
        self.addresses = [t.data_ptr() for t in state]
        self.aligned = not any(a % 16 for a in self.addresses) and not any(g[-1] for g in self.traits)
        try:
            self.versions = [t._version for t in versioned]
        except RuntimeError:  # inference tensors count no versions
            return False
        return True

    def holds(self, model, *arguments):
        """True when a call finds what this one did."""
        try:
            own = model.__dict__
            if (
                self.model() is model
                and _kw_modes() == self.modes
                and all(own[key] is found for key, found in self.own)
                and len(own) == self.own_count
                and not any(key in own for key in self.own_absent)
                and not any(key in kept for kept, key in self.absent)
                and all(map(_kw_operator.is_, map(_kw_operator.getitem, self.kept, self.keys), self.found))
                and list(map(type, self.parts)) == self.kinds
                and list(map(tuple, self.tables)) == self.keys_of
                and list(map(len, self.sizes)) == self.counts
                and list(map(tuple, self.hooks)) == self.hooked
                and _kw_traits(arguments) == self.traits
                and [t.data_ptr() for t in self.state] == self.addresses
                and _kw_layouts((*self.state, *arguments)) == self.layouts
                and [t._version for t in self.versioned] == self.versions
                and not (self.modes[0] and any(t.requires_grad for t in self.state))
            ):
                return True
        except (AttributeError, LookupError, RuntimeError, TypeError):
            pass
        model.__dict__.pop("_kw_bound", None)  # old weights may go
        return False

    def where(self):
        """The GPU and its stream, where launches do not ask Triton again. None where they must:
        compiled kernels are for aligned addresses, and interpreters and profilers see each launch."""
        runtime = _kw_triton.knobs.runtime
        if not self.aligned or _kw_interpreted:
            return None
        for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
            if getattr(hook, "calls", hook):
                return None
        gpu = self.modes[-1]
        return gpu, _kw_triton.runtime.driver.active.get_current_stream(gpu)

    def __reduce__(self):  # a copy of the module finds its own
        return (type(None), ())
)py";
}

}  // namespace kw
