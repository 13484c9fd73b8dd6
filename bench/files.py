"""Files of measurements: results that a reader, or a run that goes on, finds whole, and what they are of."""

import functools
import hashlib
import json
from pathlib import Path


def write_whole(path, text):
    """The file of before, or all of the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def digest(*paths):
    """Of files' content, by their names: what was measured of another content is another measurement."""
    whole = hashlib.sha256()
    for path in sorted(map(Path, paths)):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


@functools.cache
def model_digest(folder):
    """Of a model's folder; of an adapter's, with the model that it is for."""
    folder, names = Path(folder), ("config.json", "adapter_config.json", "tokenizer.json")
    files = [path for path in folder.iterdir() if path.name in names or path.suffix == ".safetensors"]
    own = digest(*files)
    adapter = folder / "adapter_config.json"
    if not adapter.exists():
        return own
    base = json.loads(adapter.read_text())["base_model_name_or_path"]
    beside = folder / base
    return own + "+" + model_digest(beside if beside.is_dir() else base)


def read_conversations(path):
    """The rows of a file that `train_pairs --out` wrote, with `prompt`, `plan` and `code` apart."""
    rows = []
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            question, answer = (message["content"] for message in row["messages"])
            plan, code = answer.removesuffix("```\n").split("```python\n", 1)
            rows.append({**row, "prompt": question, "plan": plan, "code": code})
    return rows
