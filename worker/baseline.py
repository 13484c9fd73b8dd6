"""torch.compile's versions of references, as AOTInductor packages: the task "package" of
compile_server.py.

    {"task": "package", "out": PATH of the package, "source": model file, "folder": where it lies,
     "class": "Model", "state": names of each entry, "inputs": indices or [], "max_autotune": false}

A package is a function of forward's inputs: the state first, then the arguments' tensors. A request may
ask for some of them only, in an order of its choice. So the executor can feed it the same tensors as the
other programs. Files with the package's stem belong to the request.
"""

import importlib.util
import sys
from pathlib import Path


def load_module(path, folder, name="kernelwright_reference"):
    """The model file as a module; its own imports are looked up in `folder`."""
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def made(module, cls, device):
    """A model of the module's class and the arguments of a call, on the device."""
    import torch
    import torch.utils._pytree as pytree
    with torch.device(device):
        given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        if isinstance(given, dict):
            model = cls(**given)
        else:
            model = cls(*(given if isinstance(given, (list, tuple)) else [given]))
        arguments = list(module.get_inputs())
    arguments = pytree.tree_map(
        lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, arguments
    )
    return model.to(device), arguments


def build(request, device):
    """Makes the package of one request."""
    import torch
    import torch.utils._pytree as pytree
    package = Path(request["out"])
    source = package.with_suffix(".py")
    source.write_text(request["source"])
    module = load_module(source, request["folder"])
    model, arguments = made(module, getattr(module, request["class"]), device)
    leaves, tree = pytree.tree_flatten(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    names = request["state"]
    named = dict(model.named_parameters(remove_duplicate=False))
    named.update(model.named_buffers(remove_duplicate=False))

    class Functional(torch.nn.Module):
        """The model with its state as arguments."""

        def forward(self, *given):
            tensors = list(everything)
            for place, tensor in zip(order, given):
                tensors[place] = tensor
            state = {}
            for aliases, tensor in zip(names, tensors):
                for alias in aliases:
                    if alias in named:
                        state[alias] = tensor
            filled = list(leaves)
            for place, tensor in zip(places, tensors[len(names) :]):
                filled[place] = tensor
            args = pytree.tree_unflatten(filled, tree)
            return torch.func.functional_call(model, state, tuple(args))

    missing = [aliases for aliases in names if not any(alias in named for alias in aliases)]
    if missing:
        raise ValueError(f"state that is no parameter or buffer: {missing[0]}")
    state = [named[aliases[0]].detach() for aliases in names]
    everything = state + [leaves[place] for place in places]
    order = request["inputs"] or range(len(everything))
    with torch.no_grad():
        program = torch.export.export(Functional(), tuple(everything[i] for i in order))
        torch._inductor.aoti_compile_and_package(
            program, package_path=str(package),
            inductor_configs={"max_autotune": request["max_autotune"]})
