"""torch.compile's version of a reference, as an AOTInductor package.

A trusted process (it runs the reference only, may use the GPU, and is not sandboxed). The package
is a function of forward's inputs, state first, then the arguments' tensors (or of some of them, in
an order that is asked for), so that the executor can feed it the very tensors it feeds the other
programs.
"""

import argparse
import importlib.util
import json
import sys
from pathlib import Path


def load_module(path: Path, folder: str):
    """The model file as a module; its own imports are looked up in `folder`."""
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("kernelwright_reference", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--class", dest="cls", default="Model")
    parser.add_argument("--takes", type=Path, required=True,
                        help='JSON: {"state": names of each entry, "inputs": indices or []}')
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folder", default=".", help="where the model file lies")
    options = parser.parse_args()

    import torch
    import torch._inductor.config as inductor
    import torch.utils._pytree as pytree

    # Which vector instructions the CPU has does not matter here; trying each takes half a minute.
    inductor.cpp.vec_isa_ok = True

    module = load_module(options.model, options.folder)
    with torch.device("cuda"):
        given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        if isinstance(given, dict):
            model = getattr(module, options.cls)(**given)
        else:
            given = given if isinstance(given, (list, tuple)) else [given]
            model = getattr(module, options.cls)(*given)
        arguments = list(module.get_inputs())
    model = model.cuda()
    arguments = pytree.tree_map(
        lambda x: x.cuda() if isinstance(x, torch.Tensor) else x, arguments
    )
    leaves, tree = pytree.tree_flatten(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    takes = json.loads(options.takes.read_text())
    names = takes["state"]
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
        raise SystemExit(f"state that is no parameter or buffer: {missing[0]}")
    state = [named[aliases[0]].detach() for aliases in names]
    everything = state + [leaves[place] for place in places]
    order = takes["inputs"] or range(len(everything))
    with torch.no_grad():
        program = torch.export.export(Functional(), tuple(everything[i] for i in order))
        torch._inductor.aoti_compile_and_package(program, package_path=str(options.out))


if __name__ == "__main__":
    main()
