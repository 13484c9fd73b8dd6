"""What PyTorch runs inside the domains that docs/synthesis.md states, the rules allow, with the same shape;
and what they allow, PyTorch runs. One call at a time, on small shapes of which many do not fit."""

import collections
import json
import os
import pathlib
import random
import subprocess

import pytest
import torch

from command import binary, run
from synth_calls import ANY_SHAPE as CSP_DAG_OF_ANY_SHAPE, CSP_DAG
from synth_further_calls import ANY_SHAPE as FURTHER_OF_ANY_SHAPE, FURTHER


def in_pytorch(shapes, call):
    """The result's shape; None where PyTorch refuses, or an element is missing."""
    try:
        result = call(*[torch.ones(each) for each in shapes])
    except (RuntimeError, ValueError, IndexError):
        return None
    return list(result.shape) if result.numel() > 0 else None


def ask_rules(calls):
    tool = pathlib.Path(os.environ.get("KW_BUILD_DIR", pathlib.Path(binary()).parent), "synth_allows")
    process = subprocess.run([tool], input="".join(json.dumps(call) + "\n" for call in calls), text=True,
                             capture_output=True, timeout=300)
    assert process.returncode == 0, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


CASES = CSP_DAG | FURTHER
ANY_SHAPE = CSP_DAG_OF_ANY_SHAPE | FURTHER_OF_ANY_SHAPE


def test_all_operators_are_tried():
    process = run("synth", "--only", "?", "--out", "/dev/null")
    assert process.returncode == 2
    assert set(CASES) == set(process.stderr.partition("; there are ")[2].split())
    assert len(CSP_DAG) == 61


@pytest.mark.filterwarnings("ignore:var", "ignore:std", "ignore:Using a target size")
@pytest.mark.parametrize("seed", [1, 2])
def test_rules_allow_what_pytorch_runs_and_no_more(seed):
    draw = random.Random(seed)
    calls, expected, domains = [], [], []
    for name, make in CASES.items():
        for _ in range(150):
            shapes, parameters, call, domain = make(draw, name)
            calls.append({"operator": name, "shapes": shapes, "parameters": parameters})
            expected.append(in_pytorch(shapes, call))
            domains.append(domain)
    counts = collections.Counter()
    for call, wanted, domain, found in zip(calls, expected, domains, ask_rules(calls), strict=True):
        assert found == (wanted if domain else None), (call, wanted, domain)
        counts[call["operator"], "allowed" if found is not None else "refused"] += 1
    for name, make in CASES.items():
        assert counts[name, "allowed"] >= 20, name
        if name not in ANY_SHAPE:
            assert counts[name, "refused"] >= 1, name
