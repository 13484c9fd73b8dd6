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

    kinds = dict(constexpr="x", i1="b", i8="b", i16="h", i32="i", i64="q", fp32="f", fp64="d")
    kinds |= dict(u1="B", u8="B", u16="H", u32="I", u64="Q")

    def __init__(self, kernel, grid, constants, options, descriptors=None):
        self.kernel, self.grid = kernel, grid
        self.last = tuple(constants.values())  # the kernel's last parameters
        self.named = {**constants, **options}
        self.descriptors = descriptors or {}  # what is made of tensors, by their positions
        self.compiled, self.direct = {}, {}  # by GPU: for Triton's launcher, for kernelwright_host

    def __call__(self, where, *args):
        if where is not None:
            direct = self.direct.get(where[0])
            if direct is not None and _kw_host.launch(direct, where[1], args):
                return
        args = list(args)
        for at, (descriptor, *layout) in self.descriptors.items():
            args[at] = descriptor(args[at], *layout)
        compiled = None if where is None else self.compiled.get(where[0])
        if compiled is not None:
            known = compiled.function, compiled.packed_metadata, None, None, None
            compiled.run(*self.grid, where[1], *known, *args, *self.last)
            return
        compiled = self.kernel[self.grid](*args, **self.named)
        if where is not None:
            self.compiled[where[0]], self.direct[where[0]] = compiled, self.directly(compiled)

    def directly(self, compiled):
        """The compiled kernel for kernelwright_host; None where it wants what Triton prepares."""
        made = getattr(_kw_host, "kernel", None)
        if made is None or not isinstance(compiled, _kw_triton.compiler.CompiledKernel):
            return None
        of = compiled.metadata
        wants = "global_scratch_size", "profile_scratch_size", "launch_pdl", "launch_cooperative_grid"
        if any(getattr(of, name, 0) for name in wants) or getattr(of, "num_ctas", 1) != 1:
            return None
        types = list(map(str, compiled.src.signature.values()))
        kinds = [self.kinds.get(kind, {"*": "P", "t": "D"}.get(kind[0])) or "?" for kind in types]
        try:
            maps = self.maps(of.tensordesc_meta) if self.descriptors else []
            return made(compiled.function, self.grid, 32 * of.num_warps, of.shared, "".join(kinds), maps)
        except (ImportError, AttributeError, LookupError, OverflowError, TypeError, ValueError):
            return None  # another Triton says it otherwise

    def maps(self, metas):
        """What the driver is told of tensors for the TMA. ValueError where Triton tells it more."""
        from triton.backends.nvidia.driver import TMA_DTYPE_DEVICE_TO_HOST as types

        if len(metas) != len(self.descriptors) or any(meta["fp4_padded"] for meta in metas):
            raise ValueError
        return [
            (types[meta["elem_type"]], meta["elem_size"], meta["swizzle"], meta["block_size"], shape, strides)
            for meta, (_, shape, strides, _) in zip(metas, self.descriptors.values())
        ]


)py";
  for (size_t i = 0; i < launches.size(); ++i) {
    out += "_kw_launch_" + std::to_string(i) + " = _kw_Launch(" + launches[i] + ")\n";
  }
  return out;
}

std::string bound_class(bool graphs) {
  std::string out = R"py(

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


class _kw_Host:
    """How a call is compared with what was judged. The package kernelwright_host has the same
    functions in C++, for models of hundreds of parameters."""

    @staticmethod
    def same_items(owners, keys, found):
        return all(map(_kw_operator.is_, map(_kw_operator.getitem, owners, keys), found))

    @staticmethod
    def same_keys(tables, keys):
        return list(map(tuple, tables)) == keys

    @staticmethod
    def stamp(dicts):
        """What is another after each change of these dicts; None if that is not known."""
        return None

    @staticmethod
    def same_dicts(owners, dicts):
        return all(map(_kw_operator.is_, map(vars, owners), dicts))

    @staticmethod
    def same_sizes(owners, sizes):
        return list(map(len, owners)) == sizes

    @staticmethod
    def same_types(parts, types):
        return list(map(type, parts)) == types

    @staticmethod
    def traits(tensors):
        """What decides whether kernels may run on tensors that are others in each call."""
        return tuple([
            (type(t), t.get_device(), t.requires_grad, t.data_ptr() % 16, t.dtype, t.shape, t.stride(), t.is_neg() or t.is_conj())
            for t in tensors
        ])

    @staticmethod
    def places(tensors):
        return [(t.data_ptr(), t.dtype, t.shape, t.stride(), t.is_neg() or t.is_conj()) for t in tensors]

    @staticmethod
    def versions(tensors):
        return [t._version for t in tensors]

    @staticmethod
    def any_requires_grad(tensors):
        return any(t.requires_grad for t in tensors)


def _kw_found_host():
    """The package kernelwright_host, where it is installed."""
    try:
        import kernelwright_host
    except ImportError:
        return _kw_Host
    return kernelwright_host if getattr(kernelwright_host, "VERSION", 0) == 2 else _kw_Host


_kw_host = _kw_found_host()


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


class _kw_Call:
    """A call that may run the steps: what they take from the model, where compiled kernels may be
    launched again, and where CUDA graphs may be."""

    def __init__(self, tensors, gpu=None, graphs=None):
        self.tensors, self.gpu, self.graphs = tensors, gpu, graphs

    def run(self, model, *arguments):
        if self.graphs is None:
            return model._kw_steps(self.tensors, self.where(), *arguments)
        return self.graphs.run(self, model, arguments)

    def where(self):
        """The GPU and its stream, where launches do not ask Triton again. None where they must:
        compiled kernels are for aligned addresses, and interpreters and profilers see each launch."""
        runtime = _kw_triton.knobs.runtime
        if self.gpu is None or _kw_interpreted:
            return None
        for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
            if getattr(hook, "calls", hook):
                return None
        return self.gpu, _kw_triton.runtime.driver.active.get_current_stream(self.gpu)


class _kw_Bound:
    """The tensors that forward takes from the model, and what they were judged by. A call that finds
    the same, and arguments like those of a call before it, is not judged again."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.calls = {}  # by the modes, and the traits of their arguments
        self.graphs = None

    @staticmethod
    def call(model, tensors, state, versioned, arguments):
        """A call that was judged. It is kept if a later one can be told to be equal."""
        like = (torch.Tensor, torch.nn.Parameter)  # others may be computed when they are asked
        plain = all(type(t) in like for t in (*state, *arguments))
        if torch.compiler.is_compiling() or not plain:
            return _kw_Call(tensors)
        bound = model.__dict__.get("_kw_bound")
        if bound is None:
            model.__dict__.pop("_kw_bound", None)  # a copy of a model has None
            bound = _kw_Bound(tensors)
            if not bound.watch(model, state, versioned):
                return _kw_Call(tensors)
            bound = model.__dict__.setdefault("_kw_bound", bound)  # another thread may have been first
        modes, aligned = _kw_modes(), not any(t.data_ptr() % 16 for t in (*state, *arguments))
        call = _kw_Call(bound.tensors, modes[-1] if aligned else None, bound.graphs)
        return bound.calls.setdefault((modes, _kw_host.traits(arguments)), call)

    def known(self, model, *arguments):
        """What a call was judged to be that found the same; None if there was none."""
        if not self.holds(model):
            model.__dict__.pop("_kw_bound", None)  # old weights may go
            return None
        modes = _kw_modes()
        if modes[0] and _kw_host.any_requires_grad(self.state):
            return None
        try:
            return self.calls.get((modes, _kw_host.traits(arguments)))
        except (AttributeError, RuntimeError, TypeError):  # no tensors, or none with memory
            return None

    def watch(self, model, state, versioned):
        """Keeps what the model was judged by. False if a later call cannot tell that it is the same."""
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
        modules = ends[len(ends) - len(modules) :]
        if not all(map(self.is_fixed, ends[len(state) : len(ends) - len(modules)])):
            return False
        self.parts = [owner for owner in modules if owner is not model]
        self.kinds = list(map(type, self.parts))
        self.owners, tables, self.lists = [], [], []
        for owner in modules:
            if isinstance(owner, torch.jit.ScriptModule):
                return False  # its attributes are computed when they are asked
            if isinstance(owner, (dict, list, tuple)):
                (tables if isinstance(owner, dict) else self.lists).append(owner)
                continue
            inner, kept = ["_modules", "_parameters", "_buffers"], owner.__dict__
            if owner is not model:
                inner += ["_forward_hooks", "_forward_pre_hooks"]
                self.owners.append(owner)
                tables.append(kept)
            for key in inner:
                places[id(kept), key] = kept, key, kept[key]
                tables.append(kept[key])
        self.dicts, self.counts = list(map(vars, self.owners)), list(map(len, self.lists))
        own = model.__dict__  # not held, or the model would hold itself
        own.setdefault("_kw_warned", False)
)py";
  if (graphs) {
    out +=
        R"py(        self.graphs = _kw_Graphs(own.setdefault("_kw_graphed", _kw_graph_settings()))
)py";
  }
  return out + R"py(        places = places.values()
        self.own_names = [tuple(own) if "_kw_bound" in own else (*own, "_kw_bound")]
        self.own_keys = [key for kept, key, _ in places if kept is own]
        self.own_found = [found for kept, _, found in places if kept is own]
        # Dicts say by one number that they are as they were; those of other classes, and lists, do not.
        self.stamped, self.stamp = [table for table in tables if type(table) is dict], None
        exact = set(map(id, self.stamped))
        self.plain, self.others = (
            self.contents(
                [table for table in tables if (id(table) in exact) is is_exact],
                [(kept, key, found) for kept, key, found in places
                 if kept is not own and (id(kept) in exact) is is_exact],
            )
            for is_exact in (True, False)
        )
        self.model = _kw_weakref.ref(model)
        self.state, self.versioned = state, versioned
        self.held = [t.detach() for t in versioned]  # or others may get their addresses
        self.places = _kw_host.places(state)
        try:
            self.versions = _kw_host.versions(versioned)
        except RuntimeError:  # inference tensors count no versions
            return False
        return True

    @staticmethod
    def contents(tables, places):
        """What has_contents() is given."""
        kept, keys, found = ([place[i] for place in places] for i in range(3))
        return tables, list(map(tuple, tables)), kept, keys, found

    @staticmethod
    def has_contents(tables, keys_of, kept, keys, found):
        return _kw_host.same_items(kept, keys, found) and _kw_host.same_keys(tables, keys_of)

    def has_plain_contents(self):
        stamp = _kw_host.stamp(self.stamped)
        if stamp is not None and stamp == self.stamp:
            return True
        if not self.has_contents(*self.plain):
            return False
        self.stamp = stamp
        return True

    @staticmethod
    def is_fixed(value):
        """Whether a setting that is the same object is the same. A partial function may be changed."""
        if isinstance(value, tuple):
            return all(map(_kw_Bound.is_fixed, value))
        return not isinstance(value, _kw_functools.partial)

    def holds(self, model):
        """True when a call finds the model as it was judged."""
        try:
            own = model.__dict__
            return (
                self.model() is model
                and all(map(_kw_operator.is_, map(own.__getitem__, self.own_keys), self.own_found))
                and _kw_host.same_keys([own], self.own_names)
                and _kw_host.same_dicts(self.owners, self.dicts)
                and _kw_host.same_types(self.parts, self.kinds)
                and _kw_host.same_sizes(self.lists, self.counts)
                and self.has_contents(*self.others)
                and self.has_plain_contents()
                and _kw_host.places(self.state) == self.places
                and _kw_host.versions(self.versioned) == self.versions
            )
        except (AttributeError, LookupError, RuntimeError, TypeError):
            return False

    def __reduce__(self):  # a copy of the module finds its own
        return (type(None), ())
)py";
}

}  // namespace kw
