"""Checks which folders of src/ include which, where torch's headers may be included, and that no two
headers of one program define a type of the same name."""

import pathlib
import re
import sys

# Top to bottom: a folder may include itself and the folders that stand after it.
ORDER = (
    "cli collect report search train policy synth verify executor model runtime worker store program ops formats"
).split()
# Folders that stand side by side and must not include each other.
APART = [{"policy", "verify"}, {"policy", "runtime"}, {"store", "worker"}, {"store", "runtime"}]
TORCH_FOLDERS = ("executor/", "worker/native/", "model/", "train/")
TORCH_HEADER = re.compile(r"(ATen|c10|torch|caffe2)/")
DEFINITION = re.compile(r"^(?:struct|class) (\w+)(?: final)?(?: :.*)?\s*\{")
# The executor is a program of its own, without these.
NOT_IN_EXECUTOR = {"cli", "collect", "report", "search", "policy", "synth", "verify", "store"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check_include(path, quote, header):
    """The complaint about one include of `path` (relative to src/), or None."""
    if TORCH_HEADER.match(header):
        if header == "torch/torch.h":
            return "torch/torch.h is never included"
        if not path.startswith(TORCH_FOLDERS):
            return f"torch headers belong in {', '.join(TORCH_FOLDERS)}"
        return None
    if quote == "<":
        return None
    here, there = path.split("/")[0], header.split("/")[0]
    if there not in ORDER or "/" not in header:
        return 'includes are relative to src/ ("folder/file.h")'
    if ORDER.index(there) < ORDER.index(here):
        return f"{here} may not include {there}: the arrow points the other way"
    if here != there and {here, there} in APART:
        return f"{here} and {there} stand side by side"
    return None


def check_names(root):
    """Complaints: two types of one name break C++'s one-definition rule, and nothing says so."""
    defined = {}
    for file in sorted(root.rglob("*.h")):
        path = file.relative_to(root).as_posix()
        for line in file.read_text().splitlines():
            match = DEFINITION.match(line)
            if match:
                defined.setdefault(match[1], []).append(path)
    for name, paths in sorted(defined.items()):
        for i, path in enumerate(paths):
            for other in paths[:i]:
                folders = {path.split("/")[0], other.split("/")[0]}
                in_executor = any(each.startswith("executor/") for each in (path, other))
                if not (in_executor and folders & NOT_IN_EXECUTOR):
                    yield f"src/{path}: {name} is defined in src/{other} too"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    complaints = 0
    for file in sorted(root.rglob("*.*")):
        path = file.relative_to(root).as_posix()
        if file.suffix not in (".h", ".cc"):
            continue
        if path.split("/")[0] not in ORDER:
            print(f"src/{path}: folder is not in scripts/check_arrows.py")
            complaints += 1
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            complaint = match and check_include(path, *match.groups())
            if complaint:
                print(f"src/{path}:{number}: {complaint}")
                complaints += 1
    for complaint in check_names(root):
        print(complaint)
        complaints += 1
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
