"""Results of operators whose metadata is known at once.

FakeTensorMode finds them out by running PyTorch's own reference code on meta tensors, at 0.3 to 3 ms
for each new shape. A fake tensor made here takes 10 us. If CUDA's kernels differ from that code
(attention, LSTM), the results here are CUDA's. Each function takes a maker of fake tensors and the
operator's arguments. It returns the operator's result, or None to leave it to FakeTensorMode.
"""

import torch
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import FakeTensor

_HALF = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float32, *_HALF)
_NUMBERS = (int, float, bool, type(None))


class Shortcuts:
    """The results that are known at once, as fake tensors of one FakeTensorMode."""

    def __init__(self, fake_mode):
        self.fake_mode = fake_mode
        self.device = torch.device("cuda", 0)

    def result(self, name, args, kwargs):
        function = _SHORTCUTS.get(name)
        return None if function is None else function(self.new, *args, **kwargs)

    def new(self, shape, dtype):
        """A contiguous fake tensor."""
        with torch._C._DisableTorchDispatch():
            meta = torch.empty(shape, dtype=dtype, device="meta")
        return FakeTensor(self.fake_mode, meta, self.device)


def _on_device(tensor):
    return isinstance(tensor, FakeTensor) and tensor.fake_device.type == "cuda"


def _alike(first, *others):
    """Whether all are tensors of one floating dtype on the device. None is an argument not given."""
    return first.dtype.is_floating_point and all(
        t is None or (_on_device(t) and t.dtype == first.dtype) for t in (first, *others))


def _filled(new, tensor, *args, **kwargs):
    """What is written in place without a look at other tensors."""
    if not _on_device(tensor) or any(isinstance(a, torch.Tensor) for a in args):
        return None
    tensor.constant = None  # FakeTensorMode's own note of a known value
    return tensor


def _drawn(new, tensor, *args, **kwargs):
    return _filled(new, tensor, *args, **kwargs) if tensor.dtype.is_floating_point else None


def _made(new, size, *args, dtype=None, layout=None, device=None, pin_memory=None,
          memory_format=None, **kwargs):
    """Factories."""
    if device is None or device.type != "cuda" or kwargs or layout not in (None, torch.strided) \
            or memory_format not in (None, torch.contiguous_format) \
            or not all(type(n) is int and n >= 0 for n in size):
        return None
    return new(size, dtype or torch.get_default_dtype())


def _full(new, size, value, dtype=None, **kwargs):
    return _made(new, size, dtype=dtype, **kwargs) if dtype is not None else None


def _random(new, size, *args, dtype=None, **kwargs):
    return _made(new, size, *args, dtype=dtype, **kwargs) \
        if dtype is None or dtype.is_floating_point else None


def _like(new, tensor, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if not _on_device(tensor) or not tensor.is_contiguous() or 1 in tensor.shape \
            or layout not in (None, torch.strided) or (device and device.type != "cuda") \
            or memory_format not in (None, torch.preserve_format, torch.contiguous_format):
        return None
    return new(tensor.shape, dtype or tensor.dtype)


def _random_like(new, tensor, dtype=None, **kwargs):
    drawn = dtype or tensor.dtype
    return _like(new, tensor, dtype, **kwargs) if drawn.is_floating_point else None


def _elementwise(new, first, *args, **kwargs):
    """Pointwise operators that give floats of the operands' own dtype. The operands are contiguous
    and of one shape; some may be single numbers or lack outer dimensions."""
    if not _on_device(first) or first.dtype not in _FLOATS or not first.is_contiguous():
        return None
    shape = first.shape
    for arg in (*args, *kwargs.values()):
        if isinstance(arg, torch.Tensor):
            # TensorIterator's strides follow from these where no dimension is 1.
            if not _on_device(arg) or arg.dtype != first.dtype or not arg.is_contiguous() \
                    or (arg.shape != shape and (
                        1 in shape or not arg.dim() or shape[-arg.dim():] != arg.shape)):
                return None
        elif not isinstance(arg, _NUMBERS):
            return None
    return new(shape, first.dtype)


def _clamped(new, input, min=None, max=None):
    return None if min is None and max is None else _elementwise(new, input, min, max)


def _gelu(new, input, approximate="none"):
    return _elementwise(new, input) if approximate in ("none", "tanh") else None


def _softmax(new, input, dim, dtype=None):
    if not _on_device(input) or dtype not in (None, input.dtype) or not input.is_contiguous() \
            or input.dtype not in _FLOATS or not -input.dim() <= dim < input.dim():
        return None
    return new(input.shape, input.dtype)


def _reduced(new, input, dim=None, keepdim=False, dtype=None):
    if not _on_device(input) or input.dtype not in _FLOATS or dtype not in (None, input.dtype) \
            or not input.is_contiguous() or not isinstance(dim, (list, tuple)) or not dim \
            or not all(-input.dim() <= d < input.dim() for d in dim):
        return None
    dims = {d % input.dim() for d in dim}
    if len(dims) != len(dim):
        return None
    kept = [1 if d in dims else n for d, n in enumerate(input.shape) if keepdim or d not in dims]
    return new(kept, input.dtype)


def _linear(new, input, weight, bias=None):
    if input.dim() < 2 or weight.dim() != 2 or input.shape[-1] != weight.shape[1] \
            or not input.is_contiguous() or not _alike(input, weight, bias) \
            or (bias is not None and bias.shape != weight.shape[:1]):
        return None
    return new((*input.shape[:-1], weight.shape[0]), input.dtype)


def _layer_norm(new, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape):]) != shape or not input.is_contiguous() \
            or not _alike(input, weight, bias) \
            or any(t is not None and tuple(t.shape) != shape for t in (weight, bias)):
        return None
    return new(input.shape, input.dtype)


def _channel_norm(new, input, *per_channel):
    if input.dim() < 3 or not input.numel() or not input.is_contiguous() \
            or not _alike(input, *per_channel) \
            or any(t is not None and t.shape != input.shape[1:2] for t in per_channel):
        return None
    return new(input.shape, input.dtype)


def _batch_norm(new, input, weight, bias, running_mean, running_var, from_input, *args):
    """Instance norm too: `from_input` is whether the statistics are the input's own."""
    if (running_mean is None) != (running_var is None) or (running_mean is None and not from_input):
        return None
    return _channel_norm(new, input, weight, bias, running_mean, running_var)


def _group_norm(new, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    if num_groups < 1 or input.dim() < 2 or input.shape[1] % num_groups:
        return None
    return _channel_norm(new, input, weight, bias)


def _convolution(new, input, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,),
                 groups=1):
    """Of contiguous tensors; layouts follow cuDNN's rule, which standins.py knows."""
    dims = weight.dim() - 2
    if input.dim() != dims + 2 or input.dtype not in _FLOATS or not _alike(input, weight, bias) \
            or groups < 1 or 0 in weight.shape or weight.shape[0] % groups \
            or input.shape[1] != weight.shape[1] * groups \
            or (bias is not None and bias.shape != weight.shape[:1]) \
            or any(len(n) not in (1, dims) for n in (stride, padding, dilation)) \
            or any(not t.is_contiguous() or suggest_memory_format(t) != torch.contiguous_format
                   for t in (input, weight)):
        return None
    stride, padding, dilation = (list(n) * (dims if len(n) == 1 else 1)
                                 for n in (stride, padding, dilation))
    if min(stride) < 1 or min(dilation) < 1 or min(padding) < 0:
        return None
    shape = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(
        input.shape[2:], weight.shape[2:], stride, padding, dilation)]
    if min(shape) < 1:
        return None
    return new((input.shape[0], weight.shape[0], *shape), input.dtype)


def _masks(mask, query, key):
    """Whether attention takes the mask."""
    shape = (*query.shape[:3], key.shape[2])
    return _on_device(mask) and mask.dtype in (torch.bool, query.dtype) and 2 <= mask.dim() <= 4 \
        and all(n in (1, m) for n, m in zip(mask.shape[::-1], shape[::-1]))


def _attention(new, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
               enable_gqa=False):
    batch, heads, length, width = query.shape if query.dim() == 4 else (0, 0, 0, 0)
    if not batch or not key.dim() == value.dim() == 4 or query.dtype not in _FLOATS \
            or not _alike(query, key, value) or enable_gqa \
            or key.shape[:2] != query.shape[:2] or value.shape[:3] != key.shape[:3] \
            or key.shape[3] != width or width * query.element_size() % 16 \
            or value.shape[3] * query.element_size() % 16 \
            or (attn_mask is not None and (is_causal or not _masks(attn_mask, query, key))):
        return None
    if query.dtype in _HALF and attn_mask is None and value.shape[3] == width:
        return torch.empty_like(query.transpose(1, 2)).transpose(1, 2)  # flash attention
    return new((batch, length, heads, value.shape[3]), query.dtype).transpose(1, 2)


def _cell(gates):
    """lstm_cell and the like, whose weights stack so many gates: CUDA runs one fused kernel that has
    no fake form."""
    def cell(new, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        states = hx if isinstance(hx, (list, tuple)) else [hx]
        hidden = states[0]
        width = hidden.shape[-1] if hidden.dim() else 0
        if input.dim() not in (1, 2) or hidden.shape[:-1] != input.shape[:-1] or not width \
                or any(t.shape != hidden.shape for t in states) \
                or w_ih.shape != (gates * width, input.shape[-1]) \
                or w_hh.shape != (gates * width, width) \
                or not _alike(input, *states, w_ih, w_hh, b_ih, b_hh) \
                or (b_ih is None) != (b_hh is None) \
                or any(t is not None and t.shape != w_ih.shape[:1] for t in (b_ih, b_hh)):
            return None
        made = tuple(new(t.shape, t.dtype) for t in states)
        return made if isinstance(hx, (list, tuple)) else made[0]

    return cell


def _lstm(new, input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
          batch_first):
    """A torch with CUDA gives hidden states a dimension too many."""
    if input.dim() != 3 or len(hx) != 2 or any(t.dim() != 3 for t in hx) \
            or not _alike(input, *hx, *params):
        return None
    length, batch = input.shape[:2] if not batch_first else (input.shape[1], input.shape[0])
    directions = 2 if bidirectional else 1
    if any(t.shape[:2] != (num_layers * directions, batch) for t in hx):
        return None
    given, cell = hx[0].shape[2], hx[1].shape[2]  # the same without a projection
    wanted, width = [], input.shape[2]
    for _ in range(num_layers):
        one = [(4 * cell, width), (4 * cell, given)] + [(4 * cell,)] * (2 * has_biases) \
            + [(given, cell)] * (given != cell)
        wanted += one * directions
        width = given * directions
    if [tuple(t.shape) for t in params] != wanted:
        return None
    output = new((length, batch, width), input.dtype)
    return (output.transpose(0, 1) if batch_first else output,
            *(new(t.shape, t.dtype) for t in hx))


def _grid_sampler(new, input, grid, interpolation_mode, padding_mode, align_corners):
    """A torch with CUDA asks the device whether cuDNN may do it."""
    modes = (0, 1, 2) if input.dim() == 4 else (0, 1)  # bicubic is for planes only
    if input.dim() not in (4, 5) or grid.dim() != input.dim() or not _alike(input, grid) \
            or grid.shape[0] != input.shape[0] or grid.shape[-1] != input.dim() - 2 \
            or 0 in input.shape[2:] or interpolation_mode not in modes \
            or padding_mode not in (0, 1, 2):
        return None
    return new((*input.shape[:2], *grid.shape[1:-1]), input.dtype)


def _ctc_loss(new, log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1,
              zero_infinity=False):
    return new(() if reduction else log_probs.shape[1:-1], log_probs.dtype)


def _affine_grid(new, theta, size, align_corners):
    """PyTorch's code makes a tensor on the device where a dimension has one element."""
    if not _on_device(theta) or theta.dim() != 3:
        return None
    return new((size[0], *size[2:], len(size) - 2), theta.dtype)


def _copysign(new, input, other):
    """PyTorch's reference code takes the second operand's layout where the two differ; the operator
    itself, as any of two operands, the first one's."""
    return torch.ops.aten.atan2.default(input, other)


def _named(function, names):
    return {"aten." + name: function for name in names.split()}


_SHORTCUTS = {
    **_named(_filled, "fill_.Scalar zero_.default"),
    **_named(_drawn, "uniform_.default normal_.default bernoulli_.float exponential_.default"),
    **_named(_made, "empty.memory_format zeros.default ones.default"),
    **_named(_random, "randn.default rand.default"),
    **_named(_full, "full.default"),
    **_named(_like, "empty_like.default zeros_like.default ones_like.default"),
    **_named(_random_like, "randn_like.default rand_like.default"),
    **_named(_elementwise, "add.Tensor sub.Tensor mul.Tensor div.Tensor maximum.default "
             "minimum.default pow.Tensor_Scalar relu.default sigmoid.default tanh.default "
             "silu.default mish.default elu.default celu.default selu.default "
             "leaky_relu.default hardtanh.default hardswish.default hardsigmoid.default "
             "relu6.default softplus.default log_sigmoid.default clamp_min.default "
             "clamp_max.default exp.default exp2.default expm1.default log.default log2.default "
             "log10.default log1p.default sqrt.default rsqrt.default reciprocal.default "
             "neg.default abs.default sin.default cos.default erf.default square.default "
             "round.default floor.default ceil.default sign.default"),
    **_named(_clamped, "clamp.default"),
    **_named(_gelu, "gelu.default"),
    **_named(_softmax, "softmax.int log_softmax.int"),
    **_named(_reduced, "mean.dim sum.dim_IntList"),
    **_named(_linear, "linear.default"),
    **_named(_layer_norm, "layer_norm.default"),
    **_named(_batch_norm, "batch_norm.default instance_norm.default"),
    **_named(_group_norm, "group_norm.default"),
    **_named(_convolution, "conv1d.default conv2d.default conv3d.default"),
    **_named(_attention, "scaled_dot_product_attention.default"),
    **_named(_cell(4), "lstm_cell.default"),
    **_named(_cell(3), "gru_cell.default"),
    **_named(_cell(1), "rnn_tanh_cell.default rnn_relu_cell.default"),
    **_named(_lstm, "lstm.input"),
    **_named(_affine_grid, "affine_grid_generator.default"),
    **_named(_copysign, "copysign.Tensor"),
    **_named(_grid_sampler, "grid_sampler.default"),
    **_named(_ctc_loss, "ctc_loss.IntList ctc_loss.Tensor"),
}
