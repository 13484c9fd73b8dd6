"""Cases of the corpora whose files lie (docs/formats/corpus.md): whether what is handed out for them is true.

    python tests/truth_cases.py build/kernelwright [--backend cpu|cuda] [--graphed] [--jobs 2] [--but FILE] > truth.jsonl

Prints a line of JSON for each case: its name, and what truth.py says of its export. The exit status is
1 if an export is not true. Cases that FILE has lines of are left out.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import truth
from corpora_record import CORPORA, headers


def lying():
    """Cases whose files lie -> the paths of the cases. Those that only a GPU can judge are left out."""
    return {name: next(CORPORA.rglob(name)) for name, header in headers().items()
            if header["label"] == "file lies" and header.get("judge") != "gpu"}


def part(path, name):
    """A part of a case: "reference", "candidate"."""
    return path.read_text().split(f"# %% {name}\n", 1)[1].split("\n# %% ", 1)[0] + "\n"


def export_of(binary, case, folder, backend="cpu"):
    """The paths of a case's reference and of what `verify --out` hands out for its candidate."""
    for name in ("reference", "candidate"):
        (folder / f"{name}.py").write_text(part(case, name))
    command = [binary, "verify", folder / "reference.py", folder / "candidate.py", "--backend", backend,
               "--no-time", "--out", folder / "out"]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode != 0:
        raise AssertionError(process.stdout + process.stderr)
    return folder / "reference.py", folder / "out" / "optimized.py"


def answer(binary, name, backend):
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = truth.truth(*export_of(binary, lying()[name], pathlib.Path(folder), backend), backend)
        except AssertionError as error:
            found = {"faults": [str(error)]}
    return {"case": name, **found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once (2)")
    parser.add_argument("--graphed", action="store_true", help="calls on a GPU replay CUDA graphs")
    parser.add_argument("--but", type=pathlib.Path, help="lines of cases that are left out")
    options = parser.parse_args()
    done = {json.loads(line)["case"] for line in options.but.read_text().splitlines()} if options.but else set()
    if options.graphed:
        os.environ["KW_TRUTH_GRAPHED"] = "1"
    good = True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda name: answer(options.binary, name, options.backend),
                              sorted(set(lying()) - done)):
            print(json.dumps(found), flush=True)
            good &= not found["faults"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
