"""Whether a forward depends on being in training mode."""

import torch


class TrainingReads:
    """Whether forward asks a module if it is in training mode. The flags are taken out of the
    modules for the length of a call, so that asking for one goes through Module.__getattr__."""

    watching = None

    def __init__(self, model):
        self.model = model if isinstance(model, torch.nn.Module) else None
        self.read = False

    def __enter__(self):
        modules = self.model.modules() if self.model is not None else ()
        self.flags = {id(module): (module, module.__dict__.pop("training"))
                      for module in modules if "training" in module.__dict__}
        TrainingReads.watching = self
        return self

    def __exit__(self, *exception):
        TrainingReads.watching = None
        for module, flag in self.flags.values():
            module.__dict__.setdefault("training", flag)

    @staticmethod
    def look_up(module, name):
        watching = TrainingReads.watching
        if name == "training" and watching is not None and id(module) in watching.flags:
            watching.read = True
            return watching.flags[id(module)][1]
        return _module_attribute(module, name)

    def mode(self):
        if not self.read:
            return "any"
        return "train" if self.model.training else "eval"


# Put in once and for all: to change a class that hundreds inherit from takes milliseconds.
_module_attribute = torch.nn.Module.__getattr__
torch.nn.Module.__getattr__ = TrainingReads.look_up
