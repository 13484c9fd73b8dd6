"""Metadata made at once, against eager PyTorch on the CPU: what a shortcut gives has eager's shape,
dtype and strides, and where eager raises there is none."""

import random

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from metadata import Shortcuts

DRAWS = 400
UNARY = ("relu sigmoid tanh silu mish selu hardswish hardsigmoid relu6 exp log sqrt rsqrt neg abs "
         "erf square round sign").split()


class Given:
    """A tensor yet to be made, on either device."""

    def __init__(self, shape, dtype=torch.float32, strides=None):
        self.shape, self.dtype, self.strides = list(shape), dtype, strides

    def make(self, device):
        if self.strides is None:
            return torch.ones(self.shape, dtype=self.dtype, device=device)
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=device)


def made(argument, device):
    if isinstance(argument, Given):
        return argument.make(device)
    if isinstance(argument, (list, tuple)):
        return type(argument)(made(item, device) for item in argument)
    return argument


class Draw:
    """Arguments of operators: mostly good ones, with a fault here and there."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.pick([torch.float32] * 6 + [torch.float64, torch.int64])

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, p):
        return self.random.random() < p

    def sizes(self, low, high):
        return [self.pick([1, 2, 3, 4, 6, 0 if self.chance(0.2) else 5])
                for _ in range(self.random.randint(low, high))]

    def tensor(self, shape, odd=0.1):
        if self.chance(odd):
            shape = self.pick([[*shape, 1], shape[1:], [n + 1 for n in shape]])
        dtype = self.pick([torch.float64, torch.int64]) if self.chance(odd / 2) else self.dtype
        if not self.chance(0.2):
            return Given(shape, dtype)
        order, strides, step = list(range(len(shape))), [0] * len(shape), 1
        self.random.shuffle(order)
        for d in order:
            strides[d] = step
            step *= max(shape[d], 1)
        return Given(shape, dtype, strides)

    def maybe(self, shape):
        return self.tensor(shape) if self.chance(0.6) else None

    def pointwise(self):
        return "%s.default" % self.pick(UNARY), [self.tensor(self.sizes(0, 4))]

    def binary(self):
        shape = self.sizes(0, 4)
        second = self.pick([shape, shape[1:], [1] * len(shape), [2, *shape], []])
        pair = [self.tensor(shape), self.tensor(second)]
        self.random.shuffle(pair)
        return self.pick("add.Tensor sub.Tensor mul.Tensor div.Tensor maximum.default".split()), pair

    def gelu(self):
        return "gelu.default", [self.tensor(self.sizes(1, 3))], {
            "approximate": self.pick(["none", "tanh", "erf"])}

    def clamp(self):
        return "clamp.default", [self.tensor(self.sizes(1, 3)),
                                 *(self.pick([None, 0.5]) for _ in range(2))]

    def softmax(self):
        return self.pick(["softmax.int", "log_softmax.int"]), [
            self.tensor(self.sizes(0, 3)), self.random.randint(-4, 3)]

    def reduced(self):
        dims = [self.random.randint(-4, 3) for _ in range(self.random.randint(0, 3))]
        return self.pick(["mean.dim", "sum.dim_IntList"]), [
            self.tensor(self.sizes(0, 4)), dims, self.chance(0.5)]

    def linear(self):
        inner, outer = self.pick([2, 3]), self.pick([1, 4])
        return "linear.default", [self.tensor([*self.sizes(0, 2), inner]),
                                  self.tensor([outer, inner]), self.maybe([outer])]

    def layer_norm(self):
        shape = self.sizes(1, 4)
        tail = shape[self.random.randrange(len(shape)):]
        return "layer_norm.default", [self.tensor(shape), tail, self.maybe(tail), self.maybe(tail)]

    def batch_norm(self):
        shape = self.sizes(2, 5)
        return self.pick(["batch_norm.default", "instance_norm.default"]), [
            self.tensor(shape), *(self.maybe(shape[1:2]) for _ in range(4)), self.chance(0.5), 0.1,
            1e-5, True]

    def group_norm(self):
        shape = self.sizes(2, 4)
        return "group_norm.default", [self.tensor(shape), self.pick([0, 1, 2, 3, shape[1]]),
                                      self.maybe(shape[1:2]), self.maybe(shape[1:2])]

    def convolution(self):
        dims, groups = self.pick([1, 2, 3]), self.pick([1, 1, 2])
        outer, inner = self.pick([0, 2, 2, 3, 4, 4]), self.pick([1, 2])
        each = [[self.random.randint(low, 2) - self.chance(0.1)]
                * self.pick([1, dims, dims, dims + self.chance(0.3)]) for low in (1, 0, 1)]
        kernel = [self.pick([0, 1, 2, 2, 2, 3, 3]) for _ in range(dims)]
        space = [self.pick([3, 4, 7]) for _ in range(dims)]
        return "conv%dd.default" % dims, [
            self.tensor([2, inner * groups, *space]), self.tensor([outer, inner, *kernel]),
            self.maybe([outer]), *each, groups]

    def attention(self):
        width = self.pick([4, 8])
        mask = self.pick([None, Given([3, 5], torch.bool), Given([5]), self.tensor([2, 1, 3, 5]),
                          Given([1, 1, 3, 5], torch.int64), self.tensor([2, 5])])
        return "scaled_dot_product_attention.default", [
            self.tensor([2, 2, 3, width]), self.tensor([2, 2, 5, width]),
            self.tensor([2, 2, 5, width]), mask]

    def cell(self):
        kind, gates = self.pick([("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)])
        states = [self.tensor([2, 3]) for _ in range(2)]
        return "%s_cell.default" % kind, [
            self.tensor([2, 4]), states if kind == "lstm" else states[0],
            self.tensor([gates * 3, 4]), self.tensor([gates * 3, 3]),
            *(self.tensor([gates * 3]) for _ in range(2) if gates > 1)]

    def lstm(self):
        layers, directions, biases = self.pick([1, 2]), self.pick([1, 2]), self.chance(0.5)
        width, hidden, given = 3, 4, self.pick([4, 4, 2])
        params = []
        for layer in range(layers):
            for _ in range(directions):
                inner = given * directions if layer else width
                params += [[16, inner], [16, given]] + [[16], [16]] * biases
                params += [[given, hidden]] * (given != hidden)
        return "lstm.input", [
            self.tensor([2, 2, width], 0.02),
            [self.tensor([layers * directions, 2, n], 0.02) for n in (given, hidden)],
            [Given(shape, self.dtype) for shape in params[:len(params) - self.chance(0.2)]],
            biases, layers, 0.0, False, directions == 2, self.chance(0.5)]

    def grid(self):
        dims = self.pick([2, 3])
        return "grid_sampler.default", [
            self.tensor([2, 3, *self.sizes(dims, dims)]),
            self.tensor([2, *self.sizes(dims, dims), dims]), self.pick([0, 1, 2, 3]),
            self.pick([0, 1, 2, 3]), False]

    def random_values(self):
        name = self.pick("uniform_ normal_ exponential_ randn_like rand_like".split())
        return name + ".default", [Given([3, 4], self.dtype)]


KINDS = [name for name, value in vars(Draw).items() if callable(value)
         and name not in ("__init__", "pick", "chance", "sizes", "tensor", "maybe")]


def metadata(result, with_strides):
    tensors = result if isinstance(result, (list, tuple)) else [result]
    return [(t.dtype, tuple(t.shape), t.stride() if with_strides else None) for t in tensors]


@pytest.mark.parametrize("kind", KINDS)
def test_a_shortcut_gives_what_eager_gives(kind):
    mode, taken = FakeTensorMode(), 0
    for seed in range(DRAWS):
        name, args, *rest = getattr(Draw(seed), kind)()
        kwargs = rest[0] if rest else {}
        with mode, torch.inference_mode():
            found = Shortcuts(mode).result("aten." + name, made(args, "cuda"), kwargs)
        if found is None:
            continue
        taken += 1
        packet, overload = name.split(".")
        what = "draw %d: %s%s" % (seed, name, [vars(a) if isinstance(a, Given) else a for a in args])
        strides = kind not in ("attention", "cell")  # CUDA's kernels have a layout of their own
        try:
            with torch.inference_mode():
                eager = getattr(getattr(torch.ops.aten, packet), overload)(*made(args, "cpu"),
                                                                           **kwargs)
        except (RuntimeError, ValueError, IndexError, NotImplementedError) as error:
            pytest.fail("%s: eager raises %s" % (what, error))
        assert metadata(found, strides) == metadata(eager, strides), what
    assert taken > DRAWS / 20


def test_what_eager_refuses_is_refused_on_the_users_line(client, tools):
    """Not by a replay later on, which knows no lines."""
    for call, words in [("F.batch_norm(x, None, None, training=False)", "running_mean"),
                        ("F.group_norm(x, 5)", "divisible"),
                        ("F.layer_norm(x.long(), [4])", "mean(): could not infer")]:
        source = ("import torch\nimport torch.nn.functional as F\nclass Model(torch.nn.Module):\n"
                  "    def forward(self, x):\n        return %s\n"
                  "def get_inputs():\n    return [torch.randn(2, 3, 4)]\n" % call)
        reply = client.run(tools.request(source))[0]
        assert (reply["status"], reply.get("code"), reply.get("line")) == ("refused", "raised", 5)
        assert words in reply["message"]
