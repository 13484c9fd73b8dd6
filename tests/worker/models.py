"""Small models for the recorder's tests, one for each thing that a recording must get right."""

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
"""

MODELS = {}


def model(name, body):
    MODELS[name] = HEAD + body


model("rms_norm_swiglu", """
class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

class Model(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim, bias=False)
    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

def get_inputs():
    return [torch.randn(4, 16)]
def get_init_inputs():
    return [16, 24]
""")

model("batch_norm_training", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))
def get_inputs():
    return [torch.rand(2, 3, 8, 8)]
""")

model("made_on_the_cpu", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(8, 8))
        nn.init.normal_(self.weight)
        self.shift = nn.Parameter(torch.FloatTensor(8).uniform_())
        self.same = self.shift.cpu()
        rates = [rate.item() for rate in torch.linspace(0, 0.1, 4, device="cpu")]
        self.register_buffer("table", torch.arange(8, device="cpu").to("cpu").float() * rates[1])
        self.register_buffer("index", torch.LongTensor([0, 2]).to(torch.device("cpu")))
    def forward(self, x):
        return (x @ self.weight + self.shift * self.table + self.same)[:, self.index]
def get_inputs():
    return [torch.randn(4, 8, device="cpu")]
""")

model("table_of_numpy", """
import numpy
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        angles = numpy.arange(100)[:, None] / 10000 ** (numpy.arange(64)[None] / 64)
        self.register_buffer("sines", torch.from_numpy(numpy.sin(angles)).float())
        self.register_buffer("cosines", torch.FloatTensor(numpy.cos(angles)))
        self.scale = torch.FloatTensor([1.0, 2.0]).tolist()[1]
    def forward(self, x):
        return x * self.scale + self.sines[: x.shape[0]] * self.cosines[: x.shape[0]]
def get_inputs():
    return [torch.randn(4, 64)]
""")

model("widths_in_buffers", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kernel", torch.tensor(5))
        self.register_buffer("stride", torch.tensor(2), persistent=False)
    def forward(self, x):
        total = self.kernel - self.stride
        if total > self.stride:
            total += 1
        return F.pad(x, (total // 2, max(total, self.stride))) * self.kernel
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("counts_of_literals", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        widths = torch.round(torch.arange(6) * 0.6) * 8 + 8
        widths, counts = torch.unique(widths.int(), return_counts=True)
        self.layers = nn.ModuleList(nn.Linear(8, width) for width in widths.tolist())
        self.register_buffer("counts", counts)
        self.register_buffer("odd", torch.nonzero(counts % 2)[:, 0])
    def forward(self, x):
        places = torch.nonzero(torch.tensor([[0, 1, 0], [0, 1, 1]]))
        return [layer(x) * self.counts[self.odd[0]] for layer in self.layers], x[places[:, 1]]
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("grid_made_on_the_cpu", """
class Model(nn.Module):
    def forward(self, x):
        rows = torch.arange(4, device="cpu")
        columns = torch.arange(8, device=torch.device("cpu"))
        grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).float()
        return x + grid.to(x.device) + torch.zeros(8, device="cpu").to(x)
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("attention", """
class Model(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=-1)
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))
def get_inputs():
    return [torch.randn(2, 6, 16)]
""")

model("multi_head_attention", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)
        self.eval()
    def forward(self, x):
        return self.layer(x)
def get_inputs():
    return [torch.randn(2, 6, 16)]
""")

model("tied_weights", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 8)
        self.b.weight = self.a.weight
        self.mid = nn.Linear(8, 8)
        self.mid.weight.data.mul_(0.5)
    def forward(self, x):
        return self.mid(self.b(torch.tanh(self.a(x))))
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("constants_everywhere", """
TABLE = torch.arange(8).float()
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.tensor(0.5))
        self.register_buffer("steps", torch.tensor([1, 2, 3, 4, 5, 6, 7, 8]))
        self.scale = torch.full((8,), 3.0)
        self.many = [torch.ones(8), torch.zeros(8)]
        self.depth = [v.item() for v in torch.tensor([1.5, 2.5])]
    def forward(self, x):
        y = x * self.factor + self.steps + self.scale + self.many[0] + TABLE
        return y * torch.tensor([1.0, -1.0] * 4, device=x.device) * self.depth[1]
def get_inputs():
    return [torch.randn(2, 8)]
""")

model("trees", """
class Model(nn.Module):
    def forward(self, x, pair, flag, options):
        a, b = pair
        y = x + a if flag else x - a
        return {"sum": y, "parts": [a * options["scale"], (b, 3)], "same": y, "none": None}
def get_inputs():
    x = torch.randn(3, 4)
    return [x, (torch.randn(4), x), True, {"scale": 2.5}]
""")

model("in_place_and_views", """
class Model(nn.Module):
    def forward(self, x):
        y = x.clone()
        row = y[1]
        row.add_(1.0)
        y[:, 0].mul_(2.0)
        z = y.view(-1)
        z.relu_()
        return y.transpose(0, 1), row
def get_inputs():
    return [torch.randn(3, 4)]
""")

model("half_precision", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8).to(torch.bfloat16)
        self.norm = nn.LayerNorm(8)
    def forward(self, x):
        return self.norm(self.fc(x.to(torch.bfloat16)).float()).to("cuda" if False else x.device)
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("lstm", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, 2, batch_first=True)
    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c
def get_inputs():
    return [torch.randn(3, 5, 8)]
""")

model("weights_packed_once", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.packed = None
    def forward(self, x):
        if self.packed is None:
            self.packed = self.fc.weight.t().contiguous() * 2
            self.view = self.fc.weight.t()
        return x @ self.packed + x @ self.view
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("buffer_updated", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("count", torch.tensor(0))
    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        self.count += 1
        return x - self.mean
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("initialisers", """
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = nn.Parameter(torch.empty(n, n))
        nn.init.kaiming_uniform_(self.w, a=math.sqrt(5))
        self.b = nn.Parameter(torch.empty(n))
        nn.init.trunc_normal_(self.b, std=0.02)
        self.e = nn.Embedding(10, n)
        self.layers = nn.ModuleList([nn.Linear(n, n) for _ in range(2)])
        self.apply(self.reset)
    def reset(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_normal_(m.weight)
            nn.init.zeros_(m.bias)
    def forward(self, x):
        h = self.e(x)
        for layer in self.layers:
            h = F.gelu(layer(h))
        return h @ self.w + self.b
def get_inputs():
    return [torch.randint(0, 10, (3, 5))]
def get_init_inputs():
    return [8]
""")

model("random_in_forward", """
class Model(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5) + torch.randn_like(x)
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("functions_many", """
class Model(nn.Module):
    def forward(self, x):
        y = torch.cat([F.softmax(x, -1), F.log_softmax(x, 0)], dim=1)
        m = y.max(dim=1, keepdim=True)[0]
        s = torch.std(y, dim=1) + torch.logsumexp(y, 1) + torch.var(y, 1, unbiased=False)
        z = torch.where(y > 0, y, m).clamp(-1, 1).masked_fill(y < -2, float("-inf"))
        z = z.reshape(x.shape[0], 2, -1).permute(2, 0, 1).flatten(1)
        t = torch.triu(torch.ones(4, 4, device=x.device)) + F.one_hot_like(x) if False else z.sum()
        return z, s, torch.einsum("ij,kj->ik", x, x), F.gelu(x, approximate="tanh"), t
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("autocast", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
    def forward(self, x):
        with torch.no_grad():
            y = self.fc(x)
        return y.half().float()
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("parameters_in_containers", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = [nn.Parameter(torch.randn(8)) for _ in range(2)]
        self.table = {"a": nn.Parameter(torch.randn(8)), 3: (nn.Parameter(torch.randn(8)),)}
        self.layers = [nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))]
    def forward(self, x):
        x = x * self.weights[0] + self.weights[1] * self.table["a"] + self.table[3][0]
        for layer in self.layers:
            x = layer(x)
        return x
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("spectral_norm", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.old = nn.utils.spectral_norm(nn.Linear(8, 8))
        self.new = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8))
        self.weight = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
    def forward(self, x):
        return self.weight(self.new(self.old(x)))
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("keywords", """
class Model(nn.Module):
    def __init__(self, *, dim=4, bias=True, **more):
        super().__init__()
        self.fc = nn.Linear(dim, dim, bias=bias)
        self.factor = more["factor"]
    def forward(self, x, shift=None, *, scale=2.0, **options):
        x = self.fc(x) * scale * self.factor
        return x if shift is None else x + shift
def get_inputs():
    return [torch.randn(4, 8), 0.5]
def get_init_inputs():
    return {"dim": 8, "bias": False, "factor": 3.0}
""")

model("data_classes", """
import collections
import dataclasses
Pair = collections.namedtuple("Pair", "first second")
@dataclasses.dataclass(frozen=True)
class Output:
    logits: torch.Tensor
    pair: Pair
    loss: object = None
    def total(self):
        return self.logits + self.pair.first
class Model(nn.Module):
    def forward(self, x):
        return Output(x + 1, Pair(x * 2, [3, x - 1]))
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("writes_into_out", """
class Model(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.mul(x, 2.0, out=y)
        torch.matmul(x, y.t(), out=torch.empty(4, 4, device=x.device))
        return F.normalize(y, dim=1, out=y), torch.add(x, y, alpha=2, out=x.clone())
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("autocast_regions", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.short = nn.Linear(8, 8).half()
    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            y = self.fc(x)
            z = self.fc(y) @ self.fc.weight
            with torch.autocast(x.device.type, enabled=False):
                t = F.linear(z.float(), self.fc.weight)
        return y, z, t, self.short(x.half())
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("operators_outside_of_the_table", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.basis = nn.Parameter(torch.linalg.qr(torch.randn(6, 6))[0])
    def forward(self, x, ids):
        spd = x @ x.mT + 6 * torch.eye(6)
        solved = torch.linalg.solve(spd, x)
        factor = torch.linalg.cholesky(spd)
        values = torch.linalg.svdvals(x + self.basis)
        stop = torch.isin(ids, torch.tensor([1, 4, 5]))
        return solved, factor, values, stop, torch.histc(x, 8, -3.0, 3.0), torch.relu(torch.linalg.det(spd))
def get_inputs():
    return [torch.randn(3, 6, 6), torch.randint(0, 8, (5, 7))]
""")

model("rotary_by_complex_numbers", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(6.0), 1.0 / 100 ** (torch.arange(0, 8, 2) / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)
        self.scale = nn.Parameter(torch.randn(4, dtype=torch.cfloat))
    def forward(self, x):
        z = torch.view_as_complex(x.float().reshape(2, 6, 4, 2)) * self.turns * self.scale
        back = torch.view_as_real(z.conj() * 2 + 1j).flatten(-2)
        return back.to(x.dtype), z, z.real, z.imag, z.abs(), z.angle(), x * 1j, z.mH
def get_inputs():
    return [torch.randn(2, 6, 8)]
""")

model("spectra", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 5, 4, 3, 2))
        self.filter = nn.Parameter(torch.view_as_complex(torch.randn(3, 3, 2)))
    def forward(self, x):
        f = torch.fft.rfft2(x)[..., :4, :3]
        y = torch.einsum("bixy,ioxy->boxy", f, torch.view_as_complex(self.weight))
        out = torch.zeros(2, 5, 8, 5, dtype=torch.cfloat, device=x.device)
        out[:, :, :4, :3] = y
        mixed = torch.fft.irfft(torch.fft.rfft(x[..., 0, :4], dim=-1) * self.filter.conj(), n=4)
        return torch.fft.irfft2(out, s=(8, 8)), mixed, torch.fft.fft(x).abs(), torch.fft.fftshift(x, -1)
def get_inputs():
    return [torch.randn(2, 3, 8, 8)]
""")

model("magnitudes_of_stft", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
    def forward(self, x):
        s = torch.stft(x, 32, 8, window=self.window, return_complex=True)
        return s.abs().clamp_min(1e-5).log(), torch.istft(s, 32, 8, window=self.window, length=128)
def get_inputs():
    return [torch.randn(2, 128)]
""")

model("complex_literals", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("roots", torch.tensor([1j, -1 + 0.5j, 2.0]))
    def forward(self, x):
        return x * torch.tensor([1 + 2j, 3j, 0.5]) + self.roots, torch.complex(x, -x)
def get_inputs():
    return [torch.randn(2, 3)]
""")

model("counts_of_small_numbers", """
class Model(nn.Module):
    def forward(self, ids, w):
        return torch.bincount(ids, minlength=16), torch.bincount(ids, w, minlength=20), \
            torch.bincount(ids.byte(), weights=w.half(), minlength=16)
def get_inputs():
    return [torch.randint(0, 16, (64,)), torch.rand(64)]
""")

model("lengths_that_are_tensors", """
class Model(nn.Module):
    def forward(self, x, targets, n, m):
        return F.ctc_loss(x.log_softmax(-1), targets, n, m), \
            F.ctc_loss(x.log_softmax(-1), targets, n, m, reduction="none")
def get_inputs():
    return [torch.randn(20, 2, 10), torch.randint(1, 10, (2, 5)), torch.full((2,), 20), torch.full((2,), 5)]
""")

model("lazy_modules", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
        self.net(torch.zeros(2, 3, 8, 8))
        self.eval()
    def forward(self, x):
        return self.net(x)
def get_inputs():
    return [torch.randn(2, 3, 8, 8)]
""")

model("opaque_in_place", """
class Model(nn.Module):
    def forward(self, x, y):
        z = x * 2
        z.copysign_(y)
        return torch.relu(z), z
def get_inputs():
    return [torch.randn(4, 8), torch.randn(4, 8)]
""")

model("distributions", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)
    def forward(self, x, action):
        mean, scale = self.net(x).chunk(2, -1)
        normal = torch.distributions.Normal(mean, F.softplus(scale) + 1e-3)
        choice = torch.distributions.Categorical(logits=x)
        return normal.log_prob(action).sum(-1), normal.entropy(), choice.entropy()
def get_inputs():
    return [torch.randn(4, 8), torch.randn(4, 4)]
""")

model("generator_none", """
class Model(nn.Module):
    def forward(self, x):
        noise = torch.randn(x.shape, generator=None)
        return x + noise + torch.rand(4, 8, generator=None)
def get_inputs():
    return [torch.randn(4, 8)]
""")

model("ordered_dict_of_fields", """
import collections
import dataclasses
import typing

class Output(collections.OrderedDict):
    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value
    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]

@dataclasses.dataclass
class Encoded(Output):
    hidden: typing.Optional[torch.Tensor] = None
    pooled: typing.Optional[torch.Tensor] = None
    attentions: typing.Optional[tuple] = None

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
    def forward(self, x):
        h = F.gelu(self.fc(x))
        return Encoded(hidden=h, pooled=torch.tanh(h[:, 0]))
def get_inputs():
    return [torch.randn(2, 4, 8)]
""")

model("dtype_among_the_inputs", """
class Model(nn.Module):
    def forward(self, x, dtype, form):
        return (x.relu() * 2).to(dtype), x.contiguous(memory_format=form)
def get_inputs():
    return [torch.randn(2, 3, 4, 5), torch.float16, torch.channels_last]
""")
