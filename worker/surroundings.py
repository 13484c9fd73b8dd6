"""What a candidate's host code sees of the world around it.

A candidate is recorded once and used for ever, so it must do the same in both places. What would
tell it where it is is refused by name (questions.py says what may be asked; host_code.py has every
attribute that the file reads or writes asked about), or answered as in a user's process. The builtins
that read attributes, or more, are replaced here for the file alone.
"""

import builtins
import contextlib
import functools
import logging
import os
import random
import secrets
import sys
import types

import numpy.random
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from triton.runtime.jit import KernelInterface

import flags
import host_code
import questions
from answers import Environment, Format, OfClass, SeenType, SharedMemory, is_text, seen_class
from opaque import Version
from refusal import Refused
from training import TrainingReads

WORKER_DIR = os.path.dirname(os.path.abspath(__file__))
PLAIN_RECURSION = 1000  # Python's own limit: a file can find out how deep calls may go

_WORKERS = frozenset(name[:-3] for name in os.listdir(WORKER_DIR) if name.endswith(".py"))


def _depth():
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


class Surroundings:
    """Of the recording of one file."""

    def __init__(self, file, recorder):
        self.file, self.recorder = file, recorder
        self.replaced = {  # functions of modules that are others for the file
            (functools, "wraps"): types.SimpleNamespace(wraps=self.wraps),
            (logging, "basicConfig"): types.SimpleNamespace(basicConfig=lambda **options: None),
            (random, "Random"): types.SimpleNamespace(Random=self._seeded(random.Random)),
            (numpy.random, "default_rng"):
                types.SimpleNamespace(default_rng=self._seeded(numpy.random.default_rng)),
            (numpy.random, "RandomState"):
                types.SimpleNamespace(RandomState=self._seeded(numpy.random.RandomState)),
            (torch, "_C"): types.SimpleNamespace(_C=SharedMemory())}
        for owner, name in _SEEDS:
            self.replaced[owner, name] = types.SimpleNamespace(**{name: self._seeding(owner, name)})
        token = secrets.token_hex(8)
        self.names = "read " + token, "write " + token
        # What another process may have otherwise (elsewhere.py).
        self.asked_version = None  # the highest that was asked for
        self.asked_device, self.asked_flags = False, set()
        self.workers = {name for name in _WORKERS if name in sys.modules}

    def refuse(self, message, line=None):
        """Without a line: at the innermost line of the file that is now running."""
        if line is not None and self.recorder.refusal is None:
            self.recorder.refusal = Refused("surroundings", message, self.file.name, line)
        self.recorder.refuse("surroundings", message)

    # -- attributes -----------------------------------------------------------------------------

    def read(self, owner, name):
        """The owner, of which the file is about to read an attribute."""
        if isinstance(owner, types.ModuleType) and (owner, name) in self.replaced:
            return self.replaced[owner, name]
        if name[:1] == "_":
            self._check_private(owner, name)
        kind = type(owner)
        if name == "__class__" and seen_class(owner) is not kind:
            return OfClass(seen_class(owner))
        if name in _FAKE and isinstance(owner, torch.Tensor):
            self.refuse("the program asks for %s, which only recorded tensors have" % name)
        if isinstance(owner, types.ModuleType):
            self._check_module(owner, name)
            self.asked_device = self.asked_device or name in _DEVICES
            if (owner, name) in flags.FLAGS:
                self.asked_flags.add((owner, name))
            return owner
        if kind.__module__ in self.workers and name not in questions.OF_STAND_INS:
            self.refuse("the program asks for %s of an object of the recorder's" % name)
        elif isinstance(owner, types.FunctionType) \
                and owner.__globals__.get("__name__") in self.workers:
            self.refuse("the program asks for %s of a function of PyTorch's" % name)
        elif isinstance(owner, torch.Tensor) and name in questions.PLACE and not self.recorder.used:
            self.refuse("the program asks for %s of a tensor before it is moved to its device" % name)
        elif isinstance(owner, KernelInterface) and name not in questions.OF_KERNELS \
                and not host_code.is_special(name):
            self.refuse("the program asks for %s of a kernel" % name)
        elif name in ("format", "format_map") and is_text(owner):
            return Format(self, owner)
        else:
            self._check_kind_of(owner, kind, name)
        self.asked_device = self.asked_device or name in _DEVICES \
            or name == "index" and kind is torch.device
        return self._version(owner) if name == "_version" else owner

    def _version(self, owner):
        """Of a tensor: how often it was changed. Modules have a _version of their class's."""
        if isinstance(owner, type) and issubclass(owner, torch.Tensor):
            self.refuse("the program asks for the _version of a class")
        if not isinstance(owner.__self__ if isinstance(owner, super) else owner, torch.Tensor):
            return owner
        version = owner._version
        self.asked_version = max(self.asked_version or 0, version)
        return types.SimpleNamespace(_version=Version(version, self.refuse))

    def check_left(self, before, what):
        """After the program did something: whether PyTorch's own state is as before."""
        now = flags.left()
        for name, value in before.items():
            if value != now[name]:
                self.refuse("%s leaves another state behind than before: %s" % (what, name))

    def _check_private(self, owner, name):
        if host_code.is_special(name):
            target = owner.__self__ if isinstance(owner, super) else owner
            if name in questions.SPECIAL or (name in ("__dict__", "__setattr__")
                                             and self._is_own(type(target))):
                if name == "__dict__" and isinstance(owner, torch.nn.Module):
                    TrainingReads.put_back(owner)
                return
        elif isinstance(owner, types.ModuleType):
            if owner.__name__.startswith("torch.ops"):
                return
        elif name in questions.PRIVATE or not self._is_private_of_library(owner, name):
            return
        self.refuse("the program asks for the private %s" % name)

    def _is_own(self, kind):
        module = sys.modules.get(kind.__module__)
        return module is not None and self._is_of_user(module)

    def _is_private_of_library(self, owner, name):
        """Whether it is PyTorch's or Triton's own, and not a name that the file gave to something."""
        kind = owner if isinstance(owner, type) else type(owner)
        if isinstance(owner, (torch.Tensor, torch.nn.Module)) or self._is_own(kind):
            return any(name in base.__dict__ for base in kind.__mro__
                       if _is_of_library(base) and base is not torch.nn.Module)
        return _is_of_library(kind)

    def _check_module(self, module, name):
        known = module.__name__
        if known.startswith(("torch.ops", "triton.language.")) or self._is_of_user(module):
            return
        if known in questions.CLOSED:
            allowed = name in questions.CLOSED[known]
        else:
            allowed = known in questions.OPEN and name not in questions.OPEN[known]
        if not allowed and not host_code.is_special(name):
            self.refuse("the program asks for %s.%s" % (known, name))

    def _is_of_user(self, module):
        """Whether it is the file itself, or lies beside it. Python and PyTorch may do so too."""
        path, top = getattr(module, "__file__", None), module.__name__.partition(".")[0]
        if module is self.file.module:
            return True
        return bool(path) and self.file.owns(path) and top not in sys.stdlib_module_names \
            and top not in questions.OPEN

    def _check_kind_of(self, owner, kind, name):
        for kinds, refused in questions.OF_KINDS:
            if isinstance(owner, kinds) and (refused is None or name in refused):
                self.refuse("the program asks for %s of a %s" % (name, seen_class(owner).__name__))

    def write(self, owner, name):
        """The owner, of which the file is about to set an attribute."""
        if host_code.is_special(name) and name not in questions.WRITTEN:
            self.refuse("the program sets %s" % name)
        elif isinstance(owner, types.ModuleType):
            if not owner.__name__.startswith("torch.backends") and not self._is_of_user(owner):
                self.refuse("the program sets %s.%s" % (owner.__name__, name))
        elif isinstance(owner, type):
            if not self._is_own(owner):
                self.refuse("the program sets %s of class %s" % (name, owner.__name__))
        return owner

    def check_kind(self, value):
        """Before the file is told the class of an object."""
        if type(value).__module__ in self.workers:
            self.refuse("the program asks for the class of an object of the recorder's")

    # -- builtins -------------------------------------------------------------------------------

    def builtins(self):
        """The builtins of the file."""
        found = dict(builtins.__dict__)
        found.update({name: self._refused(name) for name in questions.NO_BUILTINS})
        found.update({self.names[0]: self.read, self.names[1]: self.write, "type": SeenType,
                      "hash": self.hash, "getattr": self.getattr, "hasattr": self.hasattr,
                      "setattr": self.setattr, "delattr": self.delattr, "vars": self.vars, "isinstance": self.isinstance,
                      "__import__": self.import_})
        return found

    def _refused(self, name):
        def refused(*args, **kwargs):
            self.refuse("the program calls %s" % name)
        return refused

    def hash(self, value):
        if isinstance(value, Version):
            self.refuse("the program asks for the hash of the _version of a tensor")
        return hash(value)

    def getattr(self, owner, name, *default):
        return getattr(self.read(owner, self._plain(name)), name, *default)

    def hasattr(self, owner, name):
        return hasattr(self.read(owner, self._plain(name)), name)

    def setattr(self, owner, name, value):
        setattr(self.write(owner, self._plain(name)), name, value)

    def delattr(self, owner, name):
        delattr(self.write(owner, self._plain(name)), name)

    def _plain(self, name):
        """A name that says itself what it is equal to is none."""
        if type(name) is not str:
            self.refuse("the program asks for an attribute by a %s" % type(name).__name__)
        return name

    def vars(self, *owner):
        if len(owner) != 1 or not self._is_own(type(owner[0])):
            self.refuse("the program calls vars")
        return self.getattr(owner[0], "__dict__")

    @staticmethod
    def isinstance(value, kinds):
        """As of the real tensor that a fake one stands for, and of a plain number."""
        plain = _PLAIN[seen_class(value)] if type(value) is FakeTensor else value
        plain = 0 if type(value) is Version else plain
        return isinstance(plain, kinds)

    def _seeded(self, make):
        def made(*args, **kwargs):
            if (args[0] if args else kwargs.get("seed")) is None:
                self.refuse("the program draws random numbers without a seed")
            return make(*args, **kwargs)
        return made

    def _seeding(self, owner, name):
        """A model that seeds whenever it is called undoes what its user did."""
        def seeded(*args, **kwargs):
            if self.recorder.used:
                self.refuse("the program seeds the random numbers of its user's process (%s.%s)"
                            % (owner.__name__, name))
            return getattr(owner, name)(*args, **kwargs)
        return seeded

    def wraps(self, wrapped):
        """functools.wraps, which reads all that its argument has."""
        if isinstance(wrapped, torch.Tensor):
            self.refuse("the program wraps a tensor")
        return functools.wraps(wrapped)

    def import_(self, name, scope=None, local=None, names=(), level=0):
        if isinstance(names, list):  # of a library's in C, which asks the builtins it finds
            return builtins.__import__(name, scope, local, names, level)
        if any(part.startswith("_") and part != "__future__" for part in name.split(".")):
            self.refuse("the program imports the private %s" % name)
        module = builtins.__import__(name, scope, local, names, level)
        if "*" in (names or ()):
            if name not in questions.OPEN:
                self.refuse("the program imports all of %s" % name)
            return module
        owners = {part: self.read(module, part) for part in names or ()}
        if all(owner is module for owner in owners.values()):
            return module
        return types.SimpleNamespace(**{part: getattr(owner, part)
                                        for part, owner in owners.items()})

    # -- what is put in place -------------------------------------------------------------------

    @contextlib.contextmanager
    def installed(self):
        """A user's process, as far as the file can see."""
        saved = sys.argv, sys.path[:], os.environ, SeenType.surroundings
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(_depth() + PLAIN_RECURSION)
        modules = {name: sys.modules.pop(name) for name in self.workers - {"__main__"}}
        main, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
        sys.argv, os.environ, SeenType.surroundings = [""], Environment(self, os.environ), self
        sys.path[:] = [path for path in sys.path if path != WORKER_DIR]
        shown, name = FakeTensor.__repr__, FakeTensor.__name__
        FakeTensor.__name__ = "Tensor"  # as messages of errors say it
        FakeTensor.__repr__ = lambda tensor, **kwargs: self._shown() or shown(tensor, **kwargs)
        try:
            yield
        finally:
            sys.argv, sys.path[:], os.environ, SeenType.surroundings = saved
            sys.modules.update(modules, __main__=main)
            sys.setrecursionlimit(limit)
            FakeTensor.__repr__, FakeTensor.__name__ = shown, name

    def _shown(self):
        """A library may do it on the file's behalf: of a module, of a distribution."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.file.name:
            frame = frame.f_back
        if frame is not None:
            self.refuse("the program writes a tensor out as text")

    def asked_by_file(self):
        """Whether the innermost frame that has a will of its own is the file's."""
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if name == self.file.name:
                return True
            if not _passes_on(name):
                return False
            frame = frame.f_back
        return False


_STANDARD = ("<frozen", os.path.join(os.path.dirname(os.__file__), ""))


def _passes_on(file):
    """Whether frames of a file only pass questions on: the worker's and Python's own, and those of
    Tensor's methods."""
    return os.path.dirname(file) == WORKER_DIR \
        or file in (torch._tensor.__file__, torch.overrides.__file__) \
        or file.startswith(_STANDARD) and "-packages" + os.sep not in file


def _of_fake_tensors():
    """Attributes that a fake tensor has and a real one has not."""
    with FakeTensorMode():
        fake = torch.empty(1)
    return frozenset([*vars(fake), *dir(FakeTensor)]) - frozenset(dir(torch.Tensor))


_DEVICES = frozenset("get_device current_device get_current_device".split())
_SEEDS = [(torch, "manual_seed"), (torch, "set_rng_state"), (torch.cuda, "manual_seed"),
          (torch.cuda, "manual_seed_all"), (random, "seed"), (numpy.random, "seed")]

_FAKE = _of_fake_tensors()
_PLAIN = {torch.Tensor: torch.empty(0), torch.nn.Parameter: torch.nn.Parameter(torch.empty(0))}


def _is_of_library(kind):
    return str(kind.__module__).partition(".")[0] in ("torch", "triton")
