#!/usr/bin/env python3
"""Golden vectors of small random decoders, made with Hugging Face transformers, and of adapters to
them, made with PEFT.

    scripts/make_model_vectors.py OUT

writes for each family a folder as from_pretrained reads it, and beside its files vectors.json: token
ids, logits of every position in float32, and what greedy decoding says. transformers and peft are not
part of the project's set-up; the folders under tests/vectors/models are what this wrote.
"""

import json
import pathlib
import sys

import peft
import torch
import transformers

CONFIGS = {
    "llama": transformers.LlamaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=False,
        attention_bias=True, mlp_bias=True, eos_token_id=1, bos_token_id=0),
    "llama3": transformers.LlamaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=128, tie_word_embeddings=True,
        rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 32},
        eos_token_id=1, bos_token_id=0),
    "qwen2": transformers.Qwen2Config(
        vocab_size=97, hidden_size=48, intermediate_size=64, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True, eos_token_id=1,
        bos_token_id=0),
    "qwen3": transformers.Qwen3Config(
        vocab_size=97, hidden_size=32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, head_dim=24, max_position_embeddings=128, tie_word_embeddings=False,
        eos_token_id=1, bos_token_id=0),
}

# Adapters by family, of all matrices or of some.
ADAPTERS = {"qwen3_lora": ("qwen3", dict(r=3, lora_alpha=7, target_modules="all-linear")),
            "qwen2_lora": ("qwen2", dict(r=2, lora_alpha=2, target_modules=["v_proj", "down_proj"]))}


def write_vectors(folder, model):
    ids = torch.randint(2, model.config.vocab_size, (2, 40))
    with torch.no_grad():
        logits = model(input_ids=ids).logits
        greedy = model.generate(input_ids=ids[:, :7], attention_mask=torch.ones(2, 7, dtype=torch.long),
                                do_sample=False, max_new_tokens=24, eos_token_id=None, pad_token_id=0)
    vectors = {"transformers": transformers.__version__, "ids": ids.tolist(),
               "logits": [[[float("%.6g" % x) for x in row] for row in each] for each in logits.tolist()],
               "greedy": greedy.tolist()}
    (folder / "vectors.json").write_text(json.dumps(vectors) + "\n")
    print(folder.name, sum(p.numel() for p in model.parameters()))


def write_adapter(out, number, name):
    base, options = ADAPTERS[name]
    torch.manual_seed(100 + number)
    model = transformers.AutoModelForCausalLM.from_pretrained(out / base, dtype=torch.float32)
    model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **options)).eval()
    with torch.no_grad():  # B is zeros otherwise
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.peft_config["default"].base_model_name_or_path = "../" + base
    model.save_pretrained(out / name)
    (out / name / "README.md").unlink(missing_ok=True)
    write_vectors(out / name, model)


def main():
    out = pathlib.Path(sys.argv[1])
    for number, (name, config) in enumerate(CONFIGS.items()):
        torch.manual_seed(number)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
        with torch.no_grad():  # norms and biases are 1 and 0 otherwise
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        folder = out / name
        model.save_pretrained(folder)
        write_vectors(folder, model)
        (folder / "generation_config.json").unlink(missing_ok=True)
    for number, name in enumerate(ADAPTERS):
        write_adapter(out, number, name)


if __name__ == "__main__":
    main()
