#!/usr/bin/env python3
"""Records models of transformers, diffusers, timm and torchvision, as these libraries are installed.

    PYTHON bench/library_models.py build/kernelwright --out library_models.jsonl
        [--only LIBRARY|MODEL,...] [--packages FOLDER] [--jobs 1] [--keep FOLDER]

Run it by the Python whose installation is meant: the workers run by it too. Each model of the table is
made from a small configuration, so nothing is downloaded, and is written as a file such as a user writes.
`kernelwright record` gets that file. A line of JSON says how many steps the Program has and how many
seconds the recording took, or at which stage it ended and why. Lines of libraries that are not installed
stay in the file that --out names. FOLDER may hold pure Python packages that are not installed. The exit
status is 1 if a model was not recorded that the table does not expect to be refused.
"""

import argparse
import concurrent.futures
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import library_table  # noqa: E402

FILE = '''import torch
import torch.nn as nn
{imports}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = {make}.eval()

    def forward(self, {names}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
'''


def text_of(library, entry):
    """The file of a model, as a user writes it."""
    classes = re.findall(r"\b([A-Z]\w+)\(", entry.make)
    imports = "import " + library
    if library in ("transformers", "diffusers"):
        imports = f"from {library} import {', '.join(dict.fromkeys(classes))}"
    return FILE.format(imports=imports, make=entry.make, names=", ".join(entry.inputs),
                       result=entry.result, inputs=", ".join(entry.inputs.values()))


def record(binary, file):
    """What `kernelwright record` says of a file: steps and seconds, or the stage and the reason."""
    started = time.perf_counter()
    process = subprocess.run([binary, "record", file], capture_output=True, text=True,
                             env={**os.environ, "KERNELWRIGHT_PYTHON": sys.executable})
    wall = round(time.perf_counter() - started, 1)
    done = re.match(r"recorded .* in (\d+) ms", process.stdout)
    if process.returncode == 0 and done:
        steps = sum(line.startswith("  ") for line in process.stdout.splitlines())
        return {"steps": steps, "seconds": int(done[1]) / 1e3, "wall": wall}
    said = (process.stderr + process.stdout).replace(str(file), file.name).splitlines()
    reason = next((line for line in said if line.startswith("error: ")), "error: no answer")
    return {"stage": "record", "reason": reason.removeprefix("error: "), "wall": wall}


def version_of(library):
    """The version of a library, or why it cannot be imported."""
    try:
        return importlib.import_module(library).__version__, None
    except Exception as error:  # a broken installation raises what it likes
        return None, f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="libraries or models, with commas")
    parser.add_argument("--packages", type=pathlib.Path, help="a folder of pure Python packages")
    parser.add_argument("--jobs", type=int, default=1, help="recordings at once (1)")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the files of the models")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    if options.packages:
        sys.path.insert(0, str(options.packages))

    rows = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            row = json.loads(line)
            rows[row["library"], row["model"]] = row
    work = []
    for library, models in library_table.MODELS.items():
        wanted = {name: entry for name, entry in models.items()
                  if not only or {library, name} & only}
        if not wanted:
            continue
        version, fault = version_of(library)
        if fault:
            print(f"{library}: left out, as it cannot be imported: {fault}", flush=True)
            continue
        work += [(library, version, name, entry) for name, entry in wanted.items()]
    import torch  # after the folder of packages is on the path

    def run(item):
        library, version, name, entry = item
        file = folder / f"model_{library}_{name}.py"
        file.write_text(text_of(library, entry))
        try:
            found = record(options.binary, file)
        finally:
            if not options.keep:
                file.unlink()
        row = {"library": library, "version": version, "torch": torch.__version__, "model": name, **found}
        if entry.refused and "steps" not in row:
            row["expected"] = entry.refused
        return row

    bad = 0
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or options.packages or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for row in pool.map(run, work):
            rows[row["library"], row["model"]] = row
            bad += "steps" not in row and "expected" not in row
            print(json.dumps(row), flush=True)
            order = [(library, name) for library, models in library_table.MODELS.items() for name in models]
            options.out.write_text("".join(json.dumps(rows[key]) + "\n" for key in order if key in rows))
    print(f"{sum('steps' in row for row in rows.values())} of {len(rows)} models recorded")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
