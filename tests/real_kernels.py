"""Judges kernels of public Triton libraries: the library's files as they are installed, called by
candidates that are a few lines each, against references in plain PyTorch.

    python tests/real_kernels.py --packages FOLDER --install      in an interpreter with torch
    python tests/real_kernels.py --packages FOLDER --out results.jsonl

tests/real_kernels/LIBRARY.py has a class for each kernel, of three functions: `inputs`, `reference`,
and `library`, whose first statements import what it calls. A model file and a candidate are made of
them. What is above the classes is in both. A kernel that is rejected has a text that says why this
is right.

The exit code is 1 if a verdict is another one than the entry expects.
"""

import argparse
import ast
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

from command import TESTS, binary, has_gpu

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
        self.why = ast.get_docstring(node)  # a rejection is right
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


# Packages that import more than their kernels need, transformers for instance. Without these files
# their folders are namespaces, and each module is imported as it is.
NAMESPACES = ["mamba_ssm", "unsloth", "unsloth/kernels", "unsloth_zoo"]
# What of a package is kept, where it is large.
KEPT = {"unsloth": ["kernels"], "unsloth_zoo": ["utils.py"],
        "sqlalchemy/dialects": ["__init__.py", "_typing.py", "sqlite"]}


def install(packages):
    """Installs the libraries into a folder of at most 30 MB, without programs in machine code."""
    skip = {"MAMBA_SKIP_CUDA_BUILD": "TRUE", "MAMBA_FORCE_BUILD": "TRUE"}
    subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation",
                    "--no-compile", "--upgrade", "--target", packages,
                    "-r", KERNELS / "requirements.txt"], check=True, env={**os.environ, **skip})
    for name in NAMESPACES:
        (packages / name / "__init__.py").unlink()
    installed = {part.name.partition("-")[0] for part in packages.glob("*.dist-info")}
    for path in [*packages.glob("*"), *packages.glob("flag_gems/runtime/backend/_*")]:
        imported = path.name in installed | {"conch", "fla", "yaml"} or path.suffix == ".dist-info"
        if path.is_dir() and not imported and path.name != "_nvidia":
            shutil.rmtree(path)
    for name, kept in KEPT.items():
        for path in (packages / name).iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in packages.rglob("*.so*"):
        path.unlink()


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
            [binary(), "verify", "--batch", batch, "--out", out, "--no-time", "--seed", "2", *flags],
            env={**os.environ, "PYTHONPATH": str(packages)}, stdout=sys.stderr)
        if not out.exists():
            sys.exit(process.returncode)
        return {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}


def _others(path, found, only):
    """The lines of an earlier run on kernels that this one left out."""
    judged = {(row["library"], row["kernel"]) for row in found}
    lines = path.read_text().splitlines(keepends=True) if only and path.exists() else []
    rows = [(json.loads(line), line) for line in lines]
    return "".join(line for row, line in rows if (row["library"], row["kernel"]) not in judged)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--packages", type=pathlib.Path, required=True,
                        help="folder that the libraries are installed in")
    parser.add_argument("--only", nargs="+", default=(), metavar="LIBRARY[.KERNEL]")
    parser.add_argument("--out", type=pathlib.Path, help="file of results (default: printed); with --only, "
                        "lines of other kernels are kept")
    parser.add_argument("--install", action="store_true", help="install them there, and judge nothing")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER",
                        help="write the model files and candidates there, and judge nothing")
    parser.add_argument("flags", nargs="*", help="after --: further flags of verify")
    given = parser.parse_args()
    if given.install:
        return install(given.packages)
    kernels = entries(given.only)
    if given.write:
        for entry in kernels:
            folder = given.write / entry.library
            folder.mkdir(parents=True, exist_ok=True)
            (folder / (entry.name + ".py")).write_text(entry.reference_text)
            (folder / (entry.name + "_new.py")).write_text(entry.candidate_text)
        return 0
    rows = judge(kernels, given.packages.resolve(), given.flags)
    known = versions(given.packages)
    found = []
    for entry in kernels:
        row = rows.get("%s.%s" % (entry.library, entry.name), {"fault": "no verdict"})
        reason = re.sub(r"\S*batch\.jsonl:\d+ ", "", row.get("reason", row.get("fault")))
        found.append({
            "library": entry.library, "version": known.get(entry.library), "kernel": entry.name,
            "module": entry.module, "calls": entry.called, "backend": "cuda" if has_gpu() else "cpu",
            "outcome": row.get("outcome", "fault"), "stage": row.get("rejected_at"),
            "reason": reason.replace(str(given.packages.resolve()) + "/", ""), "why": entry.why,
            "seconds": row.get("seconds")})
    text = "".join(json.dumps(row) + "\n" for row in found)
    if given.out:
        given.out.write_text(text + _others(given.out, found, given.only))
    else:
        print(text, end="")
    for row in found:
        if row["outcome"] != ("rejected" if row["why"] else "accepted"):
            print("unexpected: %(library)s.%(kernel)s is %(outcome)s: %(reason)s" % row, file=sys.stderr)
    surprises = sum(row["outcome"] != ("rejected" if row["why"] else "accepted") for row in found)
    accepted = sum(row["outcome"] == "accepted" for row in found)
    print("%d of %d accepted, %d verdicts are others than expected"
          % (accepted, len(found), surprises), file=sys.stderr)
    return int(surprises > 0)


if __name__ == "__main__":
    sys.exit(main())
