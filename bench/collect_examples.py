"""Gathers `kernelwright optimize --json` outputs and plain-Python ratios into one results file.

    python bench/collect_examples.py RESULTS_DIR COMMAND > examples.json
    python bench/collect_examples.py --into bench/h200/examples.json examples.json

RESULTS_DIR holds NAME.json (optimize's object) for each example and plain.json. The second form
lets a run of some examples replace those in kept results; each says its commit.
"""

import json
import sys
from pathlib import Path


def replace(kept_path: str, new_path: str) -> None:
    """What `new_path` holds replaces the same in `kept_path`; one machine and versions only."""
    kept, new = (json.loads(Path(p).read_text()) for p in (kept_path, new_path))
    if kept["environment"] != new["environment"]:
        sys.exit("%s is of another machine or versions: %s" % (new_path, new["environment"]))
    kept["examples"].update(new["examples"])
    if "plain_python" in new:
        plain = {r["example"]: r for r in kept.get("plain_python", []) + new["plain_python"]}
        kept["plain_python"] = sorted(plain.values(), key=lambda r: r["example"])
    Path(kept_path).write_text(json.dumps(kept, indent=1) + "\n")


def collect(folder: Path, command: str) -> None:
    import torch
    import triton

    out = {"command": command, "examples": {}}
    for path in sorted(folder.glob("*.json")):
        value = json.loads(path.read_text() or "null")
        if path.stem == "plain":
            out["plain_python"] = value or []
        elif isinstance(value, dict) and "verdict" in value:
            # Evidence of each trial is in the result folder; the summary is enough here.
            for stage in value["verdict"]["stages"]:
                stage["evidence"].pop("trials", None)
            warm = folder / "warm" / path.name
            if warm.exists() and warm.read_text():
                again = json.loads(warm.read_text())
                value["warm"] = {k: again[k] for k in
                                 ("outcome", "search_seconds", "total_seconds", "phase_seconds")}
            out["examples"][path.stem] = value
    out["environment"] = {
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    if sys.argv[1] == "--into":
        replace(sys.argv[2], sys.argv[3])
    else:
        collect(Path(sys.argv[1]), sys.argv[2])
