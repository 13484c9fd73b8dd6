"""When the labelled cases were last judged whole, and what judged them.

    .venv/bin/python tests/corpora_record.py [--build build]

It builds and judges every case. If none is a surprise, it keeps the record and the verdicts. A change to a case, or to what judges cases,
makes the record stale: `make test` then judges every case again, and not one for each family and check alone.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = ROOT / "tests/corpora"
RECORD = ROOT / "bench/cpu/corpora.json"
VERDICTS = ROOT / "bench/cpu/selftest.jsonl"
JUDGES = ["src/formats", "src/ops", "src/program", "src/worker", "src/runtime", "src/verify", "src/executor",
          "src/cli/support", "src/cli/selftest_command.cc", "worker", "tests/corpora", "cmake", "CMakeLists.txt"]
SOURCES = {".h", ".cc", ".py", ".cmake", ".txt"}


def fingerprint():
    """A hash of all that a verdict on a case depends on: sources without C++ tests, and versions."""
    total = hashlib.sha256()
    for package in ("torch", "triton"):
        total.update(importlib.metadata.version(package).encode() + b"\0")
    for name in JUDGES:
        for path in sorted([ROOT / name, *(ROOT / name).rglob("*")]):
            if path.suffix in SOURCES and not path.name.endswith("_test.cc"):
                total.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def is_current():
    return RECORD.exists() and json.loads(RECORD.read_text())["fingerprint"] == fingerprint()


def headers():
    """Case -> its first line's members ("label", "family", "stage", "check", ...)."""
    out = {}
    for path in sorted(CORPORA.rglob("*.py")):
        label, *members = path.open().readline().lstrip("# ").strip().split(" | ")
        out[path.name] = {"label": label, **dict(each.split(": ", 1) for each in members)}
    return out


def _same_warnings(build):
    """WERROR as the folder was built with: another value would compile everything anew."""
    cache = build / "CMakeCache.txt"
    found = re.search(r"^KW_WERROR:\w+=(\w+)", cache.read_text(), re.M) if cache.exists() else None
    return ["WERROR=" + found[1]] if found else []


def sample(seed):
    """The names of one case for each label, family, stage and check, which `seed` chooses."""
    groups = {}
    for name, header in headers().items():
        key = tuple(header.get(each, "") for each in ("label", "family", "stage", "check"))
        groups.setdefault(key, []).append(name)
    return [names[seed % len(names)] for names in groups.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", type=pathlib.Path, help="its folder")
    options = parser.parse_args()
    before = fingerprint()
    subprocess.run(["make", "-C", ROOT, "build", f"BUILD={options.build}", *_same_warnings(ROOT / options.build)], check=True)
    command = [ROOT / options.build / "kernelwright", "selftest", CORPORA, "--backend", "cpu", "--json"]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    results = [json.loads(line) for line in process.stdout.splitlines()]
    surprises = [result["case"] for result in results if result["surprise"]]
    print(f"{len(results)} cases, {len(surprises)} surprises {' '.join(surprises)}")
    if surprises or process.returncode not in (0, 1) or len(results) != len(headers()):
        return 1
    if fingerprint() != before:
        print("the sources changed meanwhile: no record is kept")
        return 1
    VERDICTS.write_text(process.stdout)
    RECORD.write_text(json.dumps({
        "command": "python tests/corpora_record.py",
        "fingerprint": before,
        "cases": len(results),
        "seconds": round(sum(result["seconds"] for result in results), 1),
    }, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
