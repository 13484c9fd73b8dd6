"""What every kernel of an optimized program and of torch.compile's does on the device, from Nsight
Compute.

    python bench/ncu.py RESULTS_DIR/NAME/optimized.py ... > profile.json

Each file is run in a process of its own under `ncu`: warm, then profiled for one call of ModelNew and
one of torch.compile's Model. For each kernel: microseconds, and how busy it keeps the memory, the L2
cache, the SMs' pipes and the tensor cores, in percent of their peaks. The clocks are as they are
(--clock-control none): times compare within one file only.
"""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

METRICS = {
    "us": "gpu__time_duration.sum",
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor": "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "programs": "launch__grid_size",
}


def run_once(path: Path, side: str) -> None:
    """One call between the profiler's marks: this process is what ncu watches."""
    import torch

    from plain_python import load

    module = load(path)
    torch.manual_seed(7)
    with torch.device("cuda"):
        model = (module.ModelNew if side == "ours" else module.Model)(*module.get_init_inputs())
        inputs = module.get_inputs()
    model = model.cuda()
    if side != "ours":
        model = torch.compile(model)
    with torch.inference_mode():
        for _ in range(3):
            model(*inputs)
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        model(*inputs)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


def number(text: str) -> float:
    return float(text.replace(",", "")) if text not in ("", "n/a") else float("nan")


def kernels_of(path: Path, side: str) -> list:
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "ncu.csv"
        command = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page",
                   "raw", "--metrics", ",".join(METRICS.values()), "--log-file", str(log),
                   sys.executable, __file__, "--run", side, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        text = log.read_text() if log.exists() else ""
    table = text[text.find('"ID"'):] if '"ID"' in text else ""
    if not table:
        said = (done.stdout + done.stderr + text).strip().splitlines()
        raise RuntimeError("ncu printed no table: " + " | ".join(said[-5:]))
    rows = list(csv.DictReader(io.StringIO(table)))
    units, rows = rows[0], rows[1:]  # the line under the header
    micro = {"ns": 1e-3, "us": 1, "usecond": 1, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3}
    out = []
    for row in rows:
        kernel = {"kernel": row["Kernel Name"][:100]}
        for name, metric in METRICS.items():
            if metric not in row:
                continue
            value = number(row[metric])
            kernel[name] = round(value * micro.get(units[metric], 1) if name == "us" else value, 2)
        out.append(kernel)
    return out


def main() -> None:
    if sys.argv[1] == "--run":
        return run_once(Path(sys.argv[3]), sys.argv[2])
    if not shutil.which("ncu"):
        sys.exit("ncu.py: ncu is not on the PATH")
    import torch
    import triton

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    out = {}
    for path in map(Path, sys.argv[1:]):
        name = path.parent.name
        for side in ("ours", "torch.compile"):
            try:
                out.setdefault(name, {})[side] = kernels_of(path, side)
            except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                out.setdefault(name, {})[side + " failed"] = str(error)[:2000]
            print("%s, %s" % (name, side), file=sys.stderr, flush=True)
    print(json.dumps({
        "command": "bench/gpu.sh profile",
        "commit": commit.stdout.strip(),
        "environment": {"device": torch.cuda.get_device_name(0), "torch": torch.__version__,
                        "triton": triton.__version__},
        "examples": out,
    }, indent=1))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
