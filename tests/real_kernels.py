"""Judges kernels of public Triton libraries: the library's files as they are installed, called by
candidates that are a few lines each, against references in plain PyTorch.

    pip install --no-deps --target packages -r tests/real_kernels/requirements.txt
    python tests/real_kernels.py --packages packages --out results.jsonl

tests/real_kernels/LIBRARY.py has a class for each kernel, of three functions: `inputs`, `reference`,
and `library`, whose first statements import what it calls. A model file and a candidate are made of
them. What is above the classes is in both.
"""

import argparse
import ast
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

from command import TESTS, binary

KERNELS = TESTS / "real_kernels"

MODEL = """{head}

class Model(torch.nn.Module):
{forward}


{inputs}


def get_init_inputs():
    return []
"""

CANDIDATE = """{head}
{imports}


class ModelNew(torch.nn.Module):
{forward}
"""


class Entry:
    """A kernel of a library: its name, the files that it is judged by, and what they call."""

    def __init__(self, library, text, head, node):
        self.library, self.name = library, node.name
        parts = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        library_call = parts["library"]
        imports = [s for s in library_call.body if isinstance(s, (ast.Import, ast.ImportFrom))]
        self.module = imports[0].module
        self.called = [alias.name for alias in imports[0].names]
        self.reference_text = MODEL.format(
            head=head, forward=_method(text, parts["reference"], "forward"),
            inputs=textwrap.dedent(_method(text, parts["inputs"], "get_inputs")))
        lines = _method(text, library_call, "forward").split("\n")
        for statement in reversed(imports):
            first = statement.lineno - library_call.lineno
            del lines[first:first + statement.end_lineno - statement.lineno + 1]
        self.candidate_text = CANDIDATE.format(
            imports="\n".join(map(ast.unparse, imports)), head=head, forward="\n".join(lines))


def _method(text, node, name):
    """The text of a method under another name."""
    lines = text.split("\n")[node.lineno - 1:node.end_lineno]
    lines[0] = lines[0].replace("def " + node.name, "def " + name, 1)
    return "\n".join(lines)


def entries(only=()):
    """The entries of all libraries, or of those that are named, as LIBRARY or as LIBRARY.KERNEL."""
    found = []
    for path in sorted(KERNELS.glob("*.py")):
        text = path.read_text()
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
        head = "\n".join(text.split("\n")[:classes[0].lineno - 1])
        found += [Entry(path.stem, text, head, node) for node in classes
                  if not only or path.stem in only or path.stem + "." + node.name in only]
    return found


def versions(packages):
    """Name of a library's file here -> its version."""
    return {re.sub("[-.]", "_", part.metadata["Name"].lower()): part.version
            for part in importlib.metadata.distributions(path=[str(packages)])}


def judge(kernels, packages, flags):
    """The rows of verify --batch: LIBRARY.KERNEL -> row."""
    with tempfile.TemporaryDirectory() as folder:
        batch = pathlib.Path(folder, "batch.jsonl")
        batch.write_text("".join(json.dumps({
            "id": "%s.%s" % (entry.library, entry.name), "reference_text": entry.reference_text,
            "candidate_text": entry.candidate_text}) + "\n" for entry in kernels))
        out = pathlib.Path(folder, "results.jsonl")
        process = subprocess.run(
            [binary(), "verify", "--batch", batch, "--out", out, "--no-time", *flags],
            env={**os.environ, "PYTHONPATH": str(packages)}, stdout=sys.stderr)
        if process.returncode == 3 or not out.exists():
            sys.exit(process.returncode)
        return {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--packages", type=pathlib.Path, required=True,
                        help="folder that the libraries are installed in")
    parser.add_argument("--only", nargs="+", default=(), metavar="LIBRARY[.KERNEL]")
    parser.add_argument("--out", type=pathlib.Path, help="file of results (default: printed)")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER",
                        help="write the model files and candidates there, and judge nothing")
    parser.add_argument("flags", nargs="*", help="after --: further flags of verify")
    given = parser.parse_args()
    kernels = entries(given.only)
    if given.write:
        for entry in kernels:
            folder = given.write / entry.library
            folder.mkdir(parents=True, exist_ok=True)
            (folder / (entry.name + ".py")).write_text(entry.reference_text)
            (folder / (entry.name + "_new.py")).write_text(entry.candidate_text)
        return
    rows = judge(kernels, given.packages.resolve(), given.flags)
    known = versions(given.packages)
    lines = []
    for entry in kernels:
        row = rows.get("%s.%s" % (entry.library, entry.name), {"fault": "no verdict"})
        lines.append(json.dumps({
            "library": entry.library, "version": known.get(entry.library), "kernel": entry.name,
            "module": entry.module, "calls": entry.called,
            "outcome": row.get("outcome", "fault"), "stage": row.get("rejected_at"),
            "reason": row.get("reason", row.get("fault")), "seconds": row.get("seconds")}))
    text = "".join(line + "\n" for line in lines)
    if given.out:
        given.out.write_text(text)
    else:
        print(text, end="")
    accepted = sum(row.get("outcome") == "accepted" for row in rows.values())
    print("%d of %d accepted" % (accepted, len(kernels)), file=sys.stderr)


if __name__ == "__main__":
    main()
