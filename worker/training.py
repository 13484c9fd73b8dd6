"""Whether a forward depends on being in training mode."""

import torch


class TrainingReads:
    """Notes whether forward asks a module of the model if it is in training mode."""

    watching = None

    def __init__(self, model):
        self.model = model if isinstance(model, torch.nn.Module) else None
        self.read = False

    def __enter__(self):
        self.modules = set(map(id, self.model.modules())) if self.model is not None else set()
        TrainingReads.watching = self
        return self

    def __exit__(self, *exception):
        TrainingReads.watching = None

    def mode(self):
        if not self.read:
            return "any"
        return "train" if self.model.training else "eval"


class _Training:
    """The attribute `training` of modules, which lies in their dictionaries as ever."""

    def __get__(self, module, kind=None):
        if module is None or "training" not in module.__dict__:
            raise AttributeError("training")
        watching = TrainingReads.watching
        if watching is not None and id(module) in watching.modules:
            watching.read = True
        return module.__dict__["training"]

    def __set__(self, module, value):
        module.__dict__["training"] = value

    def __delete__(self, module):
        del module.__dict__["training"]


# Put in once and for all: to change a class that hundreds inherit from takes milliseconds.
torch.nn.Module.training = _Training()
