"""What an export takes for granted of its model and its arguments: it runs the original where that no longer holds.

Each kind is a reference, a candidate, and changes. A change is done to the model or to the arguments, and then the
export must give what the reference gives, by its kernels or by the original.
"""

import json
import os
import subprocess
import sys

import pytest

from command import run

TEXT = """
import copy
import functools
import torch
import torch.nn as nn
import torch.nn.functional as F


class Gate(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x


class Caching(nn.Module):
    factor = 1.0

    @functools.cached_property
    def one(self):
        return 1.0

    def forward(self, x):
        if not hasattr(self, "act"):
            self.act = nn.Identity()
        self.register_buffer("last", torch.zeros(1, device=x.device), persistent=False)
        self.n = x.shape[0]
        return self.act(x) * (self.one if self.n == 16 else 2.0) * self.factor


class Shift(nn.Module):
    by = 1

    def __init__(self):
        super().__init__()
        self.note = "text"

    def forward(self, x):
        return x + self.by * getattr(self, "odd", 1.0)

    def tail(self, x):
        return x


class Wrap(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)


class Ops:
    def same(self, x):
        return x

    def tanh(self, x):
        return x.tanh()


def same(x):
    return x


def named(n):
    if n == 1:
        def act(x):
            return x
    else:
        def act(x):
            return -x
    return act


class {cls}(nn.Module):
    def __init__(self):
        super().__init__()
        {state}

    def forward(self, x, y):
        {forward}


def get_inputs():
    return {inputs}
"""
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def relu_of_sum(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), 0.0), mask=inside)


def added(x, y):
    out = torch.empty_like(x)
    relu_of_sum[(triton.cdiv(x.numel(), 128),)](x, y, out, x.numel(), BLOCK=128)
    return out
"""
TWO = "[torch.randn(16, 16), torch.randn(16, 16)]"
VIEWS = "[*torch.randn(2, 16, 16)]"

# kind -> what the models are, and their changes: (statement about m, x and y, a word of why the original runs)
KINDS = {
    "numbers read on the host": dict(
        state='self.register_buffer("k", torch.tensor([2.0, 5.0])); self.register_buffer("one", torch.tensor(1.0))',
        reference="return torch.relu(x * self.k[0].item() + self.one.item() * y)",
        candidate="return added(x * self.k[0].item(), y)",
        changes=[("pass", None), ("m.k.fill_(3.0)", "table"), ("m.one.fill_(3.0)", "table"), ("m.k.mul_(1.0)", None)]),
    "a mask compared on the host": dict(
        state='self.register_buffer("mask", torch.ones(16, 16).tril())',
        reference="return torch.relu(x + y + (1 if torch.equal(self.mask, torch.ones(16, 16).tril()) else 0))",
        candidate="return added(x + 1, y)",
        changes=[("pass", None), ("m.mask.zero_()", "table")]),
    "a table that the reference alone reads": dict(
        state='self.register_buffer("mask", torch.tril(torch.ones(16, 16, dtype=torch.bool)))',
        reference="return torch.relu(torch.where(self.mask, x, 0.0) + y)",
        candidate="return added(torch.tril(x), y)",
        changes=[("pass", None), ("m.mask.fill_(True)", "table")]),
    "a mask of zeros and ones": dict(
        state='self.register_buffer("mask", torch.tril(torch.ones(16, 16)))',
        reference="return torch.relu(x * self.mask + y)", candidate="return added(torch.tril(x), y)",
        changes=[("pass", None), ("m.mask.fill_(1.0)", "table")]),
    "a table of several layers": dict(
        state='table = torch.arange(16.0); self.one, self.two = nn.Identity(), nn.Identity(); '
              'self.one.register_buffer("t", table); self.two.register_buffer("t", table)',
        reference="return torch.relu(x * self.one.t + y * self.two.t)",
        candidate="return added(x * self.one.t, y * self.one.t)",
        changes=[("pass", None), ("m._apply(torch.clone)", None), ("m.double().float()", None),
                 ("m._apply(torch.clone); m.two.t.mul_(2)", "table"), ("m.two.t = m.two.t * 2", "table")]),
    "indices that a cache was made of": dict(
        state='self.w = nn.Parameter(torch.randn(4, 16)); self.register_buffer("at", torch.arange(4))',
        reference="return torch.relu(x + self.w[self.at % 4][0] + y)",
        candidate="self.kept = self.kept if hasattr(self, 'kept') else self.w[self.at]; return added(x + self.kept[0], y)",
        changes=[("pass", None), ("m.w.mul_(2)", None), ("m.at.add_(4)", "table")]),
    "a buffer that is part of a weight": dict(
        state='self.w = nn.Parameter(torch.randn(2, 16, 16)); '
              'self.register_buffer("first", self.w.detach()[0], persistent=False)',
        reference="return torch.relu(x + self.first + self.w[1] * y)",
        candidate="return added(x + self.w[0], self.w[1] * y)",
        changes=[("pass", None), ("m.w.mul_(2)", None),
                 ("m.load_state_dict({'w': torch.ones(2, 16, 16)}, assign=True)", "memory"),
                 ("m.first = m.first.clone(); m.w.mul_(3)", "memory")]),
    "a weight seen in two ways": dict(
        state="self.a = nn.Parameter(torch.randn(16, 16)); self.b = nn.Parameter(self.a.detach().t())",
        reference="return torch.relu(x + self.b + y)",
        candidate="return added(x + self.a.t(), y)",
        changes=[("pass", None), ("m.a.mul_(2)", None), ("m.b = nn.Parameter(m.b.clone().t().contiguous().t())", "memory")]),
    "state that is written becomes tied": dict(
        state='self.register_buffer("a", torch.zeros(16, 16)); self.register_buffer("b", torch.randn(16, 16))',
        reference="self.a.add_(x); return torch.relu(y + self.b)",
        candidate="z = added(y, self.b); self.a.add_(x); return z",
        changes=[("pass", None), ("m.b = m.a", "memory"), ("m.b = m.a.t()", "strides")]),
    "modes of modules in a list and of shared ones": dict(
        state="self.parts = [Gate()]; self.one = Gate(); self.two = self.one",
        reference="return torch.relu(self.parts[0](x) + self.two(y))",
        candidate="return added(x * 2, y * 2)",
        changes=[("pass", None), ("m.parts[0].eval()", "training"), ("m.eval()", "training"),
                 ("m.two = copy.deepcopy(m.two); m.two.eval()", "training")]),
    "plain numbers that forward reads": dict(
        state="self.k = 2.0; self.shape = torch.Size([16, 16]); self.unread = 1; self.name = 'sum'; self.calls = 0; "
              "self.gate = Gate(); self.gate.eval(); self.gate.on = True",
        reference="self.calls += 1; on = 'on'; "
                  "return torch.relu((x * self.k + y).view(self.shape)) if getattr(self.gate, on) and self.name == 'sum' else -x",
        candidate="return added(x * 2, y)",
        changes=[("pass", None), ("m.k = 3.0", "the model.k is 3.0, and 2.0 was recorded"), ("m.k = 2", "is 2, and 2.0 was"),
                 ("m.shape = (16, 16)", None), ("m.shape = (256,)", "shape"), ("m.unread = 2", None),
                 ("m.name = 'difference'", "name"), ("m.gate.on = False", "the model.gate.on"), ("m.calls = 5", None),
                 ("m.k = torch.tensor(3.0)", "k is"),
                 ("m.train()", None)]),
    "classes, parts and hooks of modules": dict(
        state="self.parts = nn.ModuleList([nn.ReLU(), nn.Identity()]); self.post = None; "
              "self.register_parameter('bias', None)",
        reference="x = x + y\n        for part in self.parts:\n            x = part(x)\n        "
                  "x = x if self.post is None else self.post(x)\n        return x if self.bias is None else x + self.bias",
        candidate="return added(x, y)",
        changes=[("pass", None), ("m.parts[0] = nn.Tanh()", "Tanh, and a"), ("m.parts[1] = nn.Identity()", None),
                 ("m.parts.append(nn.Tanh())", "parts than recorded"), ("m.post = nn.Tanh()", "parts than recorded"),
                 ("m.bias = nn.Parameter(torch.ones(16))", "bias"), ("m.parts[0] = nn.ReLU(inplace=True)", "inplace"),
                 ("m.parts[1].register_forward_hook(lambda part, given, x: x + 1)", "hooks"),
                 ("m.parts[1].register_forward_pre_hook(lambda part, given: given[0] + 1)", "hooks"),
                 ("m.parts[1].forward = lambda x: x + 1", "class's: forward"),
                 ("m.parts[1].forward = m.parts[1].forward; del m.parts[1].forward", None),
                 ("m.register_forward_hook(lambda part, given, x: x + 1)", None),
                 ("m.parts[1].on = True; m.parts[1].on", None),
                 ("m.parts = m.parts[:1]", "parts than recorded"), ("del m.parts[1]", "parts than recorded")]),
    "what containers hold": dict(
        state="import collections; self.many = [nn.ReLU()]; self.tables = collections.OrderedDict([(0, torch.ones(16)), "
              "(1, 3 * torch.ones(16))]); self.bag = nn.ParameterDict({'a': torch.ones(16)}); self.cache = []; "
              "self.by = {'a': nn.Identity()}",
        reference="for part in self.many:\n            x = part(x)\n        for part in self.by.values():\n            "
                  "x = part(x)\n        for p in (*self.bag.values(), *self.tables.values()):\n            x = x * p\n        "
                  "self.cache.append(1)\n        return torch.relu(x + y)",
        candidate="return added(torch.relu(x) * self.bag['a'] * self.tables[0] * self.tables[1], y)",
        changes=[("pass", None), ("m.many.append(nn.Tanh())", "many has other parts"), ("m.many[0] = nn.Tanh()", "Tanh, and a"),
                 ("m.tables[2] = torch.ones(16)", "tables has other parts"), ("m.by['b'] = nn.Tanh()", "by has other parts"),
                 ("m.bag['b'] = torch.ones(16)", "parts than recorded: b"), ("m.many[0].__class__ = nn.Tanh", "Tanh, and a"),
                 ("m.many = tuple(m.many)", "a tuple"), ("m.cache.append(1)", None), ("m.tables[1].mul_(2)", "table"),
                 ("m.by['a'].register_forward_hook(lambda part, given, x: x + 1)", "hooks")]),
    "what forward makes and asks for": dict(
        state="self.part = Gate(); self.part.eval(); self.act = None; self.sizes = (torch.Size([16]), torch.Size([16])); "
              "self.device = 'cuda'; self.register_buffer('last', None); self.step = 1.0; self.part.eps = 2.0; "
              "setattr(self, '__odd', nn.Identity())",
        reference="if self.act is None:\n            self.act = nn.ReLU()\n        "
                  "if not hasattr(self, 'lazy'):\n            self.lazy = nn.ReLU()\n        "
                  "assert self.sizes[0] == x.shape[1:] and self.device and self.part(x) is x\n        "
                  "x = -x if getattr(self.part, 'negate', False) or getattr(self, 'turned', False) else x\n        "
                  "return self.lazy(self.act(x * self.step + y))",
        candidate="return added(x, y)",
        changes=[("pass", None), ("m.part.negate = True", "negate, which was absent"), ("m.turned = True", "turned, which"),
                 ("m.last = torch.ones(1)", None), ("m.device = 'cpu'", None), ("m.step = 3.0", "step is 3.0"),
                 ("m.part.forward = lambda x: x", "class's: forward"), ("m.part.eps = 3.0", None)]),
    "functions and other things that have names": dict(
        state="import enum, numpy; self.act = torch.relu; self.shape = lambda x: x.abs(); self.dtype = torch.float32; "
              "self.root = numpy.sqrt(numpy.float64(16)); self.kind = enum.Enum('Kind', 'RED BLUE').RED; self.pool = F.max_pool1d; "
              "self.many = (torch.Size, (F.gelu,)); self.cls = nn.Identity; self.name = '<red>'; import functools; "
              "self.others = [(lambda a, b: a + b), (lambda a, b: a - b)]; self.plus = self.others[0]; self.ops = Ops(); "
              "self.leaky = functools.partial(F.leaky_relu, negative_slope=1.0); self.method = torch.Tensor.abs; "
              "self.part_op = self.ops.same; self.cut = slice(16); self.again = [named(1), named(2)]; self.named = self.again[0]; "
              "self.scripted = torch.jit.script(same); self.twice = torch.compile(lambda x: x); self.kind_name = type(self).__name__",
        reference="assert len(self.many) == 2 and self.name and self.kind_name\n        "
                  "x = self.plus(self.method(self.leaky(self.part_op(self.named(self.scripted(x))))), 0 * x)[self.cut]\n        "
                  "x = self.cls()(self.shape(x).to(self.dtype) * self.root)\n        "
                  "return self.act(self.pool(x, 1) + (y if self.kind.name == 'RED' else -y))",
        candidate="return added(x.abs() * 4, y)",
        changes=[("pass", None), ("m.act = torch.tanh", "tanh>', and '<"), ("m.act = torch.nn.functional.relu", "act is '<torch"),
                 ("m.shape = lambda x: x.neg()", "of neg"), ("m.shape = lambda other: other.abs()", "shape is"), ("m.plus = (lambda a, b: a - b)", "plus is"),
                 ("m.plus = m.others[1]", "plus is"), ("m.cut = slice(1)", "cut is"),
                 ("import functools; m.leaky = functools.partial(F.leaky_relu, negative_slope=0.5)", "0.5)), and"),
                 ("m.method = torch.Tensor.neg", "neg"), ("m.part_op = m.ops.tanh", "Ops.tanh"), ("m.named = m.again[1]", "line"),
                 ("m.scripted = torch.tanh", "scripted is"),
                 ("m.dtype = torch.float64; x = x.double()", "dtype is"), ("m.dtype = torch.float16", "float16>', and"),
                 ("import numpy; m.root = numpy.float64(2)", "2.0>"), ("import numpy; m.root = numpy.float32(4)", "<float32 4.0>"),
                 ("m.root = 4.0", "4.0, and"), ("m.kind = type(m.kind).BLUE", "<Kind BLUE>"), ("m.pool = F.adaptive_max_pool1d", "adaptive"),
                 ("m.pool = F.max_pool1d", None), ("m.many = (torch.Size, (F.relu,))", "many is"), ("m.cls = nn.ReLU", "ReLU"),
                 ("m.act = nn.ReLU()", "parts than recorded: act")]),
    "what forward caches": dict(
        state="self.part = Caching()", reference="return torch.relu(self.part(x) + y)", candidate="return added(x, y)",
        changes=[("pass", None), ("with warnings.catch_warnings():\n    warnings.simplefilter('ignore'); m(x.double(), y.double())\n"
                                     "m.__dict__.pop('_kw_warned', None)", None),
                 ("m.part.compile(backend='eager')", None), ("m.part.factor = 2.0", "factor")]),
    "what is in an order, or in place of the class's": dict(
        state="self.acts = nn.ModuleDict({'a-b': nn.ReLU(), 'b': Shift()}); self.plain = {'a': nn.ReLU(), 'b': Shift()}; "
              "self.part = Shift(); self.wrap = Wrap(self.part)",
        reference="for act in (*self.acts.values(), *self.plain.values()):\n            x = act(x)\n        "
                  "return torch.relu(self.part(x) + self.wrap.by + self.part.tail(y))",
        candidate="x = torch.relu(torch.relu(x) + 1) + 2\n        return added(x, y + 1)",
        changes=[("pass", None), ("m.acts['a-b'] = m.acts.pop('a-b')", "acts has other parts than recorded: their order"),
                 ("m.plain['a'] = m.plain.pop('a')", "their order"), ("m.acts['a-b'] = nn.Tanh()", "Tanh"),
                 ("m.part.tail = torch.neg", "tail"), ("m.zero_grad = None", "class's: zero_grad"), ("m.part.by = 2", "by"),
                 ("del m.part.note; m.part.odd = 1.0", "odd, which was absent"), ("m.extra = nn.ReLU()", "parts than recorded: extra")]),
    "tensors of other kinds": dict(
        state="self.linear = nn.Linear(16, 16)", reference="return torch.relu(self.linear(x) + y)",
        candidate="return added(self.linear(x), y)",
        changes=[("pass", None), ("m.linear.weight = nn.Parameter(m.linear.weight.detach().to_sparse_csr())", "sparse"),
                 ("x = torch.nested.nested_tensor([x]); y = torch.nested.nested_tensor([y]); call = lambda x, y: m(x, y).to_padded_tensor(0.0)", "nested")]),
    "modules that are scripted": dict(
        state="self.part = torch.jit.script(nn.Sequential(nn.ReLU(), nn.Identity()))",
        reference="return self.part(x + y)", candidate="return added(x, y)",
        changes=[("pass", None), ("m.part = nn.Sequential(nn.ReLU(), nn.Identity())", None),
                 ("m.part = torch.jit.script(nn.Tanh())", "Tanh, and a"), ("m.part = nn.Tanh()", "Tanh, and a")]),
    "a mode of a scripted module": dict(
        state="self.part = torch.jit.script(Gate())", reference="return torch.relu(self.part(x) + y)",
        candidate="return added(x * 2, y)", changes=[("pass", None), ("m.eval()", "part.training is False")]),
    "arguments that are one": dict(
        state="pass",
        reference="return torch.relu(x) if x is y or x.data_ptr() == y.data_ptr() else torch.relu(x + y)",
        candidate="return added(x, y)",
        changes=[("pass", None), ("y = x", "arguments"), ("y = x.view(16, 16)", "memory"), ("x, y = torch.randn(2, 16, 16)", "memory")]),
    "addresses of empty tensors": dict(
        state='self.register_buffer("a", torch.ones(0)); self.register_buffer("b", torch.ones(0))',
        reference="return torch.relu(x + y) if x.data_ptr() != y.data_ptr() else torch.relu(x)",
        candidate="return added(x, y)", changes=[("pass", None), ("y = x.view(16, 16)", "memory")]),
    "arguments that are parts of one": dict(
        inputs=VIEWS, state="pass", reference="return torch.relu(x + y)",
        candidate="return added(torch.as_strided(y, (16, 16), (16, 1), 0), y)",
        changes=[("pass", None), ("x = x.clone()", "memory"), ("x, y = y, x", "memory")]),
    "a part of the model is gone": dict(
        state="self.linear = nn.Linear(16, 16); self.parts = [nn.Linear(16, 16)]; self.unused = nn.Parameter(torch.ones(3))",
        reference="return torch.relu(self.linear(x) + y)",
        candidate="return added(self.linear(x), y)",
        changes=[("pass", None), ("del m.unused", "gone"), ("m.unused = None", "no tensor"), ("m.linear.bias = None", "no tensor"),
                 ("m.linear = nn.Identity()", "gone"), ("m.parts.clear()", "gone"), ("m.parts = None", "gone")]),
    "transforms of functions": dict(
        state="pass", reference="return torch.relu(x * 2 + y)", candidate="return added(x * 2, y)",
        changes=[("call = lambda x, y: torch.vmap(m)(x[None], y[None])[0]", "transforms"),
                 ("call = lambda x, y: torch.func.jvp(m, (x, y), (y, x))[1]", "transforms"),
                 ("call = lambda x, y: dual(m, x, y)", "gradients"),
                 ("call = lambda x, y: torch.func.grad(lambda z: m(z, y).sum())(x)", "transforms"),
                 ("call = lambda x, y: torch.jit.trace(m, (x, y))(x, y)", "transforms"),
                 ("call = lambda x, y: torch.func.functional_call(m, {}, (x, y))", None)]),
    "tensors of the default dtype": dict(
        state="pass", reference="return torch.relu(x + y) * torch.ones(16, device=x.device)",
        candidate="return added(x, y) * torch.ones(16, device=x.device)",
        changes=[("pass", None), ("call = lambda x, y: by_default(torch.float64, m, x, y)", "default dtype"),
                 ("call = lambda x, y: by_default(torch.float16, m, x, y)", "default dtype")]),
    "names that the export needs": dict(
        state="global warnings; warnings = len",
        reference="return torch.relu(x * warnings('a') + y)", candidate="return added(x, y)",
        changes=[("pass", None), ("x = x.double()", "dtype")]),
}

TRY = """
import copy, importlib.util, json, sys, warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.autograd.forward_ad as forward_ad


def loaded(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def dual(m, x, y):
    with forward_ad.dual_level(), torch.enable_grad():
        return forward_ad.unpack_dual(m(forward_ad.make_dual(x, y), y)).tangent


def by_default(dtype, m, x, y):
    torch.set_default_dtype(dtype)
    try:
        return m(x, y)
    finally:
        torch.set_default_dtype(torch.float32)


def results(make, inputs, change, warm):
    torch.manual_seed(0)
    m = make()
    if warm:  # what was found in one call may be kept for the next
        with torch.no_grad():
            m(*copy.deepcopy(inputs))
    given = {"m": m, "x": inputs[0], "y": inputs[1], "call": lambda x, y: [m(x, y) for _ in range(2)][1]}
    with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
        exec(change, {**globals(), **given}, given)
        result = given["call"](given["x"], given["y"])
    return result, [str(w.message) for w in caught if "running the original" in str(w.message)]


reference, export = loaded("reference.py", "reference"), loaded("out/optimized.py", "export")
for change in json.load(sys.stdin):
    torch.manual_seed(1)
    inputs = reference.get_inputs()
    for warm in (False, True):
        wanted, _ = results(reference.Model, copy.deepcopy(inputs), change, warm)
        got, why = results(export.ModelNew, copy.deepcopy(inputs), change, warm)
        print(json.dumps([bool(torch.allclose(got, wanted)), *why]))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_longer_holds_runs_the_original(tmp_path, kind):
    case = KINDS[kind]
    inputs = case.get("inputs", TWO)
    for name, cls, forward, more in (("reference", "Model", case["reference"], ""),
                                     ("candidate", "ModelNew", case["candidate"], KERNEL)):
        text = TEXT.format(cls=cls, state=case["state"], forward=forward, inputs=inputs)
        (tmp_path / (name + ".py")).write_text(text + more)
    done = run("verify", tmp_path / "reference.py", tmp_path / "candidate.py", "--no-time", "--backend", "cpu",
               "--trials", "1", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(tmp_path / "out" / "optimized.py") in done.stdout, "it says where the program is"
    changes = [change for change, _ in case["changes"]]
    tried = subprocess.run([sys.executable, "-c", TRY], cwd=tmp_path, input=json.dumps(changes), text=True,
                           capture_output=True, env={**os.environ, "TRITON_INTERPRET": "1"})
    assert tried.returncode == 0, tried.stderr
    answers = [json.loads(line) for line in tried.stdout.splitlines()]
    assert len(answers) == 2 * len(changes)
    for (change, word), (is_right, *why) in zip(2 * case["changes"], answers[::2] + answers[1::2]):
        assert is_right and len(why) == (word is not None) and (word or "") in "".join(why), (change, why)
