#!/usr/bin/env python3
"""Golden vectors of a tokenizer trained here (src/formats/tokens/bpe_trainer.h), made with Hugging Face's
tokenizers.

    scripts/make_bpe_vectors.py build/bpe_train OUT

trains on OUT/corpus.txt (made of tests/corpora/honest where there is none yet), and writes OUT/tokenizer.json and
OUT/vectors.json, texts with their tokens as tokenizers has them. tokenizers is not part of the
project's set-up.

    scripts/make_bpe_vectors.py --compare TOKENIZER.json FILE...

writes to stdout, as JSON, what tokenizers makes of each line of these files, and of random texts.
"""

import json
import pathlib
import random
import subprocess
import sys

from tokenizers import Tokenizer

from make_tokenizer_vectors import CODE, LETTERS, TEXTS

SIZE = 1024
# Where listed numbers and types stand alone, and where they do not.
PARTS = ["1024", "16", "32", "64", "7", "0", "float32", "int8", "bfloat16", "x", "_", ".", " ", "  ", "\n", "\r\n", "\t",
         "tl.", "(", ")", ":", "=", "==", "e-05", "BLOCK", "\u0663", "\u00b2", "\u00e9", "\u4e2d", "\u0301", "log2", "exp2", "<|plan|>", "<|pla",
         "\U0001f642", "\u00a0", "    ", "#", "'", "\\", "-"]
MORE = ["1024", "11024", "10240", "x16", "x16y", "128x64", "0.128", "1_024", "0x1024", "float32", "bfloat32", "float32x",
        "tl.float32)", " float32 ", "float16_t", "int64,int32", "float8e4nv float8e5", "16 32 64", "16.32", "\u066316", "16\u0663", "\u00b216",
        "\u00e9float32", "float32\u0301", "\n    x", "\n\n\n        return x\n", "\r\r\n\n", "x  # 2", "    \n", " \t x", "\x0b\x0c\x1c",
        "<|plan|>family: rows\n<|code|>x<|endoftext|>", "<|im_start|><|im_start|>", "<|im_start", "a" * 200, "=" * 200, " " * 200,
        "_" * 100, "1024" * 20, "\u2028\u2029\u0085"]


def random_texts(draw, count):
    for _ in range(count):
        yield "".join(draw.choice(PARTS) for _ in range(draw.randint(1, 12)))
        yield "".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 40)))


def encoded(tokenizer, texts):
    return [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]


def make_corpus(path):
    root = pathlib.Path(__file__).resolve().parent.parent
    files = sorted((root / "tests/corpora/honest").rglob("*.py"))
    path.write_text("".join(file.read_text() for file in files)[:80000])


def main():
    draw = random.Random(7)
    if sys.argv[1] == "--compare":
        lines = [line for name in sys.argv[3:] for line in open(name, newline="").read().splitlines(keepends=True)]
        json.dump(encoded(Tokenizer.from_file(sys.argv[2]), [*lines, *random_texts(draw, 20000)]), sys.stdout)
        return
    train, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    corpus = out / "corpus.txt"
    if not corpus.exists():
        make_corpus(corpus)
    file = out / "tokenizer.json"
    file.write_bytes(subprocess.run([train, str(SIZE), str(corpus)], check=True, stdout=subprocess.PIPE).stdout)
    tokenizer = Tokenizer.from_file(str(file))
    assert tokenizer.get_vocab_size() == SIZE
    vectors = encoded(tokenizer, [*TEXTS, CODE, *MORE, *random_texts(draw, 150)])
    for each in vectors:
        assert tokenizer.decode(each["ids"], skip_special_tokens=False) == each["text"], each
    (out / "vectors.json").write_text(json.dumps(vectors, separators=(",", ":")) + "\n")
    print(len(vectors), "texts")


if __name__ == "__main__":
    main()
