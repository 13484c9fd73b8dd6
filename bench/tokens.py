#!/usr/bin/env python3
"""How many tokens a task and the teacher's answer take, by level, in each kind of tokens.

    bench/tokens.py BUILD [TOKENIZER]      needs the package tokenizers

Draws programs (seed 7, 2^24 to 2^35 FLOPs), trains tokenizers of 4096 on their texts, of words and of runs, and
prints a line for each; TOKENIZER, such as models/embedded/tokenizer.json, is counted too.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from files import read_conversations
from tokenizers import Tokenizer

PROGRAMS = {1: 1200, 2: 500, 5: 400, 20: 120}


def main():
    build = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        pairs = {}
        for level, count in PROGRAMS.items():
            out = folder / ("level%d.jsonl" % level)
            subprocess.run([build / "train_pairs", "--levels", str(level), "--count", str(count), "--schedules", "1",
                            "--low", "24", "--high", "35", "--seed", "7", "--out", out], check=True)
            pairs[level] = read_conversations(out)
        corpus = folder / "corpus.txt"
        corpus.write_text("".join(row["prompt"] + row["plan"] + row["code"] + "\n"
                                  for rows in pairs.values() for row in rows))
        made = {}
        for name, flags in (("words", []), ("runs", ["--runs"])):
            made[name] = folder / (name + ".json")
            with made[name].open("w") as out:
                subprocess.run([build / "bpe_train", *flags, "4096", corpus], stdout=out, stderr=subprocess.DEVNULL,
                               check=True)
        if len(sys.argv) > 2:
            made[sys.argv[2]] = sys.argv[2]
        for name, path in made.items():
            tokenizer = Tokenizer.from_file(str(path))
            for level, rows in pairs.items():
                counts = [sum(len(tokenizer.encode(row[part]).ids) for part in ("prompt", "plan", "code"))
                          for row in rows]
                code = sum(len(tokenizer.encode(row["code"]).ids) for row in rows)
                print("%s: %d tokens; level %d, %d answers: %.2f characters of code a token, %.0f tokens in the mean, "
                      "%.1f %% fit 4096, %.1f %% fit 8192" % (
                          name, tokenizer.get_vocab_size(), level, len(rows),
                          sum(len(row["code"]) for row in rows) / code, sum(counts) / len(counts),
                          *(100 * sum(n + 2 <= most for n in counts) / len(counts) for most in (4096, 8192))),
                      flush=True)


if __name__ == "__main__":
    main()
