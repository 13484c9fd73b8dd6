"""Keeps how long set-up, build and tests took, in bench/cpu/ci.json.

    scripts/ci_times.py NAME [--build build]

NAME ("before", "after", ...) is the entry that is written; the others stay. The phases are those of
the last `make test` or `make check` of that build folder; units are the compiler's seconds a file,
tests the seconds a test. Run it after a clean clone's `.ci/run` on an idle machine.
"""

import argparse
import json
import os
import pathlib
import subprocess
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "bench/cpu/ci.json"
MOST_UNITS, MOST_TESTS = 30, 40


def phases(build):
    """Phase -> seconds, of lines such as "build      424 s"."""
    lines = (build / "test-results/phases.txt").read_text().splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines if len(line.split()) > 2}


def units(build):
    """Target -> seconds that ninja took for it, the last time it was made."""
    out = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        parts = line.split("\t")
        if len(parts) == 5:
            out[parts[3]] = (int(parts[1]) - int(parts[0])) / 1000
    return out


def tests(build):
    """Test -> seconds."""
    out = {}
    for file in sorted((build / "test-results").glob("*.xml")):
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            name = f"{file.stem}: {case.get('classname')}.{case.get('name')}"
            out[name] = float(case.get("time") or 0)
    return out


def longest(seconds, most):
    return [[name, round(value, 1)]
            for name, value in sorted(seconds.items(), key=lambda item: -item[1])[:most]]


def is_test(target):
    return "_test.dir/" in target or target.endswith("_test") or "fuzz" in target


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    built, tested = units(options.build), tests(options.build)
    commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h"], capture_output=True,
                            text=True).stdout.strip()
    kept = json.loads(OUT.read_text()) if OUT.exists() else {}
    kept[options.name] = {
        "commit": commit,
        "cores": len(os.sched_getaffinity(0)),
        "phases": phases(options.build),
        "compiling": {"product": round(sum(t for n, t in built.items() if not is_test(n))),
                      "tests": round(sum(t for n, t in built.items() if is_test(n)))},
        "testing": {"C++": round(sum(t for n, t in tested.items() if not n.startswith("pytest"))),
                    "Python": round(sum(t for n, t in tested.items() if n.startswith("pytest")))},
        "longest units": longest(built, MOST_UNITS),
        "longest tests": longest(tested, MOST_TESTS),
    }
    OUT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
