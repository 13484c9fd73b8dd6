"""Checks which folders of src/ include which, where torch's headers may be included, that no two
headers of one program define a type of the same name, and that no folder or class is overfull.

    scripts/check_arrows.py            prints what is wrong; exit 1 if anything is
    scripts/check_arrows.py --table    prints the table of folders, as the documents have it
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"
# The folders of src/, top to bottom: a folder may include itself and folders below it. Each has the
# rooms within it in the same order ("." is the folder itself), and one line on what is there.
# Tests are free of the order of rooms.
FOLDERS = {
    "cli": (". synth support", "one file a subcommand (`NAME_command.cc`); flags that several share"),
    "report": ("synth . graph markup", "pages for a browser: of a search, of an evaluation, of synthesis"),
    "eval": ("collect run suite", "suites, runs of `kernelwright eval` and their metrics, rows collected from runs"),
    "search": (". cover form evaluate common", "forms, fragments, covers, the main job `optimize`"),
    "train": (
        "tools verl sft serve rl run data judge step",
        "supervised fine-tuning and reinforcement learning, the server of a model, export to verl",
    ),
    "teacher": (". schedule lower nodes family emit graph", "the built-in kernel writer: lowering, families, schedules, emission"),
    "policy": (". chat", "policies that propose kernels: a chat endpoint, a served model, files, torch.compile"),
    "net": (".", "requests over HTTP and TLS"),
    "synth": (". draw sizes skeleton", "programs drawn at random, and other sizes of a model"),
    "verify": ("corpus batch . coverage own_file verdict numerics", "the stages of a verdict, batches, labelled cases and the self-test"),
    "executor": (
        ". trial device replay arithmetic discrete compare aten",
        "the program that replays Programs and measures them",
    ),
    "model": (".", "decoders and sampling from them"),
    "runtime": (".", "the client of executors and its protocol"),
    "worker": ("services . process native", "sandbox, zygote, jobs; their Python side is in `worker/`"),
    "store": (".", "results by content address, in SQLite"),
    "program": ("python checked inputs rewrite .", "Program and Task: checking, hashes, cutting, splicing, algebra, export, costs"),
    "ops": (".", "the one table of operators"),
    "formats": ("tokens . base", "JSON, frames, safetensors, tokenizers, TOML: parsers of hostile input"),
}
ORDER = list(FOLDERS)
# Folders that lie side by side and must not include each other.
APART = [
    {"policy", "verify"},
    {"policy", "runtime"},
    {"store", "worker"},
    {"store", "runtime"},
    {"train", "search"},
]
MOST_FILES = 25  # directly in one folder
MOST_METHODS = 40  # in one class
TORCH_FOLDERS = ("executor/", "worker/native/", "model/", "train/")
TORCH_HEADER = re.compile(r"(ATen|c10|torch|caffe2)/")
CLASS = re.compile(r"\b(?:class|struct)\s+([\w:]+)(?:\s+final)?\s*(?::[^;{]*)?\{")
NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^\s*#[^\n]*', re.S | re.M)
# Other declarations, and what follows braces in a constructor's list.
NO_METHOD = re.compile(r"(using|friend|static_assert|class|struct|enum|typedef)\b|,")
DEFINITION = re.compile(r"^(?:struct|class) (\w+)(?: final)?(?: :.*)?\s*\{")
# The executor is a program of its own, without these.
NOT_IN_EXECUTOR = set(ORDER[:ORDER.index("executor")]) | {"store"}
IS_TEST = re.compile(r"_test\.cc$|/test_[a-z_]+\.h$")
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
        return f"{here} and {there} lie side by side"
    if here == there and not IS_TEST.search(path):
        rooms = FOLDERS[here][0].split()
        ours, its = room(path), room(header)
        for each in (ours, its):
            if each not in rooms:
                return f"{here}/{each} is not in scripts/check_arrows.py"
        if rooms.index(its) < rooms.index(ours):
            return f"{here}/{ours} may not include {here}/{its}: the arrow points the other way"
    return None


def room(path):
    """The room of a file within its folder: "trial" of executor/trial/trial.h, "." of ops/dtype.h."""
    return "/".join(path.split("/")[1:-1]) or "."


def check_rooms(root):
    """Complaints: overfull folders, and two files that are called the same."""
    names = collections.defaultdict(list)
    for folder in [root, *sorted(path for path in root.rglob("*") if path.is_dir())]:
        files = [path for path in folder.iterdir() if path.is_file()]
        if len(files) > MOST_FILES:
            yield f"src/{folder.relative_to(root)}: {len(files)} files; at most {MOST_FILES} lie in one folder"
        for path in files:
            if path.suffix in (".h", ".cc") and path.name != "main.cc":
                names[path.stem].append(path.relative_to(root).parent.as_posix())
    for stem, folders in sorted(names.items()):
        if len(set(folders)) > 1:
            yield f"src/: {stem} is in {' and '.join(sorted(set(folders)))}: one name, one meaning"


def members(text, begin):
    """The declarations of a class whose body begins at `begin`, without the bodies of functions."""
    depth, member = 0, ""
    for c in text[begin:]:
        if depth == 0 and c in ";{}":
            yield re.sub(r"^\s*((public|private|protected)\s*:\s*)*", "", member)
            member = ""
        elif depth == 0:
            member += c
        depth += (c == "{") - (c == "}")
        if depth < 0:
            return


def methods(text):
    """(name, number of functions that it declares) of each class in a C++ file."""
    text = NOT_CODE.sub(" ", text)
    for match in CLASS.finditer(text):
        found = [each for each in members(text, match.end())
                 if "(" in re.sub(r"operator[^\w(]+", "f", each).split("=")[0]
                 and not NO_METHOD.match(each)]
        yield match[1], len(found)


def check_classes(root):
    for file in sorted(root.rglob("*.*")):
        if file.suffix in (".h", ".cc"):
            for name, count in methods(file.read_text()):
                if count > MOST_METHODS:
                    yield (f"src/{file.relative_to(root)}: {name} has {count} functions; at most "
                           f"{MOST_METHODS} are in one class")


def included(root, folder):
    """The other folders that product files of `folder` include, top to bottom."""
    found = set()
    for file in (root / folder).rglob("*.*"):
        if file.suffix in (".h", ".cc") and not IS_TEST.search("/" + file.name):
            for line in file.read_text().splitlines():
                match = INCLUDE.match(line)
                if match and match[1] == '"':
                    found.add(match[2].split("/")[0])
    return [each for each in ORDER if each in found and each != folder]


def folders(root=ROOT):
    """The table of folders, as the documents have it."""
    lines = ["| folder | what it holds | includes |", "|---|---|---|"]
    for folder, (rooms, what) in FOLDERS.items():
        inner = [each for each in rooms.split() if each != "."]
        if inner:
            what += "; in it " + ", ".join(f"`{each}`" for each in inner)
        lines.append(f"| `src/{folder}` | {what} | {', '.join(included(root, folder))} |")
    return "\n".join(lines)


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
    root = ROOT
    if "--table" in sys.argv:
        print(folders())
        return 0
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
    for complaint in [*check_names(root), *check_rooms(root), *check_classes(root)]:
        print(complaint)
        complaints += 1
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
