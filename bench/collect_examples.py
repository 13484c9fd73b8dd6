"""Gathers `kernelwright optimize --json` outputs and plain-Python ratios into one results file.

    python bench/collect_examples.py RESULTS_DIR COMMAND > examples.json

RESULTS_DIR holds NAME.json (optimize's object) for each example and plain.json.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    folder, command = Path(sys.argv[1]), sys.argv[2]
    import torch
    import triton

    out = {"command": command, "examples": {}, "plain_python": []}
    for path in sorted(folder.glob("*.json")):
        value = json.loads(path.read_text() or "null")
        if path.stem == "plain":
            out["plain_python"] = value or []
        elif isinstance(value, dict) and "verdict" in value:
            # Evidence of each trial is in the result folder; the summary is enough here.
            for stage in value["verdict"]["stages"]:
                stage["evidence"].pop("trials", None)
            out["examples"][path.stem] = value
    out["environment"] = {
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
