"""What a candidate's host code may see of where it runs: ways to tell a recording from a real call are
refused at their line, or answered as a user's process would; what honest files do goes on working.
"""

import os

import pytest

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(8))
    def forward(self, x):
        return torch.relu(x) * self.scale
def get_inputs():
    return [torch.randn(4, 8)]
"""

CANDIDATE = """
%s
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def kernel(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0) * tl.load(w + i %% 8, mask=i < n)
    tl.store(y + i, v, mask=i < n)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.seen = None
%s
    def ours(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](x, self.scale, y, x.numel(), BLOCK=32)
        return y
    def forward(self, x):
%s
        return self.ours(x) if answer else torch.relu(x) * self.scale
"""


def candidate(body, head="", init=""):
    init, body = ("\n".join("        " + line for line in lines.strip().splitlines())
                  for lines in (init, body))
    return CANDIDATE % (head, init, body)


def record(client, tools, source, **changes):
    harness = {"source": REFERENCE, "file": "model.py"}
    return client.run(tools.request(source, "ModelNew", harness=harness, file="candidate.py",
                                    **changes))[0]


# name -> body of forward, or (body, head)
REFUSED = {
    "frames": ("answer = sys._getframe().f_back is None  # HERE", "import sys"),
    "frames by getattr": ("answer = getattr(sys, '_get' + 'frame')()  # HERE", "import sys"),
    "sys of another module": "answer = 'recorder' in torch.sys.modules  # HERE",
    "sys of a library's module": ("answer = enum.sys.argv  # HERE", "import enum"),
    "sys from import": ("answer = True", "from sys import argv  # HERE"),
    "all of sys": ("answer = True", "from sys import *  # HERE"),
    "command line": ("answer = sys.argv == ['x']  # HERE", "import sys"),
    "tracer": ("answer = sys.gettrace()  # HERE", "import sys"),
    "reference count": ("answer = sys.getrefcount(x) > 4  # HERE", "import sys"),
    "loaded modules by vars": ("answer = vars(sys)['modules']  # HERE", "import sys"),
    "loaded modules by dir": ("answer = 'x' in dir(torch)  # HERE", "import sys"),
    "private module": "answer = torch._C._len_torch_dispatch_stack()  # HERE",
    "private import": ("answer = True", "from torch._subclasses import FakeTensor  # HERE"),
    "private import of a whole module": (
        "answer = True", "import torch._subclasses.fake_tensor as f  # HERE"),
    "overrides": ("answer = torch.overrides.has_torch_function((x,))  # HERE",
                  "import torch.overrides"),
    "dispatch mode": (
        "answer = pd.is_traceable_wrapper_subclass(x)  # HERE",
        "import torch\npd = getattr(torch.utils, '_python' + '_dispatch')  # HEAD"),
    "importlib": ("answer = importlib.import_module('sys')  # HERE", "import importlib"),
    "inspect": ("answer = inspect.stack()  # HERE", "import inspect"),
    "garbage": ("answer = gc.get_objects()  # HERE", "import gc"),
    "class of a dict": "answer = x.__dict__  # HERE",
    "fake mode": "answer = hasattr(x, 'fake_mode')  # HERE",
    "fake mode copied": ("answer = functools.wraps(x)  # HERE", "import functools"),
    "fake mode copied by an import": ("answer = wraps(x)  # HERE", "from functools import wraps"),
    "memo of a tensor": "answer = hasattr(x, '_item_memo')  # HERE",
    "attrgetter": ("answer = operator.attrgetter('fake_mode')  # HERE", "import operator"),
    "format string": "answer = '{0.fake_mode}'.format(x)  # HERE",
    "format of the class str": "answer = str.format('{0.sys.argv}', torch)  # HERE",
    "formatter": ("answer = string.Formatter()  # HERE", "import string"),
    "text of a tensor": "answer = 'Fake' in repr(x)  # HERE",
    "text of a tensor in a string": "answer = 'Fake' in f'{[x]}'  # HERE",
    "text of a tensor by itself in a string": "answer = 'Fake' in f'{x}'  # HERE",
    "text of a tensor by str": "answer = 'Fake' in str(x)  # HERE",
    "text of a tensor by format": "answer = 'Fake' in format(x)  # HERE",
    "text of a tensor by percent": "answer = 'Fake' in '%s' % (x,)  # HERE",
    "eval": "answer = eval('1')  # HERE",
    "globals": "answer = globals()  # HERE",
    "builtins": "answer = __builtins__  # HERE",
    "builtins by import": ("answer = builtins.open  # HERE", "import builtins"),
    "globals of a function": "answer = self.forward.__globals__  # HERE",
    "closure of a stand-in": "answer = torch.cuda.is_available.__closure__  # HERE",
    "name of a stand-in": "answer = torch.cuda.synchronize.__name__ == '<lambda>'  # HERE",
    "class of a stand-in": "answer = type(torch.cuda.current_stream()).__name__  # HERE",
    "class of the driver": "answer = type(triton.runtime.driver.active).__name__  # HERE",
    "profile of the driver": "answer = hasattr(triton.runtime.driver.active, 'profile')  # HERE",
    "subclasses": "answer = torch.Tensor.__subclasses__()  # HERE",
    "method resolution": "answer = object.__getattribute__(x, 'fake_mode')  # HERE",
    "traceback": "try:\n    1 // 0\nexcept Exception as e:\n    answer = e.__traceback__  # HERE",
    "traceback module": ("answer = traceback.extract_stack()  # HERE", "import traceback"),
    "warning's place": (
        "with warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always')\n"
        "    warnings.warn('x', stacklevel=3)\nanswer = w[0].filename  # HERE", "import warnings"),
    "log's place": ("answer = logging.getLogger('a').findCaller(stacklevel=4)  # HERE",
                    "import logging"),
    "process number": ("answer = os.getpid()  # HERE", "import os"),
    "process files": "answer = open('/proc/self/cmdline').read()  # HERE",
    "process files by numpy": ("answer = np.fromfile('/proc/self/stat')  # HERE",
                               "import numpy as np"),
    "clock": ("answer = time.perf_counter()  # HERE", "import time"),
    "environment": ("answer = os.environ.get('CUDA_VISIBLE_DEVICES') == ''  # HERE", "import os"),
    "environment by getenv": ("answer = os.getenv('TRITON_CACHE_DIR')  # HERE", "import os"),
    "environment's names": ("answer = 'TMPDIR' in os.environ  # HERE", "import os"),
    "environment as a dict": ("answer = dict(os.environ)  # HERE", "import os"),
    "threads": "answer = torch.get_num_threads() == 1  # HERE",
    "seed": "answer = torch.initial_seed()  # HERE",
    "random state": ("answer = random.random() < 0.9  # HERE", "import random"),
    "random numbers of an object": ("answer = random.Random().random() < 0.9  # HERE", "import random"),
    "random numbers of numpy": ("answer = np.random.default_rng().random() < 0.9  # HERE",
                                "import numpy as np"),
    "random state of numpy": ("answer = np.random.RandomState(None).rand() < 0.9  # HERE",
                              "import numpy as np"),
    "memory in use": "answer = torch.cuda.memory_allocated() == 0  # HERE",
    "build of torch": "answer = torch.version.cuda is None  # HERE",
    "fast path": "answer = torch.backends.mha.get_fastpath_enabled()  # HERE",
    "device of storage": "answer = x.untyped_storage().device.type == 'meta'  # HERE",
    "compiled kernels": "answer = kernel.device_caches  # HERE",
    "recursion limit": ("answer = sys.getrecursionlimit()  # HERE", "import sys"),
    "output": ("answer = sys.stdout.isatty()  # HERE", "import sys"),
    "life of an object": ("answer = True", "class Canary:\n    def __del__(self):  # HEAD\n"
                          "        pass"),
    "weak reference": ("answer = weakref.ref(x)  # HERE", "import weakref"),
    "abstract class": ("answer = True", "class Seen:\n    @classmethod\n"
                       "    def __subclasshook__(cls, kind):  # HEAD\n        return True"),
    "protocol": ("answer = True", "from typing import Protocol  # HEAD"),
    "class pattern": "match x:\n    case torch.Tensor():  # HERE\n        answer = True",
    "a function of PyTorch's replaced": "torch.empty = print  # HERE\nanswer = True",
    "a method of Tensor replaced": "torch.Tensor.dim = print  # HERE\nanswer = True",
    "a method replaced by setattr": "setattr(torch.Tensor, 'dim', print)  # HERE\nanswer = True",
    "true type by the type of a class": "answer = type(int)(x).__mro__  # HERE",
    "LogRecord": ("H().handle(logging.getLogger('a').makeRecord('a', 1, '', 1, '', (), None))"
                  "  # HERE\nanswer = True",
                  "import logging\nclass H(logging.NullHandler):\n    def handle(self, record):\n"
                  "        return record.process"),
    "UserString": ("answer = collections.UserString('{0.argv}').format(sys)  # HERE",
                   "import collections, sys"),
    "a graph's own Python": ("answer = torch.fx.symbolic_trace(lambda t: t.fake_mode)(x)  # HERE",
                             "import torch.fx"),
    "kernels of an operator": (
        "answer = torch.ops.aten.add.Tensor.has_kernel_for_dispatch_key('CUDA')  # HERE"),
    "attribute of an operator": "answer = torch.ops.aten.add.Tensor._dispatch_cache  # HERE",
    "compiler on the machine": ("answer = torch.utils.cpp_extension.CUDA_HOME is None  # HERE",
                                "import torch.utils.cpp_extension"),
    "driver of CUDA": "try:\n    answer = torch.cuda.current_blas_handle()  # HERE\n"
                      "except Exception:\n    answer = True",
    "size of the device's memory": (
        "answer = torch.cuda.get_device_properties(0).total_memory % 2 == 0  # HERE"),
    "default device": "answer = torch.empty(1).is_cuda  # HERE",
    "device of a parameter that is made": (
        "answer = True", "import torch\nflag = torch.nn.Parameter(torch.ones(1)).is_cuda  # HEAD"),
    "default generator": "answer = torch.manual_seed(3).device  # HERE",
    "builtins by another name": ("answer = True", "import math as __builtins__  # HEAD"),
    "builtins as a function": ("answer = True", "def __builtins__():  # HEAD\n    pass"),
    "builtins as a parameter": ("answer = True", "f = lambda __import__: 1  # HEAD"),
    "globals of a kernel": "answer = kernel.get_capture_scope()['__builtins__']  # HERE",
    "builtins of its own module": ("answer = True",
                                   "import candidate\ncandidate.__builtins__ = {}  # HEAD"),
    "builtins by object": ("answer = True", "import candidate\n"
                           "object.__setattr__(candidate, '__builtins__', {})  # HEAD"),
    "builtins by super": ("answer = True", "import candidate\n"
                          "super(type(candidate), candidate).__setattr__('a', {})  # HEAD"),
    "globals by an enumeration": ("answer = True", "import enum\nenum.global_enum  # HEAD"),
    "a name that lies": ("answer = hasattr(x, S('fake_mode'))  # HERE",
                         "class S(str):\n    def __eq__(self, other):\n        return False\n"
                         "    def __hash__(self):\n        return 1"),
    "a hook set later": ("answer = True", "class M(type):\n    pass\n"
                         "setattr(M, '__instancecheck__', lambda *a: True)  # HEAD"),
    "a hook in a new class": ("answer = True",
                              "M = type('M', (type,), {'__instancecheck__': None})  # HEAD"),
    "a version by a number": "answer = self.scale._version == 0  # HERE",
    "a version of an input": "answer = x._version < 1  # HERE",
    "a version by another name": "answer = getattr(self.scale, '_ver' + 'sion') < 1  # HERE",
    "a version by a remainder": "answer = self.scale._version % 7 != 6  # HERE",
    "a number by a version": "answer = 3 - self.scale._version > 0  # HERE",
    "a version by its hash": "answer = hash(self.scale._version) < 100000  # HERE",
    "a version by its truth": "answer = not self.scale._version  # HERE",
    "a version as an int": "answer = int(self.scale._version) == 0  # HERE",
    "a version in a text": "answer = f'{self.scale._version}' == '0'  # HERE",
    "a version by percent": "answer = '%d' % self.scale._version  # HERE",
    "a version by its class": "answer = type(self.scale._version)  # HERE",
    "a version as an index": "answer = [True] * 9\nanswer = answer[self.scale._version]  # HERE",
    "a version as a range": "answer = len(range(self.scale._version)) == 0  # HERE",
    "a version in a list": "answer = self.scale._version in [0, 1]  # HERE",
    "a version by sorting": "answer = sorted([self.scale._version, 6])[0] != 6  # HERE",
    "a version by a case": "answer = True\nmatch self.scale._version:\n    case 6:  # HERE\n"
                           "        answer = False",
    "a version by an array": ("answer = np.array([self.scale._version]) % 7 != 6  # HERE",
                              "import numpy as np"),
    "a version by its divisors": ("answer = math.gcd(self.scale._version, 6) == 6  # HERE", "import math"),
    "a version in a class": ("answer = True", "import torch\nclass T(torch.Tensor):\n"
                             "    v = torch.Tensor._version  # HEAD"),
    "a seed in a call": "torch.manual_seed(0)  # HERE\nanswer = True",
    "a seed of the device in a call": "torch.cuda.manual_seed_all(0)  # HERE\nanswer = True",
    "a seed of Python's in a call": ("random.seed(0)  # HERE\nanswer = True", "import random"),
    "a seed of numpy's in a call": ("np.random.seed(0)  # HERE\nanswer = True", "import numpy as np"),
    "a seed by an imported name": ("seed(0)  # HERE\nanswer = True", "from torch import manual_seed as seed"),
    "module name": "answer = __spec__ is None  # HERE",
    "text by a module": "answer = 'size=(' in repr(nn.Threshold(x, 1.0))  # HERE",
    "text by a distribution": (
        "answer = 'size=(' in repr(Normal(x.sum(), x.sum(), validate_args=False))  # HERE",
        "from torch.distributions import Normal"),
    "text by an array": ("a = np.empty(1, dtype=object)\na[0] = x\nanswer = 'size' in str(a)  # HERE",
                         "import numpy as np"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(client, tools, name):
    body, head = REFUSED[name] if isinstance(REFUSED[name], tuple) else (REFUSED[name], "")
    source = candidate(body, head)
    reply = record(client, tools, source)
    marked = [number for number, line in enumerate(source.split("\n"), 1)
              if line.endswith(("# HERE", "# HEAD"))]
    assert reply["status"] == "refused", reply
    assert reply["code"] == "surroundings", reply["message"]
    assert reply["line"] in marked, reply


# What depends on where it runs is no secret where both are tried.
VARIES = {
    "inference mode": "answer = torch.is_inference_mode_enabled()",
    "inference tensors": "answer = torch.empty(1, device=x.device).is_inference()",
    "no inference mode": "answer = not torch.is_inference_mode_enabled()",
    "changes of a parameter and an input": "answer = self.scale._version == x._version",
    "as many changes of a parameter and an input": (
        "answer = self.scale._version != x._version", "", "self.scale.data.mul_(1)"),
    "other changes of an input alone": (
        "ours = self.scale._version, self.offset._version\n"
        "answer = ours[0] != ours[1] or x._version in ours", "",
        "self.register_buffer('offset', torch.ones(8), persistent=False)"),
    "deterministic algorithms": "answer = not torch.are_deterministic_algorithms_enabled()",
    "algorithms that only warn": (
        "answer = not torch.is_deterministic_algorithms_warn_only_enabled()"),
    "a mode for debugging": "answer = torch.get_deterministic_debug_mode() != 1",
    "a flag by another name": ("answer = not enabled()",
                               "from torch import are_deterministic_algorithms_enabled as enabled"),
    "benchmarks of cuDNN": "answer = not getattr(torch.backends.cudnn, 'bench' + 'mark')",
    "anomaly detection": "answer = not torch.is_anomaly_enabled()",
    "two flags": "flags = torch.is_anomaly_enabled(), torch.backends.cudnn.benchmark\n"
                 "answer = not all(flags)",
    "an error for a flag": "if torch.are_deterministic_algorithms_enabled():\n"
                           "    raise RuntimeError('not so')\nanswer = True",
    "a device's index": "answer = not x.device.index",
    "a device's number": "answer = x.get_device() < 1",
    "a device's number by the class": "answer = torch.Tensor.get_device(x) == 0",
    "a device's number by a function": "answer = torch.get_device(x) == 0",
    "the current device": "answer = torch.cuda.current_device() == 0",
    "the current device imported": ("answer = current_device() == 0",
                                    "from torch.cuda import current_device"),
    "the driver's device": "answer = triton.runtime.driver.active.get_current_device() == 0",
    "the device in a text": "answer = f'cuda:{x.device.index}' == 'cuda:0'",
    "more devices": "answer = x.device.index + 1 == torch.cuda.device_count()",
    "what the mode changes": "answer = True\nx = x * (1 + torch.is_inference_mode_enabled())",
}


# What is left behind in the process of the user: name -> (state, body, head).
LEFT = {
    "gradients off": ("gradients", "answer = True", "import torch\ntorch.set_grad_enabled(False)"),
    "gradients off in a call": (
        "gradients", "torch.set_grad_enabled(not torch.is_grad_enabled())\nanswer = True", ""),
    "gradients off by a context": ("gradients", "answer = True",
                                   "import torch\nforever = torch.no_grad()\nforever.__enter__()"),
    "inference mode left on": ("inference mode", "answer = True",
                               "import torch\non = torch.inference_mode()\non.__enter__()"),
    "another default dtype in a call": (
        "default dtype", "torch.set_default_dtype(torch.float64)\nanswer = True", ""),
    "another default device": ("default device", "answer = True",
                               "import torch\ntorch.set_default_device('cuda')"),
    "deterministic algorithms": (
        "deterministic", "torch.use_deterministic_algorithms(True)\nanswer = True", ""),
    "anomaly detection": ("anomaly", "torch.autograd.set_detect_anomaly(True)\nanswer = True", ""),
    "autocast left on": ("autocast", "torch.autocast('cuda').__enter__()\nanswer = True", ""),
}


@pytest.mark.parametrize("name", LEFT)
def test_leaves_the_process_as_it_was(client, tools, name):
    state, body, head = LEFT[name]
    reply = record(client, tools, candidate(body, head))
    assert (reply["status"], reply["code"]) == ("refused", "surroundings"), reply
    assert "leaves another state" in reply["message"] and state in reply["message"]


@pytest.mark.parametrize("name", VARIES)
def test_varies(client, tools, name):
    texts = VARIES[name] if isinstance(VARIES[name], tuple) else (VARIES[name],)
    reply = record(client, tools, candidate(*texts))
    assert reply["status"] == "refused", reply
    assert reply["code"] == "varies", reply["message"]


# Questions whose answer must be a user's: the kernel is launched where it is.
ANSWERED = {
    "type": "answer = type(x) is torch.Tensor",
    "class": "answer = x.__class__ is torch.Tensor",
    "type of a type": "answer = type(int) is type and type(int)(x) is torch.Tensor",
    "class of a class": "answer = int.__class__ is type and int.__class__(x) is torch.Tensor",
    "class in an error's message": ("try:\n    answer = ''.join([x])\n"
                                    "except TypeError as e:\n    answer = 'Tensor found' in str(e)"
                                    " and 'Fake' not in str(e)"),
    "how deep calls go": ("def deep(n):\n    try:\n        return deep(n + 1)\n"
                          "    except RecursionError:\n        return n\nanswer = 900 < deep(0) < 1000"),
    "how long tensors live": ("live[x + 1] = 1\nanswer = len(live) == 0",
                              "from torch.utils.weak import WeakTensorKeyDictionary\n"
                              "live = WeakTensorKeyDictionary()"),
    "imports of a library": ("answer = float(np.ones(3).mean()) == 1.0", "import numpy as np"),
    "a registered fake": ("answer = True", "import torch\n@torch.library.triton_op('a::b', "
                          "mutates_args={})\ndef b(x: torch.Tensor) -> torch.Tensor:\n"
                          "    return x\n@b.register_fake\ndef _(x):\n    return x"),
    "identity in place": "y = x.clone()\nanswer = y.add_(1) is y and torch.add(x, x, out=y) is y",
    "shared memory": "answer = torch._C._is_alias_of(x, x.view(-1)) "
                     "and not torch._C._is_alias_of(x, x.clone())",
    "basic logging": ("answer = True", "import logging\nlogging.basicConfig(level=logging.INFO)"),
    "modes in its dict": "answer = 'training' in self.__dict__ and vars(self)['training']",
    "set by super": ("answer = A().b == 3", "class A:\n    def __init__(self):\n"
                     "        super().__setattr__('b', 3)"),
    "class by getattr": "answer = getattr(x, '__cl' + 'ass__') is torch.Tensor",
    "class of a result": "answer = type(x + 1).__name__ == 'Tensor'",
    "class of a parameter": "answer = type(self.scale) is nn.Parameter",
    "type by reference": "answer = list(map(type, [x])) == [torch.Tensor]",
    "instance": "answer = isinstance(x, torch.Tensor) and not isinstance(x, nn.Parameter)",
    "instance of a parameter": "answer = isinstance(self.scale, nn.Parameter)",
    "type of a class": "answer = isinstance(nn.Module, type) and issubclass(type, object)",
    "metaclass": ("answer = type(A) is Meta and A().value == 3",
                  "class Meta(type):\n    pass\nclass A(metaclass=Meta):\n    value = 3"),
    "own class": "answer = type(self).__name__ == 'ModelNew' and self.__class__ is ModelNew",
    "own dict": "self.__dict__['note'] = 3\nanswer = self.__dict__['note'] == 3",
    "own private attribute": "self._note = 3\nanswer = self._note == 3",
    "mangled attribute": "self.__note = 3\nanswer = self.__note == 3",
    "getattr with a default": "answer = getattr(self, 'nothing', 7) == 7",
    "format": "answer = '{0.shape[0]} {a:>3}'.format(x, a=2) == '4   2'",
    "format of a literal class": "answer = str.format('{}', 3) == '3'",
    "shape in a string": "answer = f'{x.shape}' == 'torch.Size([4, 8])'",
    "main": "answer = __name__ == 'candidate'",
    "environment of its own": (
        "answer = os.environ['MY_KERNEL'] == '1' and os.getenv('MY_OTHER', '7') == '7'",
        "import os\nos.environ.setdefault('MY_KERNEL', '1')"),
    "logging": ("log.debug('%s', x.shape)\nanswer = log.name == __name__",
                "import logging\nlog = logging.getLogger(__name__)"),
    "warning": ("warnings.warn('slow')\nanswer = True", "import warnings"),
    "suppress": ("answer = False\nwith suppress(KeyError):\n    answer = True\n    {}['a']",
                 "from contextlib import suppress"),
    "cache": ("answer = width(8) == 32",
              "import functools\n@functools.lru_cache(None)\ndef width(n):\n    return 4 * n"),
    "decorator": ("answer = three() == 3 and three.__name__ == 'three'",
                  "from functools import wraps\ndef same(f):\n    @wraps(f)\n"
                  "    def g(*a):\n        return f(*a)\n    return g\n"
                  "@same\ndef three():\n    return 3"),
    "typing": ("answer = Optional[int] is not None and width(8) == 8",
               "from typing import Optional, Tuple\nimport torch\n"
               "def width(n: Optional[int], x: 'torch.Tensor' = None) -> int:\n    return n"),
    "unused imports": ("answer = sys.version_info >= (3, 8) and os.path.join('a', 'b') == 'a/b'",
                       "import gc, inspect, os, sys, time, threading"),
    "optional import": ("answer = not found", "try:\n    import no_such_module_here\n"
                        "    found = True\nexcept ImportError:\n    found = False"),
    "dataclass": ("answer = Launch(4).block == 4", "from dataclasses import dataclass\n"
                  "@dataclass(frozen=True)\nclass Launch:\n    block: int = 3"),
    "flags": "torch.backends.cuda.matmul.allow_tf32 = False\n"
             "torch.backends.cudnn.benchmark = True\nanswer = True",
    "device": "p = torch.cuda.get_device_properties(x.device)\n"
              "answer = p.multi_processor_count > 1 and torch.cuda.is_available()",
    "numpy": ("answer = np.sqrt(4.0) == 2.0", "import numpy as np"),
    "identity": "answer = x.contiguous() is x and x.to(x.dtype) is x",
    "changes since the last call": "if self.seen != self.scale._version:\n"
                                   "    self.seen, self.scaled = self.scale._version, self.scale * 1\n"
                                   "answer = True",
    "a version that none can be": "if getattr(self, 'at', -1) != self.scale._version:\n"
                                  "    self.at = self.scale._version\n"
                                  "answer = self.at != -1 and self.at is not None",
    "a version copied": ("v = self.scale._version\nanswer = copy.deepcopy([v]) == [v]", "import copy"),
    "a device of a number": "i = x.device.index or 0\n"
                            "d = torch.device(f'cuda:{torch.cuda.current_device()}')\n"
                            "answer = torch.empty(3, device='cuda:%d' % i).device == d == x.device",
    "flags of precision": "tf32 = torch.backends.cuda.matmul.allow_tf32\n"
                          "answer = not tf32 or torch.is_autocast_enabled('cuda')",
    "versions as keys": "key = (x.shape, self.scale._version)\n"
                        "self.seen = self.seen or {}\nif key not in self.seen:\n"
                        "    self.seen[key] = self.scale * 1\n"
                        "answer = self.seen.get(key) is self.seen[key] and (8, None) not in self.seen",
    "versions as ordered keys": ("v = self.scale._version\nkept[x.shape, v] = 1\n"
                                 "kept.move_to_end((x.shape, v))\nanswer = (x.shape, v) in kept",
                                 "from collections import OrderedDict\nkept = OrderedDict()"),
    "versions of some": "now = [p._version for p in self.parameters()]\n"
                        "answer = self.seen is None or self.seen == now\nself.seen = now",
    "a version is an int": "answer = isinstance(self.scale._version, int)",
    "devices as keys": ("i = x.device.index\nif i not in known:\n"
                        "    known[i] = torch.cuda.get_device_properties(i).multi_processor_count\n"
                        "also = {x.get_device(): 3}\n"
                        "answer = known[i] > 1 and also[x.device.index] == 3", "known = {}"),
    "the device in a cache": ("answer = units(torch.cuda.current_device()) > 1 and units(x.get_device()) > 1"
                              " and units.cache_info().misses > 0",
                              "import functools, torch\n@functools.lru_cache(maxsize=None)\n"
                              "def units(i):\n"
                              "    return torch.cuda.get_device_properties(i).multi_processor_count"),
    "a cached method": ("answer = A().twice(4) == 8 and A.twice(A(), 3) == 6",
                        "from functools import cache\nclass A:\n    @cache\n"
                        "    def twice(self, n):\n        return 2 * n"),
    "devices passed on": "d = torch.device('cuda', x.device.index)\n"
                         "with torch.cuda.device(x.device.index), torch.cuda.device(d):\n"
                         "    z = torch.empty(3, device=x.get_device())\n"
                         "torch.cuda.current_stream(x.device.index).synchronize()\n"
                         "torch.cuda.synchronize(torch.cuda.current_device())\n"
                         "z = z.to(x.get_device()).cuda(x.get_device()).to(d)\n"
                         "answer = z.device == x.device == d and x.device.index is not None",
    "devices compared": "assert x.device == self.scale.device and x.is_cuda\n"
                        "if x.device.index != torch.cuda.current_device():\n"
                        "    torch.cuda.set_device(x.device.index)\n"
                        "answer = x.get_device() >= 0 and x.get_device() != -1",
    "text of the device in an error": "if not x.is_cuda:\n    raise ValueError(f'{x.device}')\n"
                                      "answer = x.device.type == 'cuda'",
    "the active device": ("assert x.device == DEVICE\nanswer = True",
                          "import triton\nDEVICE = triton.runtime.driver.active.get_active_torch_device()"),
    "flags set and read": ("torch.backends.cudnn.benchmark = True\nanswer = torch.backends.cudnn.benchmark",
                           "import torch\ntorch.set_float32_matmul_precision('high')\n"
                           "fast = torch.get_float32_matmul_precision() == 'high'"),
    "default dtype for a while": "old = torch.get_default_dtype()\n"
                                 "torch.set_default_dtype(torch.float32)\n"
                                 "torch.set_default_dtype(old)\nanswer = True",
    "modes entered and left": "with torch.no_grad(), torch.autocast('cuda', enabled=False), "
                              "torch.enable_grad():\n    answer = True",
    "seed at load": ("answer = True", "import random, torch\ntorch.manual_seed(0)\nrandom.seed(1)"),
    "random numbers of its own": ("answer = np.random.RandomState(3).rand() < 1",
                                  "import numpy as np"),
    "parameters": "answer = [n for n, _ in self.named_parameters()] == ['scale']",
    "assignments": "self.a = self.b = 1\nself.a += 1\nself.c, self.d = 3, 4\n"
                   "answer = (self.a, self.b, self.c, self.d) == (2, 1, 3, 4)",
}


@pytest.mark.parametrize("name", ANSWERED)
def test_answered(client, tools, name):
    body, head = ANSWERED[name] if isinstance(ANSWERED[name], tuple) else (ANSWERED[name], "")
    reply = record(client, tools, candidate(body, head))
    assert reply["status"] == "ok", reply
    assert any("launch" in step for step in reply["task"]["forward"]["steps"])


def test_python_in_the_models_folder_is_not_its_users(client, tools):
    source = candidate("answer = gc.get_objects()  # HERE", "import gc, inspect\nframes = inspect.stack")
    reply = record(client, tools, source, folder=os.path.dirname(os.path.dirname(os.__file__)))
    assert (reply["status"], reply["code"]) == ("refused", "surroundings"), reply
    assert "inspect.stack" in reply["message"]


def test_a_module_beside_the_file_is_its_users(client, tools, tmp_path):
    (tmp_path / "beside.py").write_text("import time\ndef width():\n    return time.time() > 0\n")
    reply = record(client, tools, candidate("answer = beside.width()", "import beside"),
                   folder=str(tmp_path))
    assert reply["status"] == "ok", reply
    assert any("launch" in step for step in reply["task"]["forward"]["steps"])


def test_a_constructor_may_seed(client, tools):
    source = candidate("answer = True").replace("super().__init__()",
                                                "super().__init__()\n        torch.manual_seed(0)")
    assert record(client, tools, source)["status"] == "ok"


def test_a_reference_is_its_users_own(client, tools):
    source = REFERENCE.replace("import torch", "import sys, time, torch\nprint(sys.argv)", 1)
    reply, _ = client.run(tools.request(source, init_inputs=False))
    assert reply["status"] == "ok", reply


def test_left_out_it_refuses_nothing(client, tools):
    source = candidate("answer = sys._getframe() is not None and type(x) is not torch.Tensor",
                       "import sys")
    reply = record(client, tools, source, without=["surroundings"])
    assert any("launch" in step for step in reply["task"]["forward"]["steps"])
