"""What a verdict costs: records and judges optimized.py of each result folder against its model.

    python3 bench/verdicts.py BINARY RESULT_FOLDER... [--backend cpu] --out bench/cpu/verdicts.json

The file is written again after each folder, so that a run cut short leaves what it has measured.

Time of each stage and of the whole command (process start, executor and worker start included),
the largest resident process, peak memory of the trials on the device, Triton share; and the median
of 19 warm recordings of the model and of the optimized file.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time


def run(command):
    """(exit code, stdout, wall seconds, largest resident set of its processes in bytes)"""
    with tempfile.TemporaryFile("w+") as out:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        out.seek(0)
        return os.waitstatus_to_exitcode(status), out.read(), wall, usage.ru_maxrss * 1024


def record_ms(binary, file, cls, backend):
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "record", file, "--class", cls, "--repeat", "20", "--backend", backend,
                   "--out", os.path.join(folder, "bundle")]
        text = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(re.search(r"([0-9.]+) ms", text.stdout + text.stderr)[1])


def measure(binary, folder, backend):
    file = os.path.join(folder, "optimized.py")
    code, out, wall, resident = run([binary, "verify", file, file, "--json", "--no-baseline",
                                     "--backend", backend])
    if code not in (0, 1):
        sys.exit("%s: verify ended with exit code %d" % (file, code))
    verdict = json.loads(out)
    stages = {s["stage"]: s for s in verdict["stages"]}
    trials = stages.get("correct", {"evidence": {}})["evidence"].get("trials", [])
    return {
        "example": os.path.basename(os.path.normpath(folder)),
        "outcome": verdict["outcome"],
        "share": verdict["share"],
        "seconds": {name: s["seconds"] for name, s in stages.items()},
        "wall_seconds": wall,
        "resident_bytes": resident,
        "device_peak_bytes": max((t.get("peak_bytes", 0) for t in trials), default=0),
        "record_ms": {cls: record_ms(binary, file, cls, backend) for cls in ("Model", "ModelNew")},
    }, verdict["environment"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    rows = []
    for folder in args.results:
        with open(os.path.join(folder, "optimized.py")) as file:
            if "class ModelNew" not in file.read():
                continue  # nothing was gained: it is the original
        row, environment = measure(args.binary, folder, args.backend)
        rows.append(row)
        environment = {k: environment.get(k) for k in ("backend", "device", "torch")}
        with open(args.out, "w") as out:
            json.dump({"environment": environment, "verdicts": rows}, out, indent=1)
            out.write("\n")
        print("%s: %s, %.1f s" % (row["example"], row["outcome"], row["wall_seconds"]), flush=True)


if __name__ == "__main__":
    main()
