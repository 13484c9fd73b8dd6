"""What a constructed model holds: parameters, buffers, and tensors kept as plain attributes."""

import torch

MAX_DEPTH = 6  # of containers inside an attribute

# Attributes of modules that hold parameters a second time, or nothing of the user's.
_INTERNAL = {"_parameters", "_buffers", "_modules", "_flat_weights", "_flat_weight_refs",
             "_non_persistent_buffers_set"}


def collect_state(model, key_of):
    """Entries {"names", "kind", "key"} in order: parameters, buffers, constants. Tensors with the same
    key_of(tensor) are one entry with several names."""
    entries = {}

    def add(name, tensor, kind):
        key = key_of(tensor)
        entry = entries.setdefault(key, {"names": [], "kind": kind, "key": key})
        if name not in entry["names"]:
            entry["names"].append(name)

    if isinstance(model, torch.nn.Module):
        for name, parameter in model.named_parameters(remove_duplicate=False):
            add(name, parameter, "parameter")
        for name, buffer in model.named_buffers(remove_duplicate=False):
            add(name, buffer, "buffer")
        for path, module in model.named_modules(remove_duplicate=False):
            prefix = path + "." if path else ""
            _walk_attributes(prefix, module, add, 0)
    elif hasattr(model, "__dict__"):
        _walk_attributes("", model, add, 0)
    return list(entries.values())


def _walk_attributes(prefix, owner, add, depth):
    for name, value in vars(owner).items():
        if name not in _INTERNAL and name.isidentifier():
            _walk(prefix + name, value, add, depth)


def _walk(path, value, add, depth):
    """Tensors inside an attribute's containers, and in modules that only a container holds. The
    path is the Python expression that reaches them."""
    if isinstance(value, torch.Tensor):
        add(path, value, "constant")
    elif depth >= MAX_DEPTH:
        return
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _walk("%s[%d]" % (path, index), item, add, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, int) or isinstance(key, str) and key.isidentifier():
                _walk('%s["%s"]' % (path, key) if isinstance(key, str) else
                      "%s[%d]" % (path, key), item, add, depth + 1)
    elif isinstance(value, torch.nn.Module) and path.endswith("]"):
        for name, part in value.named_modules(remove_duplicate=False):
            inner = path + "." + name + "." if name else path + "."
            for table in (part._parameters, part._buffers):
                for key, tensor in table.items():
                    if tensor is not None:
                        add(inner + key, tensor, "constant")
            _walk_attributes(inner, part, add, depth + 1)
