#!/usr/bin/env python3
"""Tokens a second of learning and writing, beside the same model in plain PyTorch, in one run.

    bench/learning.py TRAIN_MEASURE [--out FILE]

The embedded model's shape with random numbers, on a GPU. Learning: steps of 65536 tokens in bfloat16,
as 16 texts of 4096 tokens and as 128 of 512, AdamW, gradients cut to norm 1; the peer is transformers'
Qwen3ForCausalLM with scaled_dot_product_attention, fused AdamW and a loop as anybody writes it, as it is
and compiled by torch.compile. Writing: 128 answers of 512 tokens to prompts of 128; the peer is
generate() with sampling, as it comes and with a static cache (which transformers compiles).

FLOPs of a token that is learned: 6 for each parameter but the embedding's look-up, and 12 * layers * width *
half the text's length for causal attention (Chowdhery et al., arXiv:2204.02311, appendix B). A share of
peak is of dense bfloat16, 989 TFLOP/s by the H100's and H200's datasheets.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent
PEAK = 989e12
STEPS = 10


def make_model(folder):
    config = transformers.Qwen3Config(
        vocab_size=4096, hidden_size=384, num_hidden_layers=8, num_attention_heads=6, num_key_value_heads=2,
        head_dim=64, intermediate_size=1024, max_position_embeddings=8192, tie_word_embeddings=True,
        rope_theta=10000.0, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    torch.manual_seed(1)
    transformers.Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    shutil.copy(ROOT / "models/embedded/tokenizer.json", folder)


def load(folder):
    return transformers.Qwen3ForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, attn_implementation="sdpa").cuda()


def peer_learning(folder, rows, length, compiled):
    model = load(folder)
    model.train()
    run = torch.compile(model) if compiled else model
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(0, 4096, (rows, length), device="cuda")

    def step():
        loss = run(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        return loss.item()

    for _ in range(2):
        step()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - start) / STEPS


@torch.inference_mode()
def peer_writing(folder, answers, prompt, tokens, **how):
    model = load(folder)
    model.eval()
    ids = torch.randint(0, 4096, (answers, prompt), device="cuda")
    arguments = dict(max_new_tokens=tokens, min_new_tokens=tokens, do_sample=True, top_k=0, **how)
    model.generate(ids, attention_mask=torch.ones_like(ids), **{**arguments, **dict(max_new_tokens=32, min_new_tokens=32)})
    torch.cuda.synchronize()
    start = time.perf_counter()
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **arguments)
    torch.cuda.synchronize()
    return (out.shape[1] - prompt) * answers / (time.perf_counter() - start)


def flops(parameters, length):
    return 6 * parameters + 12 * 8 * 384 * length / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", help="build/train_measure")
    parser.add_argument("--out", help="file for the figures (default: stdout)")
    flags = parser.parse_args()
    figures = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
               "transformers": transformers.__version__, "command": "bench/gpu.sh learning",
               "learning": [], "writing": []}

    def keep():
        text = json.dumps(figures, indent=1) + "\n"
        if flags.out:
            Path(flags.out).write_text(text)
        else:
            print(text)

    def ours(folder, **options):
        command = [flags.measure, "--model", folder, "--device", "cuda"]
        command += [word for name, value in options.items() for word in ("--" + name, str(value))]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        make_model(folder)
        for rows, length in ((16, 4096), (128, 512)):
            made = ours(folder, rows=rows, length=length, steps=STEPS, answers=0)["learning"]
            for who, seconds in (("kernelwright", made["seconds_per_step"]),
                                 ("PyTorch", peer_learning(folder, rows, length, False)),
                                 ("torch.compile", peer_learning(folder, rows, length, True))):
                rate = rows * length / seconds
                figures["learning"].append({
                    "who": who, "rows": rows, "length": length, "tokens_per_second": rate,
                    "share_of_peak": rate * flops(made["parameters"], length) / PEAK})
            keep()
        writing = ours(folder, steps=0, answers=128, prompt=128, tokens=512)["writing"]
        rates = {"kernelwright": writing["tokens"] / writing["seconds"],
                 "generate": peer_writing(folder, 128, 128, 512),
                 "generate, static cache": peer_writing(folder, 128, 128, 512, cache_implementation="static")}
        figures["writing"] = [{"who": who, "tokens_per_second": rate} for who, rate in rates.items()]
    keep()


if __name__ == "__main__":
    main()
