"""Results of operators whose metadata is known at once.

FakeTensorMode takes these apart to find out, which is slow; and for attention the strides it finds
are those of the plain formula, not of CUDA's fused kernels. Each function takes the operator's
arguments and gives its result, or None to let FakeTensorMode look (and complain).
"""

import torch

_HALF = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float32, *_HALF)


def _linear(input, weight, bias=None):
    if input.dim() < 2 or weight.dim() != 2 or input.shape[-1] != weight.shape[1] \
            or not input.is_contiguous() or input.dtype != weight.dtype:
        return None
    if bias is not None and (bias.dtype != input.dtype or bias.shape != weight.shape[:1]):
        return None
    return input.new_empty((*input.shape[:-1], weight.shape[0]))


def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape):]) != shape or not input.is_contiguous():
        return None
    for tensor in (weight, bias):
        if tensor is not None and (tuple(tensor.shape) != shape or tensor.dtype != input.dtype):
            return None
    return torch.empty_like(input)


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
               enable_gqa=False):
    batch, heads, length, width = query.shape if query.dim() == 4 else (0, 0, 0, 0)
    if not batch or not key.dim() == value.dim() == 4 or query.dtype not in _FLOATS \
            or not query.dtype == key.dtype == value.dtype or enable_gqa \
            or key.shape[:2] != query.shape[:2] or value.shape[:3] != key.shape[:3] \
            or key.shape[3] != width or width * query.element_size() % 16 \
            or value.shape[3] * query.element_size() % 16 \
            or (attn_mask is not None and (is_causal or attn_mask.dim() > 4)):
        return None
    if query.dtype in _HALF and attn_mask is None and value.shape[3] == width:
        return torch.empty_like(query.transpose(1, 2)).transpose(1, 2)  # flash attention
    return query.new_empty((batch, length, heads, value.shape[3])).transpose(1, 2)


def _cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """gru_cell and the like: CUDA runs one fused kernel that has no fake form."""
    hidden = hx[0] if isinstance(hx, (list, tuple)) else hx
    if input.dim() not in (1, 2) or hidden.dim() != input.dim() or w_hh.dim() != 2 \
            or input.shape[-1] != w_ih.shape[1] or hidden.shape[-1] != w_hh.shape[1] \
            or w_ih.shape[0] != w_hh.shape[0] or input.shape[:-1] != hidden.shape[:-1]:
        return None
    made = hidden.new_empty(hidden.shape)
    return (made, hidden.new_empty(hidden.shape)) if isinstance(hx, (list, tuple)) else made


def _lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """A torch with CUDA gives hidden states a dimension too many."""
    if input.dim() != 3 or len(hx) != 2 or any(t.dim() != 3 for t in hx):
        return None
    length, batch = input.shape[:2] if not batch_first else (input.shape[1], input.shape[0])
    layers = num_layers * (2 if bidirectional else 1)
    if any(t.shape[:2] != (layers, batch) for t in hx) or input.dtype != hx[0].dtype \
            or not params or params[0].dim() != 2 or params[0].shape[1] != input.shape[2]:
        return None
    width = hx[0].shape[2] * (2 if bidirectional else 1)
    output = input.new_empty((length, batch, width))
    return (output.transpose(0, 1) if batch_first else output,
            *(t.new_empty(t.shape) for t in hx))


def _grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """A torch with CUDA asks the device whether cuDNN may do it."""
    if input.dim() not in (4, 5) or grid.dim() != input.dim() or input.dtype != grid.dtype \
            or grid.shape[0] != input.shape[0] or grid.shape[-1] != input.dim() - 2:
        return None
    return input.new_empty((*input.shape[:2], *grid.shape[1:-1]))


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1,
              zero_infinity=False):
    return log_probs.new_empty(() if reduction else log_probs.shape[1:-1])


SHORTCUTS = {"aten.linear.default": _linear, "aten.layer_norm.default": _layer_norm,
             "aten.scaled_dot_product_attention.default": _attention,
             "aten.grid_sampler.default": _grid_sampler, "aten.lstm.input": _lstm, "aten.lstm_cell.default": _cell, "aten.gru_cell.default": _cell,
             "aten.ctc_loss.IntList": _ctc_loss, "aten.rnn_tanh_cell.default": _cell, "aten.rnn_relu_cell.default": _cell}
