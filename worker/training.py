"""Which modules a forward asks whether they are in training mode."""

import torch


class TrainingReads:
    """Notes the modules of the model that forward asks, by all their paths, and what they say.
    `paths`: those of each module, by id."""

    watching = None

    def __init__(self, paths):
        self.paths = paths
        self.modes = {}

    def __enter__(self):
        TrainingReads.watching = self
        return self

    def __exit__(self, *exception):
        TrainingReads.watching = None


class _Training:
    """The attribute `training` of modules, which lies in their dictionaries as ever."""

    def __get__(self, module, kind=None):
        if module is None or "training" not in module.__dict__:
            raise AttributeError("training")
        watching = TrainingReads.watching
        training = module.__dict__["training"]
        if watching is not None:
            for path in watching.paths.get(id(module), ()):
                watching.modes[path] = bool(training)
        return training

    def __set__(self, module, value):
        module.__dict__["training"] = value

    def __delete__(self, module):
        del module.__dict__["training"]


# Put in once and for all: to change a class that hundreds inherit from takes milliseconds.
torch.nn.Module.training = _Training()
