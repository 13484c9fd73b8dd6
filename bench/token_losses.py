#!/usr/bin/env python3
"""Where a model's loss lies: nats of plans and code by programs, and the tokens that it did not expect.

    build/train_pairs --count 150 --levels 1 --low 24 --high 28 --schedules 2 --seed 999 --out pairs.jsonl
    bench/token_losses.py models/embedded pairs.jsonl [--count N] [--show N]

Wants transformers and tokenizers beside torch, which the project itself does without. On a CPU, float32: an
answer takes half a second. The order of examples is drawn by a fixed seed.
"""

import argparse
import collections
import random

import tokenizers
import torch
import transformers
from files import read_conversations

UNEXPECTED = 0.3  # nats


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a Hugging Face folder")
    parser.add_argument("pairs", help="what train_pairs --out wrote")
    parser.add_argument("--count", type=int, default=200, help="pairs that are read")
    parser.add_argument("--show", type=int, default=40, help="programs, and tokens, that are printed")
    flags = parser.parse_args()
    tokenizer = tokenizers.Tokenizer.from_file(flags.model + "/tokenizer.json")
    model = transformers.AutoModelForCausalLM.from_pretrained(flags.model, dtype=torch.float32).eval()
    plan, code, end = (tokenizer.token_to_id(name) for name in ("<|plan|>", "<|code|>", "<|endoftext|>"))
    rows = read_conversations(flags.pairs)
    order = random.Random(0)
    order.shuffle(rows)
    nats, tokens = collections.Counter(), collections.Counter()
    by_program, unexpected = collections.defaultdict(list), []
    for row in rows[:flags.count]:
        texts = [tokenizer.encode(row[part], add_special_tokens=False).ids for part in ("prompt", "plan", "code")]
        ids = texts[0] + [plan] + texts[1] + [code] + texts[2] + [end]
        with torch.no_grad():
            scores = torch.log_softmax(model(torch.tensor([ids])).logits[0].float(), -1)
        loss = [0.0] + [-scores[i - 1, ids[i]].item() for i in range(1, len(ids))]
        asked = len(texts[0]) + 1
        begins = asked + len(texts[1]) + 1  # of the code
        for part, first, last in (("plan", asked, begins), ("code", begins, len(ids))):
            nats[part] += sum(loss[first:last])
            tokens[part] += last - first
        by_program[row["operators"]].append((sum(loss[begins:]), len(ids) - begins))
        for i in range(begins, len(ids)):
            if loss[i] > UNEXPECTED:
                before, own, guess = (tokenizer.decode(each, skip_special_tokens=False) for each in (
                    ids[max(asked, i - 14):i], [ids[i]], [scores[i - 1].argmax().item()]))
                unexpected.append((loss[i], row["operators"], before[-70:], own, guess))
    count = min(flags.count, len(rows))
    for part in ("plan", "code"):
        print("%s: %.2f nats an answer, %.0f tokens" % (part, nats[part] / count, tokens[part] / count))
    print("\ncode by programs, those first that cost most in all:")
    for name, found in sorted(by_program.items(), key=lambda item: -sum(x for x, _ in item[1]))[:flags.show]:
        print("%8.2f nats, %5d tokens, of %d: %s" % (
            sum(x for x, _ in found) / len(found), sum(n for _, n in found) / len(found), len(found), name))
    print("\n%d tokens of more than %.1f nats, %.0f nats in all; some of them:" % (
        len(unexpected), UNEXPECTED, sum(each[0] for each in unexpected)))
    order.shuffle(unexpected)
    for cost, name, before, own, guess in unexpected[:flags.show]:
        print("%.2f | %s | %r -> %r, where the model has %r" % (cost, name, before, own, guess))


if __name__ == "__main__":
    main()
