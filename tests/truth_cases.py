"""Cases of the corpora whose files lie (docs/formats/corpus.md), and what is handed out for them."""

import subprocess

from corpora_record import CORPORA, headers


def lying():
    """Cases whose files lie -> the paths of the cases. Those that only a GPU can judge are left out."""
    return {name: next(CORPORA.rglob(name)) for name, header in headers().items()
            if header["label"] == "file lies" and header.get("judge") != "gpu"}


def part(path, name):
    """A part of a case: "reference", "candidate"."""
    return path.read_text().split(f"# %% {name}\n", 1)[1].split("\n# %% ", 1)[0] + "\n"


def export_of(binary, case, folder):
    """The paths of a case's reference and of what `verify --out` hands out for its candidate."""
    for name in ("reference", "candidate"):
        (folder / f"{name}.py").write_text(part(case, name))
    command = [binary, "verify", folder / "reference.py", folder / "candidate.py", "--backend", "cpu", "--out",
               folder / "out"]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode != 0:
        raise AssertionError(process.stdout + process.stderr)
    return folder / "reference.py", folder / "out" / "optimized.py"
