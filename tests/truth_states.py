"""The states in which an export is called (truth.py).

STATES has a function for each. It takes a truth_calls.Pair, which the state before left, and throws a Fault.
It returns False if there is no such state for this model or device.
"""

import concurrent.futures
import copy
import io
import pickle

import torch
from torch.utils import _pytree as pytree

from truth_calls import Pair, accepts
from truth_equal import Fault

STATES = {}


def state(name):
    def add(function):
        STATES[name] = function
        return function

    return add


def floating(model):
    return [p for p in model.parameters() if p.is_floating_point()]


def change_weights(model):
    """Other weights in place, and running statistics as in use."""
    for p in floating(model):
        p.mul_(0.9).add_(torch.randn_like(p), alpha=0.05)
    for module in model.modules():
        if getattr(module, "running_var", None) is not None:
            module.running_mean.add_(0.1)
            module.running_var.mul_(1.3)


@state("as constructed")
def _(pair):
    pair.call(times=2)


@state("eval()")
def _(pair):
    pair.each(lambda model: model.eval())
    pair.call(fallback=pair.may_fall_back(), times=2)


@state("train() again")
def _(pair):
    pair.each(lambda model: model.train())
    pair.call(fallback=pair.may_fall_back(), times=2)


@state("modes of every other module")
def _(pair):
    def turn(model):
        for module in list(model.modules())[1::2]:
            module.training = not module.training

    pair.each(turn)
    pair.call(fallback=pair.may_fall_back(), times=2)


@state("mode as constructed again")
def _(pair):
    def restore(model):
        for module, mode in zip(model.modules(), pair.modes):
            module.training = mode

    pair.each(restore)
    pair.call()


@state("weights loaded")
def _(pair):
    run = pair.run
    for assign in (False, True):
        new = run.built(run.reference.Model, run.seed()).state_dict()
        pair.each(lambda model: model.load_state_dict(copy.deepcopy(new), strict=True, assign=assign))
        pair.call()


@state("weights changed in place")
def _(pair):
    for _ in range(2):
        pair.each(change_weights)
        pair.call()


@state("every buffer changed")
def _(pair):
    """Tables too, which an export may take for granted if it looks at them."""
    pair, names = Pair(pair.run), [name for name, _ in pair.reference.named_buffers()]
    if not names:
        return False
    for name in names:
        def change(model):
            buffer = model.get_buffer(name)
            if buffer.is_floating_point():  # a variance stays positive
                buffer.mul_(torch.rand_like(buffer) + 0.5)
            elif buffer.dim() == 0:
                buffer.copy_(buffer.logical_not() if buffer.dtype == torch.bool else buffer + 1)
            else:  # an index stays one
                buffer.copy_(buffer.flatten()[torch.randperm(buffer.numel())].view_as(buffer))

        pair.each(change)
        pair.call(fallback=pair.may_have_other_tables(), times=2)


@state("plain numbers of modules changed")
def _(pair):
    pair = Pair(pair.run)
    numbers = [name for module in pair.reference.modules() for name, value in vars(module).items()
               if type(value) is float and 0 < abs(value) < float("inf")]
    if not numbers:
        return False

    def change(model):
        for module in model.modules():
            for name in numbers:
                if type(vars(module).get(name)) is float:
                    setattr(module, name, 0.75 * vars(module)[name])

    pair.each(change)
    pair.call(fallback=None, times=2)


@state("hooks on modules")
def _(pair):
    pair = Pair(pair.run)
    if len(list(pair.reference.modules())) < 2:
        return False

    def halved(module, given, result):
        return pytree.tree_map_only(torch.Tensor, lambda t: t / 2 if t.is_floating_point() else t, result)

    pair.call()  # what it found is not kept
    pair.each(lambda model: [part.register_forward_hook(halved) for part in list(model.modules())[1:]])
    pair.call(fallback=None, times=2)


@state("activations replaced")
def _(pair):
    pair = Pair(pair.run)

    def replace(model):
        return [setattr(module, name, torch.nn.Tanh()) for module in model.modules()
                for name, part in module.named_children() if type(part).__module__ == "torch.nn.modules.activation"
                and not isinstance(part, torch.nn.MultiheadAttention) and not list(part.parameters())]

    pair.call()
    if not replace(copy.deepcopy(pair.reference)):
        return False
    pair.each(replace)
    pair.call(fallback=None, times=2)


@state("another dtype and back")
def _(pair):
    pair = Pair(pair.run)  # tables are rounded for good

    def there_and_back(model):
        held = list(model.parameters()) + list(model.buffers())
        dtypes = [t.dtype for t in held]
        model.to(torch.bfloat16)
        if len({dtype for dtype in dtypes if dtype.is_floating_point}) == 1:
            model.to(next(dtype for dtype in dtypes if dtype.is_floating_point))
            return
        for t, dtype in zip(held, dtypes):
            t.data = t.data.to(dtype)

    pair.each(there_and_back)
    pair.call(fallback=pair.may_have_other_tables(), times=2)


@state("another device and back")
def _(pair):
    if pair.run.device.type == "cpu":
        return False
    pair.each(lambda model: model.to("cpu").to(pair.run.device))
    pair.call()


@state("parameters replaced through .data")
def _(pair):
    def replace(model):
        for p in floating(model):
            p.data = p.data * 0.9 + 0.05 * torch.randn_like(p)

    for _ in range(2):  # memory that is freed is what is allocated next
        pair.each(replace)
        pair.call()


@state("parameters replaced")
def _(pair):
    def replace(model):
        new = {id(p): torch.nn.Parameter(p.detach() + 0.05 * torch.randn_like(p), p.requires_grad)
               for p in floating(model)}
        for module in model.modules():
            for name, p in module._parameters.items():
                module._parameters[name] = new.get(id(p), p)

    for _ in range(2):
        pair.each(replace)
        pair.call()


@state("deep copy")
def _(pair):
    other = pair.copied(copy.deepcopy)
    other.each(change_weights)
    other.call()
    pair.call()


@state("saved and loaded")
def _(pair):
    def loaded(model, new):
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        new.load_state_dict(torch.load(file), strict=True)
        return new.train(model.training)

    other = Pair(pair.run)
    loaded(pair.reference, other.reference)
    loaded(pair.export, other.export)
    other.call(fallback=other.may_fall_back())


@state("pickled")
def _(pair):
    other = pair.copied(lambda model: pickle.loads(pickle.dumps(model)))
    other.call()
    other.each(change_weights)
    other.call()


@state("threads")
def _(pair):
    """Several at once, with weights to pack; one after the other if calls depend on their order."""
    pair.each(change_weights)
    in_order = pair.run.has_state or pair.run.is_random

    def answer(asked):
        with torch.no_grad():
            pair.answers(pair.asked() if in_order else asked)

    asked = [None if in_order else pair.asked() for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(1 if in_order else 3) as pool:
        list(pool.map(answer, asked))


@state("another stream")
def _(pair):
    if pair.run.device.type == "cpu":
        return False
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        pair.call(times=2)


@state("inference_mode()")
def _(pair):
    with torch.inference_mode():
        pair.call(times=2)


@state("frozen weights")
def _(pair):
    wanted = [p.requires_grad for p in pair.export.parameters()]
    pair.each(lambda model: model.requires_grad_(False))
    with torch.enable_grad():
        pair.call()
    pair.each(lambda model: [p.requires_grad_(want) for p, want in zip(model.parameters(), wanted)])


@state("other arguments")
def _(pair):
    """The original runs for other shapes, other strides and gradients, and one warning says so."""
    pair = Pair(pair.run)
    warned, tried = pair.run.fallback_warnings(), 0
    for other in (fewer_rows, other_strides, wants_gradients):
        inputs = other(pair)
        with torch.set_grad_enabled(other is wants_gradients):
            if inputs is not None and accepts(pair.reference, inputs):
                pair.call(inputs, fallback=True)
                tried += 1
    if tried and pair.run.fallback_warnings() != warned + 1:
        raise Fault("did not warn once that it runs the original forward")
    return tried > 0


@state("unaligned arguments")
def _(pair):
    """The kernels may run, or the original."""
    pair.call(pytree.tree_map(unaligned, pair.run.inputs(pair.reference)), fallback=None)


def unaligned(x):
    """A copy that starts one element after the start of its storage."""
    if not isinstance(x, torch.Tensor):
        return x
    memory = x.new_empty(x.untyped_storage().nbytes() // x.element_size() + 1)
    return memory.as_strided(x.shape, x.stride(), 1).copy_(x)


def fewer_rows(pair):
    """Inputs without the last row; None if there is no tensor of two rows."""
    leaves, structure = pytree.tree_flatten(pair.run.inputs(pair.reference))
    lengths = [x.shape[0] if isinstance(x, torch.Tensor) and x.dim() else 0 for x in leaves]
    rows = max(lengths, default=0)
    cut = [x[:-1].clone() if length == rows else x for x, length in zip(leaves, lengths)]
    return pytree.tree_unflatten(cut, structure) if rows > 1 else None


def other_strides(pair):
    """Inputs whose last two dimensions are in the other order in memory; None if there are none."""
    inputs = pair.run.inputs(pair.reference)
    swapped = pytree.tree_map(
        lambda x: x.mT.clone(memory_format=torch.contiguous_format).mT
        if isinstance(x, torch.Tensor) and x.dim() > 1 and min(x.shape[-2:]) > 1 else x, inputs)
    pairs = zip(pytree.tree_leaves(inputs), pytree.tree_leaves(swapped))
    return swapped if any(a is not b and a.stride() != b.stride() for a, b in pairs) else None


def wants_gradients(pair):
    return pair.run.inputs(pair.reference) if any(p.requires_grad for p in pair.export.parameters()) else None


@state("memory full of NaN")
def _(pair):
    """PyTorch fills what is allocated, and not set, with NaN."""
    set_deterministic = torch._C._set_deterministic_algorithms  # the public one imports Inductor
    set_deterministic(True, warn_only=True)
    try:
        pair.call(times=2)
    finally:
        set_deterministic(False)


@state("torch.compile")
def _(pair):
    if pair.run.device.type == "cpu":  # the interpreter is not what is compiled
        from triton.runtime.interpreter import InterpretedFunction
        InterpretedFunction.run = torch.compiler.disable(InterpretedFunction.run)
    pair.called = torch.compile(pair.export, backend="eager" if pair.run.device.type == "cpu" else "inductor")
    pair.call(fallback=None, times=2)
    pair.each(change_weights)
    pair.call(fallback=None)
    pair.called = pair.export


@state("many calls")
def _(pair):
    pair.call(times=max(3, pair.run.least_calls - pair.run.calls))
