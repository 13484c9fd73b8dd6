"""Recording operators: a dispatch mode that writes each operator call to the current tape.

It sits above FakeTensorMode: it sees each operator once, lets the fake mode compute the result's
metadata, and writes the call down in the form of docs/formats/task.md. Which operators are written
whole is the request's `operators`; others are taken apart. What reads a tensor's values is refused.
"""

import functools

import torch
from torch._subclasses.fake_tensor import (DataDependentOutputException,
                                           DynamicOutputShapeException, FakeTensor,
                                           UnsupportedOperatorException)
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

import literals
from lineage import same_lineage
from metadata import Shortcuts
from refusal import TO_THE_CPU, Refused, host_read, kind_of
from streams import DEVICE
from tape import (DTYPES, MAX_CONSTANT, MAX_CONSTANT_BEFORE, MAX_RANK, Call, Tape, Value,
                  number_to_json, spans_too_much, tensor_key)

# Bookkeeping without effect: results look at the argument's own elements, or are no tensors.
_SILENT = {"aten.detach.default", "aten.detach_.default", "aten.alias.default",
           "aten.lift_fresh.default", "aten.resolve_conj.default", "aten.resolve_neg.default",
           "aten._is_zerotensor.default", "aten.is_pinned.default", "prim.device.default",
           "prim.layout.default",
           # Whether the inputs are as they should be, which a Program does not ask.
           "aten._assert_async.default", "aten._assert_async.msg", "aten._linalg_check_errors.default"}
_HOST_READS = {"aten._local_scalar_dense.default", "aten.item.default", "aten.equal.default",
               "aten.is_nonzero.default"}

# One kernel on a GPU, a program of hundreds of steps when taken apart.
_WHOLE_OR_NOTHING = {"aten." + name for name in (
    "lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input "
    "rnn_relu.data scaled_dot_product_attention.default ctc_loss.IntList ctc_loss.Tensor").split()}
# What a torch with CUDA calls outside inference mode, in constructors that run a part of the model.
_OF_CUDA = {"aten.cudnn_batch_norm.default"}
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd

_OWN_NAMESPACES = {"aten", "prim", "prims", "quantized", "inductor"}

# Writes that the schema does not state: running statistics under these flags.
_RUNNING_STATISTICS = {"aten.batch_norm.default": "training",
                       "aten.instance_norm.default": "use_input_stats"}


# Views that replace the tensor's own metadata: recorded as the view that they are.
_LAZY = {"aten._conj.default": torch.ops.aten._conj_physical.default, "aten._neg_view.default": torch.neg}
_VIEWS_IN_PLACE = {
    "aten.as_strided_.default": "aten.as_strided.default", "aten.t_.default": "aten.t.default",
    "aten.transpose_.default": "aten.transpose.int", "aten.squeeze_.dim": "aten.squeeze.dim",
    "aten.squeeze_.dims": "aten.squeeze.dims", "aten.squeeze_.default": "aten.squeeze.default",
    "aten.unsqueeze_.default": "aten.unsqueeze.default"}


class _Parameter:
    """One argument of a schema, with what encoding needs looked up once."""

    def __init__(self, argument):
        self.name = argument.name
        self.has_default = argument.has_default_value()
        self.default = argument.default_value
        self.written = argument.alias_info is not None and argument.alias_info.is_write
        self.is_tensor = str(argument.type) == "Tensor"
        self.is_float = str(argument.type) in ("float", "Optional[float]")
        self.is_int = str(argument.type) in ("int", "Optional[int]", "SymInt", "Optional[SymInt]")


@functools.lru_cache(maxsize=None)
def _parameters(func):
    return [_Parameter(argument) for argument in func._schema.arguments]


@functools.lru_cache(maxsize=None)
def _name(func):
    return str(func)


class Recorder(TorchDispatchMode):
    """`operators`: name -> "whole" or "decompose". `file` locates the user's lines. `without`:
    codes that are not refused, for the self-test: the program is told nothing and goes on."""

    def __init__(self, operators, file, fake_mode, without=()):
        super().__init__()
        self.without = frozenset(without)
        self.shortcuts = Shortcuts(fake_mode)
        self.operators = operators
        self.file = file
        self.tapes = []
        self.refusal = None
        self.called = None  # the operator that is being taken apart, as the program called it
        self.bodies = Bodies()
        self.asked = set()  # names of the device's properties that the program read
        self.aligned = False  # whether it asked how an address is aligned
        self.compares_addresses = False
        self.opaque = {}    # operator outside of the table that forward calls -> where it does first
        self.kept = []      # what tensors are known by: no storage or id is used twice
        self.constants = {}  # key or id -> real tensor whose values are known
        self.weights = set()    # storages of parameters, once they are known: their values never are
        self.read_on_host = set()  # keys of tensors whose values forward was told

    # -- tapes ----------------------------------------------------------------------------------

    def start(self, name):
        self.tapes.append(Tape(name))
        return self.tapes[-1]

    @property
    def tape(self):
        return self.tapes[-1]

    @property
    def constructing(self):
        """Whether the model was not called yet. Until then all tensors are on the device."""
        return self.tape.name in ("harness", "init", "inputs")

    def refuse(self, code, message, place=None):
        """Raises Refused. The first refusal counts, even if the code under recording catches it.
        `place`: (file, line), if it is not the user's line that is now running."""
        if code in self.without:
            return None
        if self.refusal is None:
            self.refusal = Refused(code, message, *(place or self.file.location()))
        raise self.refusal

    def value(self, tensor):
        """The Value that `tensor` is on the current tape."""
        if not isinstance(tensor, FakeTensor):
            return self._real(tensor)
        key = tensor_key(tensor)
        value = self.tape.live.get(key)
        if value is not None:
            return value
        if key in self.constants:
            return self._constant(self.constants[key], key)
        if any(key in tape.live for tape in self.tapes):
            self.keep(tensor)
            return self.tape.add_input(key)
        # A new way to look at a storage that is known: `set_` and `.data =` get here.
        return self.refuse("unsupported", "the program exchanges a tensor's memory without an operator "
                           "(.data, set_, swap): write to it by copy_ instead")

    def known_constant(self, tensor):
        """The real tensor for what follows from the program's text alone, or None."""
        return self._known(tensor_key(tensor), len(self.tapes))

    def _known(self, key, count):
        """The same for what the first `count` tapes leave at `key`."""
        if key[0] in self.weights:
            return None
        if not self.constructing:
            self.read_on_host.add(key)
        if key in self.constants:
            return self.constants[key]
        for index in reversed(range(count)):
            tape = self.tapes[index]
            if key in tape.live and key not in tape.inputs:
                return literals.evaluate(tape, tape.live[key],
                                         lambda earlier: self._known(earlier, index))
            if key[0] in tape.overwritten:
                return None  # what an earlier phase left there is no more
        return None

    def keep(self, tensor):
        """Keeps a tensor; of a fake one it keeps the storage alone, by which the tensor is known."""
        self.kept.append(tensor.untyped_storage() if isinstance(tensor, FakeTensor) else tensor)

    def define(self, tensor):
        self.keep(tensor)
        return self.tape.add_result(tensor_key(tensor))

    def _real(self, tensor):
        key = ("real", id(tensor))
        value = self.tape.live.get(key)
        if value is None:
            self.kept.append(tensor)
            full = (key, tensor.dtype, tuple(tensor.shape), tensor.stride(), 0)
            value = self._constant(tensor, full)
            self.tape.live[key] = value
        return value

    def check_dtype(self, dtype):
        if str(dtype)[6:] not in DTYPES:
            self.refuse("operator", "the program uses dtype %s, which is not supported (supported: %s)"
                        % (dtype, ", ".join(sorted(DTYPES))))

    def _constant(self, data, key):
        most = MAX_CONSTANT_BEFORE if self.constructing else MAX_CONSTANT
        if data.numel() > most:
            self.refuse("unsupported", "the program makes a tensor of %d literal numbers, where at most "
                        "%d can be recorded%s" % (data.numel(), most, "" if self.constructing else
                                                  ": make it a buffer in the constructor"))
        self.check_dtype(data.dtype)
        value = self.tape.add_result(key)
        if data.numel() == 0:
            self.tape.steps.append(Call("aten.empty.memory_format", {
                "size": list(data.shape), "dtype": {"dtype": str(data.dtype)[6:]},
                "device": {"device": "cuda"}}, [value], []))
            return value
        with _disable_current_modes():
            data = data.detach().contiguous()
            if data.is_complex():  # its parts are the numbers
                parts = torch.view_as_real(data.resolve_conj())
                made = self._constant(parts, (key[0], parts.dtype, tuple(parts.shape), parts.stride(), 0))
                self.tape.steps.append(Call("aten.view_as_complex.default", {"self": made}, [value], []))
                return value
            numbers = data.reshape(-1).tolist()
        self.tape.steps.append(Call("kernelwright.constant.default", {
            "data": [number_to_json(n) for n in numbers], "shape": list(data.shape),
            "dtype": {"dtype": str(data.dtype)[6:]}}, [value], []))
        return value

    # -- dispatch -------------------------------------------------------------------------------

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, _name(func)
        if str(kwargs.get("device")) == "cpu" and (self.constructing or _makes_from_nothing(func)):
            kwargs = {**kwargs, "device": DEVICE}  # torch.Tensor(2, 3) says so
        if _takes_a_generator(func) and kwargs.get("generator") is None:
            func, kwargs = _plain_overload(func), {k: v for k, v in kwargs.items() if k != "generator"}
            name = _name(func)
        if name in _SILENT:
            return self._silent(func, name, args, kwargs)
        if name in _HOST_READS:
            return self._host_read(func, name, args)
        if name == "aten.set_.source_Tensor" and tensor_key(args[0]) == tensor_key(args[1]):
            return args[0]  # torch.nn.utils.parametrize does that
        if func.namespace not in _OWN_NAMESPACES:
            return self._custom(func, name, args, kwargs)
        if name in _LAZY:  # a mark on the tensor, which nothing here would see
            with torch.inference_mode(args[0].is_inference()), torch.no_grad(), self:
                return _LAZY[name](*args)
        if name == "aten._to_copy.default":
            result = self._move_constant(args[0], kwargs)
            if result is not None:
                return result
        if self.operators.get(_VIEWS_IN_PLACE.get(name, name)) == "whole":
            return self._record(func, name, args, kwargs)
        called = self.called
        self.called = called or name
        try:
            return self._decompose(func, name, args, kwargs)
        finally:
            self.called = called

    def _custom(self, func, name, args, kwargs):
        """An operator of a library or of the file. Without tensors it is a question, which is asked.
        A body in Python is called like any function, so that what it does is recorded."""
        if not _has_tensors(func):
            with _disable_current_modes():
                return func(*args, **kwargs)
        body = self.bodies.of(func)
        if body is None:
            self.refuse("hidden-launch", "custom operator %s is machine code, so that nobody can see what "
                        "it launches: use PyTorch's operators or Triton kernels" % name)
            return self.refuse("operator", "operator %s is not supported" % name)
        with self:
            return body(*args, **kwargs)

    def _silent(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        if name == "aten.lift_fresh.default" and not isinstance(args[0], FakeTensor):
            self.kept += [args[0], result]
            self.constants[tensor_key(result)] = args[0]
        return result

    def _host_read(self, func, name, args):
        tensor = args[0]
        if name == "aten.equal.default" and self.called == "aten.istft.default":
            return False  # it asks whether the windows leave something out, which a Program does not
        if name == "aten.equal.default" and self._are_equal(*(self.value(t).key for t in args)):
            return True
        if isinstance(tensor, FakeTensor):
            tensor = self.known_constant(tensor)
        if tensor is None or name == "aten.equal.default":
            self.refuse("host-read", host_read("item" if "scalar" in name else name.split(".")[1]))
            return 0 if "scalar" in name else False
        with _disable_current_modes():
            return tensor.item()

    def _are_equal(self, *keys):
        """Whether equal steps made two tensors out of nothing but literals."""
        if any(key[0] in self.weights for key in keys) or not same_lineage(self.tapes, *keys):
            return False
        if not self.constructing:
            self.read_on_host.update(keys)
        return True

    def _move_constant(self, tensor, kwargs):
        """Moving a literal to the device makes it a constant there; nothing else is on the CPU."""
        target = kwargs.get("device")
        if target is not None and target.type == "cpu" and tensor.device.type != "cpu":
            self.refuse("host-read", TO_THE_CPU)
            return tensor
        if not isinstance(tensor, FakeTensor):
            return None
        # FakeTensorMode would run the copy of a known constant for real, on a device that is not
        # there.
        tensor.constant = None
        data = self.constants.get(tensor_key(tensor))
        if data is None or target is None or target.type != "cuda":
            return None
        result = torch.ops.aten._to_copy.default(tensor, **kwargs)
        result.constant = None
        if result.dtype != data.dtype:
            with _disable_current_modes():
                data = data.to(result.dtype)
        if tensor_key(result)[2:] != (tuple(data.shape), data.stride(), 0):
            with _disable_current_modes():
                data = data.contiguous()
        self.kept += [data, result]
        self.constants[tensor_key(result)] = data
        return result

    def _decompose(self, func, name, args, kwargs):
        """Takes an operator apart as PyTorch itself does when it runs it. Only where the table says
        so, further by PyTorch's table of decompositions: its pieces are slower than the operator.
        """
        if name not in _WHOLE_OR_NOTHING:
            plain = _without_out(func)
            if plain is not None and isinstance(kwargs.get("out"), torch.Tensor):
                return self._into(plain, args, dict(kwargs))
            if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), _COMPOSITE):
                with self:
                    return func._op_dk(_COMPOSITE, *args, **kwargs)
            if name == "aten.bincount.default" and _minlength(args, kwargs):
                with self:
                    return _bincount(*args, **kwargs)
            if _depends_on_data(func, args):
                results = self._of_known(func, args, kwargs)
                return self._refuse_data(name) if results is None else results
            table = torch._decomp.global_decomposition_table["post_autograd"]
            if (self.operators.get(name) == "decompose" or name in _OF_CUDA) and func in table:
                with self:
                    return table[func](*args, **kwargs)
            if self.operators.get(name) == "opaque":
                return self._opaque(func, name, args, kwargs)
        if "sparse" in name:
            self._refuse_sparse(name)
        part = "" if self.called == name else " (a part of it: %s)" % name
        return self.refuse("operator", "operator %s is not supported%s: docs/operators.md lists those that "
                           "are" % (self.called, part))

    def _opaque(self, func, name, args, kwargs):
        """An operator outside of the table stays PyTorch's call."""
        if not self.constructing:
            self.opaque.setdefault(name, self.file.location())
        return self._record(func, name, args, kwargs)

    def _refuse_sparse(self, name):
        self.refuse("unsupported", "operator %s is of sparse tensors, which cannot be recorded: use a dense "
                    "one, or index_add_ and scatter by its indices" % name)

    def _into(self, plain, args, kwargs):
        """`op(..., out=tensor)` as the operator and a copy of its result."""
        out = kwargs.pop("out")
        if _makes_from_nothing(plain):
            kwargs.update(dtype=out.dtype, device=out.device)
        with self:
            result = plain(*args, **kwargs)
            if (result.shape, result.dtype) != (out.shape, out.dtype):
                self.refuse("unsupported", "a tensor given as out= has another shape or dtype than the "
                            "result: give it those of the result")
            out.copy_(result)
        return out

    def _record(self, func, name, args, kwargs):
        encoded, written, before = {}, [], []
        parameters = _parameters(func)
        for position, parameter in enumerate(parameters):
            if position < len(args):
                arg = args[position]
            elif parameter.name in kwargs:
                arg = kwargs[parameter.name]
            else:
                continue
            if parameter.written and name not in _VIEWS_IN_PLACE:
                tensors = arg if isinstance(arg, (list, tuple)) else [arg]
                written += [t for t in tensors if t is not None]
            if isinstance(arg, complex):
                encoded[parameter.name] = self._complex_number(parameter, arg, args)
            elif not _is_default(parameter, arg):
                encoded[parameter.name] = self._encode(parameter, arg)
        before = [self.value(t) for t in written]
        if name in _RUNNING_STATISTICS:
            before += self._running_statistics(name, parameters, args, kwargs)
        for value in before:
            self.forget_literals(value.storage)
        result = self._run(func, name, args, kwargs)
        if torch.get_default_dtype() != torch.float32 and "dtype" not in encoded \
                and isinstance(result, torch.Tensor) and _makes_from_nothing(func):
            encoded["dtype"] = self._encode(None, result.dtype)  # a replay's default is another
        results = self._results(name, result, written)
        self.tape.steps.append(Call(_VIEWS_IN_PLACE.get(name, name), encoded, results, before))
        return result

    def _run(self, func, name, args, kwargs):
        try:
            result = self.shortcuts.result(name, args, kwargs)
            return func(*args, **kwargs) if result is None else result
        except (DataDependentOutputException, DynamicOutputShapeException):
            self._refuse_data(name)
        except UnsupportedOperatorException:
            self.refuse("operator", "operator %s cannot be recorded, as PyTorch does not say what it "
                        "returns without running it" % name)

    def _of_known(self, func, args, kwargs):
        """The results of an operator all of whose tensors are known, such as `unique` of a literal,
        which are known then; else None."""
        real = tree_map_only(FakeTensor, self.known_constant, args)
        if any((a is None) != (b is None) for a, b in zip(tree_leaves(args), tree_leaves(real))):
            return None
        with _disable_current_modes():
            results = func(*real, **kwargs)
            single = isinstance(results, torch.Tensor)
            results = [data.contiguous() for data in ([results] if single else results)]
        made = []
        for data in results:
            tensor = self.shortcuts.new(data.shape, data.dtype)
            self.kept += [data, tensor]
            self.constants[tensor_key(tensor)] = data
            made.append(tensor)
        return made[0] if single else tuple(made)

    def _refuse_data(self, name):
        self.refuse("host-read", "operator %s has a result whose shape or value depends on data, and a "
                    "recording has none: use one of a fixed shape, such as torch.where" % name)

    def _results(self, name, result, written):
        items = result if isinstance(result, (list, tuple)) else [result]
        flat = []
        for item in items:
            flat += item if isinstance(item, (list, tuple)) else [item]
        results = []
        for item in flat:
            if isinstance(item, torch.Tensor):
                self.check_dtype(item.dtype)
                if item.layout != torch.strided:
                    self._refuse_sparse(self.called or name)
                if item.dim() > MAX_RANK:
                    self.refuse("unsupported", "a tensor has %d dimensions, where at most %d are supported"
                                % (item.dim(), MAX_RANK))
                if spans_too_much(item):
                    self.refuse("unsupported", "a tensor of %s elements spans more than any memory holds"
                                % " x ".join(map(str, item.shape)))
                results.append(self.define(item))
            elif item is None:
                results.append(None)
            else:
                self.refuse("operator", "operator %s returns a %s, where only tensors can be recorded"
                            % (name, kind_of(item)))
        if result is None:
            results = []
            for tensor in written:  # returns nothing: what was overwritten keeps its value
                self.keep(tensor)
        return results

    def _running_statistics(self, name, parameters, args, kwargs):
        given = {p.name: args[i] for i, p in enumerate(parameters) if i < len(args)}
        given.update(kwargs)
        if not given.get(_RUNNING_STATISTICS[name]):
            return []
        return [self.value(given[n]) for n in ("running_mean", "running_var")
                if given.get(n) is not None]

    def forget_literals(self, storage):
        """What is about to be overwritten no longer follows from the text."""
        self.tape.overwritten.add(storage)
        for key in [k for k in self.constants if k[0] == storage]:
            del self.constants[key]

    # -- arguments ------------------------------------------------------------------------------

    def _encode(self, parameter, arg):
        if isinstance(arg, torch.Tensor):
            return self.value(arg)
        if isinstance(arg, (list, tuple)):
            return [self._encode(parameter, item) for item in arg]
        if arg is None or isinstance(arg, (bool, str)):
            return arg
        if isinstance(arg, torch.dtype):
            self.check_dtype(arg)
            return {"dtype": str(arg)[6:]}
        if isinstance(arg, torch.device):
            if arg.type != "cuda":
                self.refuse("unsupported", "an operator is asked to run on device %s, and a program runs on "
                            "one GPU alone: leave out device=" % arg)
            return {"device": "cuda"}
        if isinstance(arg, torch.layout):
            return {"layout": str(arg)[6:]}
        if isinstance(arg, torch.memory_format):
            return {"memory_format": str(arg)[6:]}
        if parameter.is_float:
            return number_to_json(float(arg))
        if parameter.is_int:
            return int(arg)
        if isinstance(arg, (int, float)):
            return number_to_json(arg)
        if isinstance(arg, torch.Generator):
            self.refuse("unsupported", "the program draws from a torch.Generator of its own: leave out "
                        "generator=")
        return self.refuse("unsupported", "an operator gets an argument of type %s, which cannot be recorded"
                           % kind_of(arg))


    def _complex_number(self, parameter, number, args):
        """A complex number beside tensors, as a tensor of no dimensions: it promotes them alike."""
        if not parameter.is_tensor:
            self.refuse("unsupported", "an operator gets the complex number %s where only a tensor can hold it: "
                        "give it torch.tensor(%s)" % (number, number))
        wide = any(isinstance(a, torch.Tensor) and a.dtype in (torch.float64, torch.complex128) for a in args)
        with _disable_current_modes():
            return self._real(torch.tensor(number, dtype=torch.complex128 if wide else torch.complex64))


class Bodies:
    """The Python functions that custom operators were registered with while recording."""

    _KEYS = ("CUDA", "CompositeExplicitAutograd", "CompositeImplicitAutograd")

    def __init__(self):
        self.known = {}  # (namespace::name, dispatch key) -> function

    def noting(self, register):
        """torch.library.Library.impl, which is told where each function belongs."""
        def impl(library, op_name, fn, dispatch_key="", **options):
            register(library, op_name, fn, dispatch_key, **options)
            name = op_name if isinstance(op_name, str) else op_name.name()
            name = name if "::" in name else "%s::%s" % (library.ns, name)
            key = dispatch_key or library.dispatch_key or self._KEYS[-1]
            if not options.get("with_keyset"):
                self.known[name, getattr(key, "name", key)] = fn
        return impl

    def of(self, func):
        """The body that would run on the device, or None when it is no Python."""
        return next((self.known[func.name(), key] for key in self._KEYS
                     if (func.name(), key) in self.known), None)


@functools.lru_cache(maxsize=None)
def _has_tensors(func):
    schema = func._schema
    return any("Tensor" in str(part.type) for part in [*schema.arguments, *schema.returns])


_OF_A_TENSOR = {"dtype", "layout", "device", "pin_memory"}  # what a tensor that is given has


@functools.lru_cache(maxsize=None)
def _without_out(func):
    """The overload that returns what `func` writes to its one argument `out`, or None."""
    arguments = func._schema.arguments
    rest = [(a.name, str(a.type)) for a in arguments if not a.is_out]
    if [a.name for a in arguments if a.is_out] != ["out"]:
        return None
    for overload in func.overloadpacket.overloads():
        other = getattr(func.overloadpacket, overload)
        given = [(a.name, str(a.type)) for a in other._schema.arguments]
        if given[:len(rest)] == rest and {name for name, _ in given[len(rest):]} <= _OF_A_TENSOR:
            return other
    return None


@functools.lru_cache(maxsize=None)
def _takes_a_generator(func):
    """Whether an overload differs from another one by its keyword `generator` alone."""
    return any(a.name == "generator" for a in func._schema.arguments) and _plain_overload(func) is not None


@functools.lru_cache(maxsize=None)
def _plain_overload(func):
    rest = [(a.name, str(a.type)) for a in func._schema.arguments if a.name != "generator"]
    for overload in func.overloadpacket.overloads():
        other = getattr(func.overloadpacket, overload)
        if [(a.name, str(a.type)) for a in other._schema.arguments] == rest:
            return other
    return None


def _depends_on_data(func, args):
    """Whether the host would have to read values to know the result's shape."""
    if func.overloadpacket is torch.ops.aten.index:
        return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])
    return torch.Tag.dynamic_output_shape in func.tags \
        or torch.Tag.data_dependent_output in func.tags


def _minlength(args, kwargs):
    return args[2] if len(args) > 2 else kwargs.get("minlength", 0)


def _bincount(ids, weights=None, minlength=0):
    """Counts of the numbers below `minlength`, of which a Program needs that no other is among `ids`."""
    dtype = torch.int64
    if weights is not None:
        dtype = weights.dtype if weights.dtype == torch.float32 else torch.float64
    each = torch.ones_like(ids, dtype=dtype) if weights is None else weights.to(dtype)
    return torch.zeros(minlength, dtype=dtype, device=ids.device).index_add(0, ids.long(), each)


def _makes_from_nothing(func):
    """Whether PyTorch's default dtype is the result's where none is given."""
    parameters = _parameters(func)
    return any(p.name == "dtype" for p in parameters) \
        and not any(p.is_tensor for p in parameters)


def _is_default(parameter, arg):
    if parameter.name == "pin_memory" and not arg:
        return True
    if parameter.name == "layout" and arg == torch.strided:
        return True
    if not parameter.has_default:
        return False
    if isinstance(arg, torch.Tensor):
        return False
    default = parameter.default
    if isinstance(arg, (list, tuple)):
        return isinstance(default, (list, tuple)) and list(default) == list(arg)
    return type(arg) is type(default) and arg == default
