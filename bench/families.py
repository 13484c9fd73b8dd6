#!/usr/bin/env python3
"""Each family of the teacher on five real sizes: eager, torch.compile, the teacher's schedules and the
physical floor, in one run.

    python bench/families.py build/kernelwright --out families.json [--backend cuda]
        [--samples 12] [--only softmax,scan] [--tiny] [--keep DIR]
    python bench/families.py --largest families.json --keep DIR

Writes a model file for each row of FAMILIES and gives them all to `kernelwright eval --side-by-side
--explore 0.5 --baseline` (--no-baseline: without torch.compile, which takes most of the time): half
of the schedules are the teacher's favourites, half are drawn at random from its others, so that its
model of time can be held against the device (scripts/fit_schedules.py). With --only, rows of other
families stay in --out as they are. With --tiny, dimensions are cut to a few elements, for a machine
without a GPU. The second form only leaves in DIR the model of each family that took eager PyTorch
longest in such results.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

from files import write_whole

HALF = "dtype=torch.bfloat16"

# family -> (name, dimensions, members, arguments, result, inputs). Sizes are those of the named
# network, at a batch that fills the device; "members" are statements of __init__.
FAMILIES = {
    "pointwise": [
        ("bert_gelu", "B=32 T=512 C=3072", "", "x", "F.gelu(x)", "torch.randn(B, T, C)"),
        ("llama_swiglu", "B=2 T=2048 C=11008", "", "gate, up", "F.silu(gate) * up",
         f"torch.randn(B, T, C, {HALF}), torch.randn(B, T, C, {HALF})"),
        ("gpt2_bias_residual", "B=8 T=1024 C=768", "self.bias = nn.Parameter(torch.randn(C))",
         "x, residual", "x + self.bias + residual", "torch.randn(B, T, C), torch.randn(B, T, C)"),
        ("efficientnet_swish", "B=64 C=96 H=112", "", "x", "x * torch.sigmoid(x)",
         "torch.randn(B, C, H, H)"),
        ("squeeze_excite", "B=64 C=256 H=56", "", "x, gate", "x * torch.sigmoid(gate)[:, :, None, None]",
         "torch.randn(B, C, H, H), torch.randn(B, C)"),
    ],
    "reduction": [
        ("resnet_pool", "B=256 C=2048 H=7", "", "x", "x.mean((2, 3))", "torch.randn(B, C, H, H)"),
        ("channel_mean", "B=64 C=256 H=56", "", "x", "x.mean((0, 2, 3))", "torch.randn(B, C, H, H)"),
        ("clip_norm", "B=16384 C=768", "", "x", "x.norm(dim=-1)", "torch.randn(B, C)"),
        ("vit_token_mean", "B=256 T=197 C=768", "", "x", "x.mean(1)", "torch.randn(B, T, C)"),
        ("gradient_norm", "C=25557032", "", "x", "(x * x).sum()", "torch.randn(C)"),
    ],
    "normalisation": [
        ("bert_layer_norm", "B=32 T=512 C=768", "self.norm = nn.LayerNorm(C)", "x", "self.norm(x)",
         "torch.randn(B, T, C)"),
        ("gpt2_xl_add_norm", "B=8 T=1024 C=1600", "self.norm = nn.LayerNorm(C)", "x, y",
         "self.norm(x + y)", "torch.randn(B, T, C), torch.randn(B, T, C)"),
        ("llama_rms_norm", "B=4 T=2048 C=4096", "self.norm = nn.RMSNorm(C, 1e-5, dtype=torch.bfloat16)",
         "x", "self.norm(x)", f"torch.randn(B, T, C, {HALF})"),
        ("unet_group_norm", "B=8 C=320 H=64", "self.norm = nn.GroupNorm(32, C)", "x",
         "F.silu(self.norm(x))", "torch.randn(B, C, H, H)"),
        ("style_instance_norm", "B=16 C=128 H=128", "self.norm = nn.InstanceNorm2d(C)", "x",
         "self.norm(x)", "torch.randn(B, C, H, H)"),
    ],
    "softmax": [
        ("bert_scores", "B=32 E=12 T=512", "", "x, mask", "torch.softmax(x * 0.125 + mask, -1)",
         "torch.randn(B, E, T, T), torch.randn(B, 1, 1, T)"),
        ("llama_scores", "B=1 E=32 T=1024", "", "x", "torch.softmax(x.float(), -1).to(x.dtype)",
         f"torch.randn(B, E, T, T, {HALF})"),
        ("gpt2_vocabulary", "B=1024 V=50257", "", "x", "torch.log_softmax(x, -1)", "torch.randn(B, V)"),
        ("imagenet_classes", "B=8192 V=1000", "", "x", "torch.softmax(x, -1)", "torch.randn(B, V)"),
        ("deeplab_classes", "B=8 V=21 H=513", "", "x", "torch.softmax(x, 1)",
         "torch.randn(B, V, H, H)"),
    ],
    "scan": [
        ("top_p_mass", "B=256 V=50257", "", "x", "torch.cumsum(x, -1)", "torch.rand(B, V)"),
        ("linear_attention_state", "B=4 E=16 T=4096 C=64", "", "x", "torch.cumsum(x, 2)",
         "torch.randn(B, E, T, C)"),
        ("mamba_state", "B=8 T=2048 C=1536", "", "x", "torch.cumsum(x, 1)", "torch.randn(B, T, C)"),
        ("nerf_transmittance", "B=65536 T=192", "", "x", "torch.cumprod(1 - x, -1)",
         "torch.rand(B, T) * 0.1"),
        ("long_audio", "B=8 T=960000", "", "x", "torch.cumsum(x, -1)", "torch.randn(B, T)"),
    ],
    "arg-reduction": [
        ("gpt2_greedy", "B=512 V=50257", "", "x", "torch.argmax(x, -1)", "torch.randn(B, V)"),
        ("llama3_greedy", "B=64 V=128256", "", "x", "torch.argmax(x, -1)", "torch.randn(B, V)"),
        ("deeplab_labels", "B=8 V=21 H=513", "", "x", "torch.argmax(x, 1)", "torch.randn(B, V, H, H)"),
        ("vq_nearest", "B=32768 V=1024", "", "x", "torch.argmin(x, -1)", "torch.rand(B, V)"),
        ("pose_heatmaps", "B=256 C=17 H=64", "", "x", "x.flatten(2).max(-1).indices",
         "torch.randn(B, C, H, H)"),
    ],
    "matmul fp32": [
        ("bert_ffn", "B=4096 C=768 O=3072", "self.fc = nn.Linear(C, O)", "x", "F.gelu(self.fc(x))",
         "torch.randn(B, C)"),
        ("bert_projection", "B=16384 C=768 O=768", "self.fc = nn.Linear(C, O)", "x", "self.fc(x)",
         "torch.randn(B, C)"),
        ("gpt2_head", "B=1024 C=768 O=50257", "self.fc = nn.Linear(C, O, bias=False)", "x",
         "self.fc(x)", "torch.randn(B, C)"),
        ("resnet_classifier", "B=512 C=2048 O=1000", "self.fc = nn.Linear(C, O)", "x", "self.fc(x)",
         "torch.randn(B, C)"),
        ("llama_query", "B=2048 C=4096 O=4096", "self.fc = nn.Linear(C, O, bias=False)", "x",
         "self.fc(x)", "torch.randn(B, C)"),
    ],
    "matmul bf16": [
        ("llama_up", "B=4096 C=4096 O=11008", f"self.fc = nn.Linear(C, O, bias=False, {HALF})", "x",
         "self.fc(x)", f"torch.randn(B, C, {HALF})"),
        ("llama3_qkv", "B=4096 C=4096 O=6144", f"self.fc = nn.Linear(C, O, bias=False, {HALF})", "x",
         "self.fc(x)", f"torch.randn(B, C, {HALF})"),
        ("gpt2_xl_ffn", "B=8192 C=1600 O=6400", f"self.fc = nn.Linear(C, O, {HALF})", "x",
         'F.gelu(self.fc(x), approximate="tanh")', f"torch.randn(B, C, {HALF})"),
        ("bert_large_ffn", "B=8192 C=1024 O=4096", f"self.fc = nn.Linear(C, O, {HALF})", "x",
         "F.gelu(self.fc(x))", f"torch.randn(B, C, {HALF})"),
        ("llama_70b_output", "B=2048 C=8192 O=8192", f"self.fc = nn.Linear(C, O, bias=False, {HALF})",
         "x", "self.fc(x)", f"torch.randn(B, C, {HALF})"),
    ],
    "matmul batched": [
        ("bert_scores", "B=32 E=12 T=512 C=64", "", "q, k", "q @ k.transpose(-1, -2)",
         "torch.randn(B, E, T, C), torch.randn(B, E, T, C)"),
        ("bert_mix", "B=32 E=12 T=512 C=64", "", "p, v", "p @ v",
         "torch.rand(B, E, T, T), torch.randn(B, E, T, C)"),
        ("llama_scores", "B=1 E=32 T=2048 C=128", "", "q, k", "q @ k.transpose(-1, -2) * 0.088",
         f"torch.randn(B, E, T, C, {HALF}), torch.randn(B, E, T, C, {HALF})"),
        ("vit_scores", "B=64 E=12 T=197 C=64", "", "q, k", "q @ k.transpose(-1, -2)",
         "torch.randn(B, E, T, C), torch.randn(B, E, T, C)"),
        ("mixtral_experts", "E=8 T=512 C=4096 O=14336", "", "x, w", "torch.bmm(x, w)",
         f"torch.randn(E, T, C, {HALF}), torch.randn(E, C, O, {HALF})"),
    ],
    "matmul split": [
        ("vgg_fc6", "B=32 C=25088 O=4096", "self.fc = nn.Linear(C, O)", "x", "torch.relu(self.fc(x))",
         "torch.randn(B, C)"),
        ("llama_decode_down", "B=16 C=11008 O=4096", f"self.fc = nn.Linear(C, O, bias=False, {HALF})",
         "x", "self.fc(x)", f"torch.randn(B, C, {HALF})"),
        ("gpt2_decode", "B=8 C=768 O=3072", "self.fc = nn.Linear(C, O)", "x", "self.fc(x)",
         "torch.randn(B, C)"),
        ("bert_weight_gradient", "B=65536 C=768 O=768", "", "x, dy", "dy.t() @ x",
         "torch.randn(B, C), torch.randn(B, O)"),
        ("llama_70b_decode_down", "B=8 C=28672 O=8192",
         f"self.fc = nn.Linear(C, O, bias=False, {HALF})", "x", "self.fc(x)",
         f"torch.randn(B, C, {HALF})"),
    ],
    "matmul then rows": [
        ("mixtral_router", "B=16384 C=4096 O=8", f"self.fc = nn.Linear(C, O, bias=False, {HALF})", "x",
         "torch.softmax(self.fc(x), -1)", f"torch.randn(B, C, {HALF})"),
        ("switch_router", "B=8192 C=768 O=128", "self.fc = nn.Linear(C, O, bias=False)", "x",
         "torch.softmax(self.fc(x), -1)", "torch.randn(B, C)"),
        ("deepseek_router", "B=4096 C=2048 O=64", "self.fc = nn.Linear(C, O, bias=False)", "x",
         "torch.softmax(self.fc(x), -1)", "torch.randn(B, C)"),
        ("simclr_head", "B=8192 C=2048 O=128", "self.fc = nn.Linear(C, O)", "x",
         "F.normalize(self.fc(x), dim=-1)", "torch.randn(B, C)"),
        ("perceiver_projection", "B=16384 C=512 O=256",
         "self.fc, self.norm = nn.Linear(C, O), nn.LayerNorm(O)", "x", "self.norm(self.fc(x))",
         "torch.randn(B, C)"),
    ],
    "convolution 1d": [
        ("wav2vec2_features", "B=8 C=512 L=6399", "self.conv = nn.Conv1d(C, C, 3, stride=2, bias=False)",
         "x", "F.gelu(self.conv(x))", "torch.randn(B, C, L)"),
        ("whisper_stem", "B=16 C=80 O=384 L=3000", "self.conv = nn.Conv1d(C, O, 3, padding=1)", "x",
         "F.gelu(self.conv(x))", "torch.randn(B, C, L)"),
        ("whisper_second", "B=16 C=384 L=3000", "self.conv = nn.Conv1d(C, C, 3, stride=2, padding=1)",
         "x", "F.gelu(self.conv(x))", "torch.randn(B, C, L)"),
        ("tcn_dilated", "B=32 C=256 L=2048",
         "self.conv = nn.Conv1d(C, C, 3, padding=4, dilation=4)", "x", "torch.relu(self.conv(x))",
         "torch.randn(B, C, L)"),
        ("hifigan_residual", "B=16 C=128 L=8192", "self.conv = nn.Conv1d(C, C, 7, padding=3)", "x",
         "self.conv(F.leaky_relu(x, 0.1))", "torch.randn(B, C, L)"),
    ],
    "convolution 2d": [
        ("resnet_stem", "B=64 H=224", "self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)", "x",
         "self.conv(x)", "torch.randn(B, 3, H, H)"),
        ("resnet_3x3", "B=64 C=128 H=28", "self.conv = nn.Conv2d(C, C, 3, padding=1, bias=False)", "x",
         "self.conv(x)", "torch.randn(B, C, H, H)"),
        ("resnet_1x1", "B=64 C=256 O=64 H=56", "self.conv = nn.Conv2d(C, O, 1, bias=False)", "x",
         "self.conv(x)", "torch.randn(B, C, H, H)"),
        ("vgg_3x3_relu", "B=16 C=64 H=224", "self.conv = nn.Conv2d(C, C, 3, padding=1)", "x",
         "torch.relu(self.conv(x))", "torch.randn(B, C, H, H)"),
        ("diffusion_3x3", "B=8 C=320 H=64", f"self.conv = nn.Conv2d(C, C, 3, padding=1, {HALF})", "x",
         "F.silu(self.conv(x))", f"torch.randn(B, C, H, H, {HALF})"),
    ],
    "convolution 3d": [
        ("c3d_second", "B=4 C=64 O=128 D=16 H=56", "self.conv = nn.Conv3d(C, O, 3, padding=1)", "x",
         "torch.relu(self.conv(x))", "torch.randn(B, C, D, H, H)"),
        ("unet3d_encoder", "B=1 C=32 O=64 D=64 H=64", "self.conv = nn.Conv3d(C, O, 3, padding=1)", "x",
         "torch.relu(self.conv(x))", "torch.randn(B, C, D, H, H)"),
        ("r2plus1d_time", "B=8 C=144 O=64 D=8 H=56",
         "self.conv = nn.Conv3d(C, O, (3, 1, 1), padding=(1, 0, 0), bias=False)", "x", "self.conv(x)",
         "torch.randn(B, C, D, H, H)"),
        ("slowfast_stem", "B=4 D=32 H=112",
         "self.conv = nn.Conv3d(3, 8, (5, 7, 7), (1, 2, 2), (2, 3, 3), bias=False)", "x",
         "self.conv(x)", "torch.randn(B, 3, D, H, H)"),
        ("i3d_1x1", "B=4 C=192 O=96 D=16 H=28", "self.conv = nn.Conv3d(C, O, 1)", "x",
         "torch.relu(self.conv(x))", "torch.randn(B, C, D, H, H)"),
    ],
    "transposed convolution": [
        ("dcgan_second", "B=64 C=512 O=256 H=8",
         "self.conv = nn.ConvTranspose2d(C, O, 4, 2, 1, bias=False)", "x", "self.conv(x)",
         "torch.randn(B, C, H, H)"),
        ("dcgan_image", "B=64 C=64 O=3 H=32", "self.conv = nn.ConvTranspose2d(C, O, 4, 2, 1, bias=False)",
         "x", "torch.tanh(self.conv(x))", "torch.randn(B, C, H, H)"),
        ("unet_up", "B=8 C=128 O=64 H=128", "self.conv = nn.ConvTranspose2d(C, O, 2, 2)", "x",
         "self.conv(x)", "torch.randn(B, C, H, H)"),
        ("hifigan_up", "B=16 C=512 O=256 L=128", "self.conv = nn.ConvTranspose1d(C, O, 16, 8, 4)", "x",
         "self.conv(F.leaky_relu(x, 0.1))", "torch.randn(B, C, L)"),
        ("unet3d_up", "B=2 C=64 O=32 D=32 H=32", "self.conv = nn.ConvTranspose3d(C, O, 2, 2)", "x",
         "self.conv(x)", "torch.randn(B, C, D, H, H)"),
    ],
    "stencil": [
        ("mobilenet_3x3", "B=64 C=144 H=56", "self.conv = nn.Conv2d(C, C, 3, padding=1, groups=C, bias=False)",
         "x", "F.relu6(self.conv(x))", "torch.randn(B, C, H, H)"),
        ("efficientnet_5x5", "B=64 C=240 H=28",
         "self.conv = nn.Conv2d(C, C, 5, stride=2, padding=2, groups=C, bias=False)", "x",
         "F.silu(self.conv(x))", "torch.randn(B, C, H, H)"),
        ("convnext_7x7", "B=32 C=96 H=56", "self.conv = nn.Conv2d(C, C, 7, padding=3, groups=C)", "x",
         "self.conv(x)", "torch.randn(B, C, H, H)"),
        ("mamba_conv", "B=8 C=1536 L=2048", "self.conv = nn.Conv1d(C, C, 4, padding=3, groups=C)", "x",
         "F.silu(self.conv(x))", "torch.randn(B, C, L)"),
        ("x3d_time", "B=8 C=54 D=16 H=56",
         "self.conv = nn.Conv3d(C, C, 3, padding=1, groups=C, bias=False)", "x", "self.conv(x)",
         "torch.randn(B, C, D, H, H)"),
    ],
    "pooling": [
        ("resnet_max", "B=64 C=64 H=112", "", "x", "F.max_pool2d(x, 3, 2, 1)", "torch.randn(B, C, H, H)"),
        ("vgg_max", "B=16 C=64 H=224", "", "x", "F.max_pool2d(x, 2)", "torch.randn(B, C, H, H)"),
        ("inception_average", "B=64 C=288 H=35", "", "x", "F.avg_pool2d(x, 3, 1, 1)",
         "torch.randn(B, C, H, H)"),
        ("c3d_max", "B=8 C=64 D=16 H=112", "", "x", "F.max_pool3d(x, (1, 2, 2))",
         "torch.randn(B, C, D, H, H)"),
        ("pspnet_adaptive", "B=8 C=2048 H=60", "", "x", "F.adaptive_avg_pool2d(x, 6)",
         "torch.randn(B, C, H, H)"),
    ],
    "copies": [
        ("bert_heads", "B=32 E=12 T=512 C=64", "", "x", "x.permute(0, 2, 1, 3).contiguous()",
         "torch.randn(B, T, E, C)"),
        ("channels_first", "B=64 C=96 H=56", "", "x", "x.permute(0, 3, 1, 2).contiguous()",
         "torch.randn(B, H, H, C)"),
        ("unet_skip", "B=8 C=64 H=256", "", "x, y", "torch.cat([x, y], 1)",
         "torch.randn(B, C, H, H), torch.randn(B, C, H, H)"),
        ("cyclegan_pad", "B=8 C=64 H=256", "", "x", 'F.pad(x, (3, 3, 3, 3), mode="reflect")',
         "torch.randn(B, C, H, H)"),
        ("espcn_shuffle", "B=4 C=256 H=128", "", "x", "F.pixel_shuffle(x, 2)",
         "torch.randn(B, C, H, H)"),
    ],
    "resampling": [
        ("fpn_nearest", "B=8 C=256 H=64", "", "x", 'F.interpolate(x, scale_factor=2, mode="nearest")',
         "torch.randn(B, C, H, H)"),
        ("diffusion_nearest", "B=4 C=512 H=64", "", "x",
         'F.interpolate(x, scale_factor=2, mode="nearest")', f"torch.randn(B, C, H, H, {HALF})"),
        ("unet_bilinear", "B=8 C=64 H=128", "", "x",
         'F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)',
         "torch.randn(B, C, H, H)"),
        ("deeplab_bilinear", "B=8 V=21 H=129", "", "x",
         'F.interpolate(x, size=(4 * H - 3, 4 * H - 3), mode="bilinear")', "torch.randn(B, V, H, H)"),
        ("depth_bicubic", "B=16 C=3 H=224", "", "x",
         'F.interpolate(x, scale_factor=1.5, mode="bicubic", align_corners=False)',
         "torch.randn(B, C, H, H)"),
    ],
    "lookup": [
        ("bert_words", "B=32 T=512 C=768", "self.table = nn.Embedding(30522, C)", "ids",
         "self.table(ids)", "torch.randint(0, 30522, (B, T))"),
        ("gpt2_positions", "B=8 T=1024 C=768",
         "self.words, self.places = nn.Embedding(50257, C), nn.Embedding(T, C)", "ids, places",
         "self.words(ids) + self.places(places)",
         "torch.randint(0, 50257, (B, T)), torch.arange(T)"),
        ("llama3_words", "B=4 T=2048 C=4096", f"self.table = nn.Embedding(32000, C, {HALF})", "ids",
         "self.table(ids)", "torch.randint(0, 32000, (B, T))"),
        ("graph_messages", "B=262144 C=128", "", "x, edges", "x.index_select(0, edges)",
         "torch.randn(169343, C), torch.randint(0, 169343, (B,))"),
        ("shuffled_patches", "B=256 T=196 C=768", "", "x, order",
         "torch.gather(x, 1, order[:, :, None].expand(-1, -1, x.shape[2]))",
         "torch.randn(B, T, C), torch.randint(0, T, (B, T))"),
    ],
    "matmul wide rows": [
        ("gpt2_loss", "B=8192 C=768 V=50257", "self.fc = nn.Linear(C, V, bias=False)", "x, y",
         "F.cross_entropy(self.fc(x), y)", "torch.randn(B, C), torch.randint(0, V, (B,))"),
        ("bert_masked_loss", "B=4096 C=768 V=30522", "self.fc = nn.Linear(C, V)", "x, y",
         "F.cross_entropy(self.fc(x), y)", "torch.randn(B, C), torch.randint(0, V, (B,))"),
        ("llama3_loss", "B=2048 C=4096 V=128256", f"self.fc = nn.Linear(C, V, bias=False, {HALF})",
         "x, y", "F.cross_entropy(self.fc(x).float(), y)",
         f"torch.randn(B, C, {HALF}), torch.randint(0, V, (B,))"),
        ("clip_contrast", "B=16384 C=512", "", "x, y", "torch.logsumexp(x @ y.t() * 14.3, -1)",
         "F.normalize(torch.randn(B, C), dim=-1), F.normalize(torch.randn(B, C), dim=-1)"),
        ("vq_codes", "B=32768 C=256 V=8192", "self.codes = nn.Parameter(torch.randn(V, C))", "x",
         "(self.codes.square().sum(-1) - 2 * x @ self.codes.t()).argmin(-1)", "torch.randn(B, C)"),
    ],
    "loss": [
        ("gpt2_cross_entropy", "B=1024 V=50257", "", "x, y", 'F.cross_entropy(x, y, reduction="none")',
         "torch.randn(B, V), torch.randint(0, V, (B,))"),
        ("imagenet_smoothed", "B=4096 V=1000", "", "x, y", 
         'F.cross_entropy(x, y, reduction="none", label_smoothing=0.1)',
         "torch.randn(B, V), torch.randint(0, V, (B,))"),
        ("distillation", "B=1024 V=30522", "", "x, y",
         'F.kl_div(torch.log_softmax(x, -1), torch.softmax(y, -1), reduction="none").sum(-1)',
         "torch.randn(B, V), torch.randn(B, V)"),
        ("detection_bce", "B=64 C=80 L=8400", "", "x, y", "F.binary_cross_entropy_with_logits(x, y)",
         "torch.randn(B, C, L), torch.rand(B, C, L)"),
        ("autoencoder_mse", "B=64 C=3 H=512", "", "x, y", "F.mse_loss(x, y)",
         "torch.randn(B, C, H, H), torch.randn(B, C, H, H)"),
    ],
}

TINY = {"B": 3, "T": 10, "C": 32, "O": 24, "E": 2, "V": 21, "H": 12, "D": 5, "L": 40}

SOURCE = """import torch
import torch.nn as nn
import torch.nn.functional as F

{dims}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {members}

    def forward(self, {arguments}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def model_source(row, tiny):
    """The model file of a row of FAMILIES."""
    name, dims, members, arguments, result, inputs = row
    sizes = dict(item.split("=") for item in dims.split())
    if tiny:
        sizes = {k: min(int(v), TINY[k]) for k, v in sizes.items()}
    lines = "\n".join("%s = %s" % item for item in sizes.items())
    return SOURCE.format(dims=lines, members=members or "pass", arguments=arguments, result=result,
                         inputs=inputs)


def write_models(folder, families, tiny):
    """File -> (family, row), in the order of the table."""
    out = {}
    for family in families:
        for row in FAMILIES[family]:
            path = folder / ("%s-%s.py" % (family.replace(" ", "_"), row[0]))
            path.write_text(model_source(row, tiny))
            out[str(path)] = (family, row)
    return out


def largest(results):
    """Family -> its row that took eager PyTorch longest."""
    times = {(r["group"], r["name"]): r["eager_ms"] or 0 for r in json.loads(results.read_text())["models"]}
    return {family: max(rows, key=lambda row: times.get((family, row[0]), 0)) for family, rows in FAMILIES.items()}


def document_text(document):
    """JSON, a model a line."""
    head = json.dumps({k: v for k, v in document.items() if k != "models"}, indent=1)[:-2]
    rows = ",\n".join("  " + json.dumps(row) for row in document["models"])
    return head + ',\n "models": [\n' + rows + "\n ]\n}\n"


def evaluate(options, models, take):
    command = [options.kernelwright, "eval", "--json", "--side-by-side", "--coverage", "pure",
               "--backend", options.backend, "--samples", str(options.samples),
               "--explore", str(options.explore), "--seed", str(options.seed),
               "--trials", str(options.trials), "--batch", "10", *models]
    if options.backend == "cuda" and not options.no_baseline:
        command.append("--baseline")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        result = json.loads(line)
        if "summary" not in result:  # its last line
            take(result)
    return process.wait()


def environment(backend):
    import torch
    import triton

    cuda = backend == "cuda"
    return {"device": torch.cuda.get_device_name() if cuda else "CPU", "torch": torch.__version__,
            "triton": triton.__version__, "date": datetime.date.today().isoformat()}


def best_of(result):
    """The fastest sample that was judged in full; None when there is none."""
    right = [s for s in result["samples"] if s["in_full"] and s["outcome"] == "accepted"]
    return right[0] if right else None


def line_of(family, name, result):
    best = best_of(result)
    if best is None:
        reason = result["reason"] or next((s["reason"] for s in result["samples"]), "")
        return "%-24s %-24s %s: %s" % (family, name, result["outcome"], reason[:100])
    text = "%-24s %-24s %-11s %2d samples" % (family, name, best["family"], len(result["samples"]))
    if best["device_ms"]:
        ratios = [best[key] for key in ("speedup_eager", "speedup_compile")]
        text += "  %.3f ms" % best["device_ms"]
        text += "".join("  %.2fx" % r["estimate"] if r else "  -" for r in ratios)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright", nargs="?", help="the binary")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--backend", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--samples", type=int, default=12, help="schedules for each model")
    parser.add_argument("--explore", type=float, default=0.5, help="share of them drawn at random")
    parser.add_argument("--trials", type=int, default=2, help="of the fastest, before varied ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="families, separated by commas")
    parser.add_argument("--first", type=int, default=5, help="rows of each family")
    parser.add_argument("--no-baseline", action="store_true", help="leave torch.compile out")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the model files in this folder")
    parser.add_argument("--largest", type=pathlib.Path, help="results whose largest models are written")
    options = parser.parse_args()
    if options.largest:
        if not options.keep:
            parser.error("--largest: no --keep DIR for the models")
        options.keep.mkdir(parents=True, exist_ok=True)
        FAMILIES.update((family, [row]) for family, row in largest(options.largest).items())
        write_models(options.keep, FAMILIES, options.tiny)
        return 0
    if not options.kernelwright or not options.out:
        parser.error("no binary, or no --out FILE")
    families = options.only.split(",") if options.only else list(FAMILIES)
    unknown = [name for name in families if name not in FAMILIES]
    if unknown:
        parser.error("no family %r; there are: %s" % (unknown[0], ", ".join(FAMILIES)))
    for family in families:
        FAMILIES[family] = FAMILIES[family][: options.first]

    kept = []
    if options.out.exists():
        kept = [r for r in json.loads(options.out.read_text())["models"] if r["group"] not in families]
    document = {"command": " ".join(["bench/families.py", *sys.argv[1:]]),
                "environment": environment(options.backend), "models": kept}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        models = write_models(folder, families, options.tiny)

        def take(result):
            family, row = models[result.pop("model")]
            print("%s  (%.1f s)" % (line_of(family, row[0], result), result["judge_seconds"]),
                  flush=True)
            document["models"].append({"group": family, "name": row[0], "sizes": row[1],
                                       "forward": row[4], **result})
            write_whole(options.out, document_text(document))

        status = evaluate(options, list(models), take)
    fine = sum(best_of(r) is not None for r in document["models"])
    print("%d models, %d with a schedule that was accepted" % (len(document["models"]), fine))
    return status


if __name__ == "__main__":
    sys.exit(main())
