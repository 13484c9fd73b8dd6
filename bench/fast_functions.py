#!/usr/bin/env python3
"""How far the fast functions of libdevice are off on a device, beside what the interpreter takes for them.

    bench/fast_functions.py --out bench/h200/fast_functions.json

Errors are against float64, relative to each element: their RMS and the largest. `device` is measured,
`interpreter` is worker/approximations.py on the same arguments. Without a GPU only the latter is written.
"""

import argparse
import importlib.util
import json
import pathlib
import sys
import tempfile

import numpy as np
import torch
import triton

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "worker"))

import approximations  # noqa: E402

COUNT = 1 << 16
# function, exact, ranges of the argument (spread evenly)
FUNCTIONS = [
    ("expf", np.exp, [(-1, 1), (20, 40), (60, 80)]),
    ("exp10f", lambda x: np.power(10.0, x), [(-1, 1), (20, 30)]),
    ("logf", np.log, [(1 + 2**-10, 1 + 2**-9), (0.5, 0.9), (10, 1000)]),
    ("log2f", np.log2, [(1 + 2**-10, 1 + 2**-9), (0.5, 0.9), (10, 1000)]),
    ("log10f", np.log10, [(1 + 2**-10, 1 + 2**-9), (0.5, 0.9), (10, 1000)]),
    ("sinf", np.sin, [(2**-11, 2**-10), (0.1, 1), (90, 93)]),
    ("cosf", np.cos, [(1.57, 1.5705), (0.1, 1), (90, 93)]),
    ("tanf", np.tan, [(2**-11, 2**-10), (0.1, 1)]),
]
KERNEL = '''import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def run(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, libdevice.fast_%s(tl.load(x + i)))
'''


def on_device(name, x):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / ("fast_%s.py" % name)
        path.write_text(KERNEL % name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        given = torch.from_numpy(x).cuda()
        out = torch.empty_like(given)
        module.run[(COUNT // 1024,)](given, out, BLOCK=1024)
        return out.cpu().numpy()


def errors(found, exact):
    off = np.abs((found.astype(np.float64) - exact) / exact)
    return {"rms": float("%.3g" % np.sqrt(np.mean(off**2))), "worst": float("%.3g" % off.max())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file to write, as JSON")
    args = parser.parse_args()
    rows = []
    for name, exact, ranges in FUNCTIONS:
        for low, high in ranges:
            x = np.linspace(low, high, COUNT, dtype=np.float32)
            right = exact(x.astype(np.float64))
            row = {"function": "fast_" + name, "from": low, "to": high,
                   "interpreter": errors(approximations.FAST[name](x), right)}
            if torch.cuda.is_available():
                row["device"] = errors(on_device(name, x), right)
            rows.append(row)
            print(json.dumps(row), flush=True)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    args.out.write_text(json.dumps({"command": "bench/fast_functions.py", "machine": device,
                                    "torch": torch.__version__, "triton": triton.__version__,
                                    "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
