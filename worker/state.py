"""What a constructed model holds: parameters, buffers, and tensors kept as plain attributes."""

import torch

MAX_DEPTH = 6  # of containers inside an attribute

# Attributes of modules that hold parameters a second time, or nothing of the user's.
_INTERNAL = {"_parameters", "_buffers", "_modules", "_flat_weights", "_flat_weight_refs",
             "_non_persistent_buffers_set"}


def collect_state(model, key_of):
    """Returns the entries {"names", "kind", "key"} of the state, each module with its paths, and each
    list, tuple or dict that holds such with its path.

    Entries come in order: parameters, buffers, constants. Tensors with the same key_of(tensor) are
    one entry with several names. A path or name is the Python expression that follows `model.`.
    """
    walk = _Walk()
    walk.owner("", model, 0, ())
    entries = {}
    for kind, tensors in walk.tensors.items():
        for name, tensor in tensors:
            key = key_of(tensor)
            entry = entries.setdefault(key, {"names": [], "kind": kind, "key": key})
            if name not in entry["names"]:
                entry["names"].append(name)
    return list(entries.values()), list(walk.modules.values()), walk.containers


class _Walk:
    """Goes through a model, and finds tensors and modules also in containers of plain attributes."""

    def __init__(self):
        self.tensors = {"parameter": [], "buffer": [], "constant": []}
        self.modules = {}  # id -> module, paths
        self.containers = []

    def owner(self, path, owner, depth, above):
        """`above` holds the ids of what lies around: a module may know the one that holds it."""
        if id(owner) in above or not hasattr(owner, "__dict__"):
            return
        above = (*above, id(owner))
        prefix = path + "." if path else ""
        is_module = isinstance(owner, torch.nn.Module)
        if is_module:
            self.modules.setdefault(id(owner), (owner, []))[1].append(path)
            for kind, table in (("parameter", owner._parameters), ("buffer", owner._buffers)):
                self.tensors[kind if depth == 0 else "constant"] += [
                    (prefix + name, tensor) for name, tensor in table.items() if tensor is not None]
        for name, value in vars(owner).items():
            if name not in _INTERNAL and name.isidentifier():
                self.value(prefix + name, value, depth, above)
        for name, part in owner._modules.items() if is_module else ():
            if part is not None:
                self.owner(prefix + name, part, depth, above)

    def value(self, path, value, depth, above):
        if isinstance(value, torch.Tensor):
            self.tensors["constant"].append((path, value))
        elif depth >= MAX_DEPTH:
            return
        elif isinstance(value, (list, tuple)):
            self.container(path, value, value)
            for index, item in enumerate(value):
                self.value("%s[%d]" % (path, index), item, depth + 1, above)
        elif isinstance(value, dict):
            self.container(path, value, value.values())
            for key, item in value.items():
                if isinstance(key, int) or isinstance(key, str) and key.isidentifier():
                    self.value('%s["%s"]' % (path, key) if isinstance(key, str) else
                               "%s[%d]" % (path, key), item, depth + 1, above)
        elif isinstance(value, torch.nn.Module):
            self.owner(path, value, depth + 1, above)

    def container(self, path, container, items):
        if any(isinstance(item, (torch.Tensor, torch.nn.Module)) for item in items):
            self.containers.append((container, path))
