"""Recording Triton launches without compiling: what Triton's binder found out about a launch is
written down, for a trusted process to compile from the sliced source later.

A **Raw kernel** (docs/formats/protocol.md) names functions of the user's file by qualified name and
first line, with the globals that each one uses as Bindings.
"""

import ast
import builtins
import contextlib
import functools
import inspect
import operator
import textwrap
import types

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime import jit
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction, KernelInterface
from triton.tools.tensor_descriptor import TensorDescriptor

import advice
from language import MODULES
from loading import definitions, source_lines
from refusal import Refused, kind_of
from tape import Launch, number_to_json, values_in

ALLOWED_OPTIONS = {"num_warps", "num_ctas", "num_stages", "maxnreg", "enable_fp_fusion",
                   "launch_pdl", "launch_cooperative_grid"}

# Triton's hooks (triton.knobs.runtime) that run around a real launch or compile and not here.
_HOOKS = ("launch_enter_hook", "launch_exit_hook", "kernel_load_start_hook", "kernel_load_end_hook",
          "jit_cache_hook", "jit_post_compile_hook")

GRID_LIMITS = (2 ** 31 - 1, 65535, 65535)  # CUDA's


# Triton's names of properties that PyTorch has other names for.
_TORCH_NAMES = {"max_shared_mem": "shared_memory_per_block_optin",
                "max_num_regs": "regs_per_multiprocessor",
                "multiprocessor_count": "multi_processor_count", "warpSize": "warp_size"}


class _Answers(dict):
    """Properties of a device. `asked` is told the names that are read."""

    def __init__(self, properties, asked):
        super().__init__(properties)
        self._asked = asked

    def __getitem__(self, name):
        self._asked.add(_TORCH_NAMES.get(name, name))
        return super().__getitem__(name)

    def get(self, name, default=None):
        return self[name] if name in self else default


# Triton's metadata of a compiled kernel and docs/formats/task.md call these by one name.
_METADATA = ("shared", "num_warps", "num_ctas", "global_scratch_size", "global_scratch_align",
             "profile_scratch_size", "profile_scratch_align", "launch_pdl", "launch_cooperative_grid")


class _Utils:
    def __init__(self, profile, asked):
        self.profile, self.asked = profile, asked

    def get_device_properties(self, device):
        return _Answers({"max_shared_mem": int(self.profile.get("shared_per_block", 0)),
                "max_num_regs": int(self.profile.get("registers_per_sm", 65536)),
                "multiprocessor_count": int(self.profile.get("sms", 1)), "warpSize": 32,
                "sm_clock_rate": 1980000, "mem_clock_rate": 3201000, "mem_bus_width": 6144}, self.asked)

    def load_binary(self, *args):
        raise RuntimeError("there is no device to load a kernel on")


class RecordingDriver(DriverBase):
    """Triton's view of the GPU that is not there."""

    def __init__(self, profile, recorder=None):
        super().__init__()
        self.recorder = recorder
        self.arch = int(profile.get("arch", "sm_90")[3:])
        self.utils = _Utils(profile, recorder.asked if recorder is not None else set())

    @classmethod
    def is_active(cls):
        return True

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        return GPUTarget("cuda", self.arch, 32)

    def get_active_torch_device(self):
        return torch.device("cuda", self.get_current_device())

    def get_device_interface(self):
        return torch.cuda

    def get_benchmarker(self):
        if self.recorder is not None:  # a program could go on from the error
            self.recorder.refuse("unsupported", "the program times kernels, and none runs while it is "
                                 "recorded: let triton.autotune choose")
        raise RuntimeError("nothing is timed while recording")

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=0):
        return 0

    def get_device_capability(self, device=0):
        self.utils.asked.add("capability")
        return divmod(self.arch, 10)

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass


class _RecordedKernel:
    """What JITFunction.run launches: hands the launch to the recorder. What a compiled kernel tells of
    itself the compiler is asked for."""

    function = packed_metadata = module = None

    def __init__(self, launches, kernel, arguments):
        self._launches, self._kernel, self._arguments = launches, kernel, arguments
        self.name = launches.kernels[kernel]["name"]

    def _init_handles(self):
        pass

    def __getitem__(self, grid):
        def run(*args, stream=None):
            self.run(*grid, *[1] * (3 - len(grid)), stream, None, None, None, None, None, *args)
        return run

    n_regs = property(lambda kernel: kernel._compiled("n_regs")["registers"])
    n_spills = property(lambda kernel: kernel._compiled("n_spills")["spills"])

    @property
    def metadata(self):
        found = self._compiled("metadata")
        given = {name: found[name] for name in _METADATA}
        return types.SimpleNamespace(name=found["symbol"], **given)

    def _compiled(self, what):
        return self._launches.compiled(self._kernel, what)

    def launch_metadata(self, grid, stream, *args):
        return None

    def run(self, x, y, z, stream, function, metadata, launch_metadata, enter, leave, *args):
        self._launches.write(self._kernel, (x, y, z), [_item(args, p) for p in self._arguments])

    def __getattr__(self, name):
        if name == "result":  # triton 3.6 asks whether the kernel is a future
            raise AttributeError(name)
        if name.startswith("__"):
            raise AttributeError(name)
        return self._launches.refuse_secret(name)


MOST_STEPS = 1 << 14  # of a call that launches kernels


class Launches:
    """The launches of one recording. `kernels` holds Raw kernels, equal ones once."""

    def __init__(self, recorder, file, profile, tunings, compile_one=None):
        """`compile_one(raw)` gives what the compiler says of a Raw kernel, if there is one to ask."""
        self.recorder, self.file, self.tunings = recorder, file, tunings
        self.compile_one, self.told = compile_one, {}
        self.driver = RecordingDriver(profile, recorder)
        self.kernels = []
        self.names = {}  # of a function's code: what it takes from outside
        self.parsed = {}  # file -> the functions in it, by first line
        self.compared = set()  # (function, text) whose text is the file's
        self.globals = {}  # of a function: the globals that Triton would have compiled in

    @contextlib.contextmanager
    def installed(self):
        saved = JITFunction._do_compile, Autotuner.run, jit.create_function_from_signature, JITFunction.run
        launches = self

        def record_instead(kernel, key, signature, device, constexprs, options, attrs, warmup):
            return launches.bind(kernel, signature, constexprs, options, attrs)

        def run_chosen_configuration(tuner, *args, **kwargs):
            return launches.tunings.run(tuner, args, kwargs)

        def specialize_all(signature, parameters, backend):
            """A program has one size of everything, and what it exports specializes kernels for it."""
            parameters = [jit.KernelParam(each.num, each._param, False, False) for each in parameters]
            return saved[2](signature, parameters, backend)

        def run_on_real_numbers(kernel, *args, **kwargs):
            if any(isinstance(value, torch.Tensor) and value.is_complex() for value in (*args, *kwargs.values())):
                launches.recorder.refuse("raised", "kernel %s gets a tensor of complex numbers, which Triton does not "
                                         "have: give it torch.view_as_real(tensor)" % kernel.__name__)
            return saved[3](kernel, *args, **kwargs)

        previous = driver._active
        driver.set_active(self.driver)
        JITFunction._do_compile, Autotuner.run = record_instead, run_chosen_configuration
        jit.create_function_from_signature, JITFunction.run = specialize_all, run_on_real_numbers
        try:
            yield
        finally:
            JITFunction._do_compile, Autotuner.run, jit.create_function_from_signature, JITFunction.run = saved
            driver._active = previous

    # -- one launch -----------------------------------------------------------------------------

    def bind(self, kernel, signature, constexprs, options, attrs):
        """Instead of compiling: the Raw kernel, and which arguments a launch of it passes."""
        self.check_hooks()
        params, arguments, indices = [], [], {}
        for position, (name, kind) in enumerate(signature.items()):
            for inner, leaf_kind in self.leaves(name, kind):
                path = (position, *inner)
                indices[path] = len(params)
                params.append({"name": ".".join(map(str, (name, *inner))), "type": leaf_kind})
                if leaf_kind != "constexpr":
                    arguments.append(path)
        functions = Functions(self)
        entry = functions.add(kernel)
        raw = {"name": kernel.__name__, "params": params,
               "constexprs": {str(indices[path]): functions.constexpr(value)
                              for path, value in constexprs.items()},
               "attrs": {str(indices[path]): [list(pair) for pair in found]
                         for path, found in attrs.items() if found},
               "options": self.options(kernel, options),
               "function": entry, "functions": functions.listed}
        if functions.sources:
            raw["sources"] = functions.sources
        if raw not in self.kernels:
            self.kernels.append(raw)
        return _RecordedKernel(self, self.kernels.index(raw), arguments)

    def compiled(self, kernel, what):
        """What the compiler says of a kernel, by index."""
        if self.compile_one is None:
            self.recorder.refuse("unsupported", "a module that the file imports reads %s of a compiled "
                                 "kernel: read it in the file itself" % what)
        if kernel not in self.told:
            try:
                self.told[kernel] = self.compile_one(self.kernels[kernel])
            except Refused as refusal:
                self.recorder.refuse(refusal.code, refusal.message)
        return self.told[kernel]

    def refuse_secret(self, name):
        self.recorder.refuse("unsupported", "the program reads %s of a compiled kernel, of which only n_regs, "
                             "n_spills and metadata are known while it is recorded" % name)

    def check_hooks(self):
        runtime = triton.knobs.runtime
        for name in _HOOKS:
            hook = getattr(runtime, name, None)
            if getattr(hook, "calls", hook):  # a chain of hooks, or one
                self.recorder.refuse("hidden-launch", "the hook triton.knobs.runtime.%s runs code around "
                                     "launches, which cannot be recorded: remove it" % name)
        if getattr(runtime, "add_stages_inspection_hook", None) is not None:
            self.recorder.refuse("option", "triton.knobs.runtime.add_stages_inspection_hook changes the "
                                 "compiler: remove it")

    def leaves(self, name, kind):
        """(path inside the parameter, type) of what Triton passes for it: tuples are flattened, a
        host tensor descriptor is followed by its shape and strides."""
        if not isinstance(kind, tuple):
            if not kind.startswith(("tensordesc", "nvTmaDesc")):
                return [((), kind)]
            if "." in name or not kind.startswith("tensordesc<"):
                self.recorder.refuse("unsupported", "argument %s of a kernel is a tensor descriptor in a "
                                     "tuple, or of an older kind: pass a TensorDescriptor alone" % name)
            rank = range(kind.count(",") + 1)
            return [((), kind), *((("shape", i), "i32") for i in rank),
                    *((("strides", i), "i64") for i in rank)]
        if not kind or hasattr(kind, "_fields"):
            self.recorder.refuse("unsupported", "argument %s of a kernel is %s" % (
                name, "a named tuple: pass a plain one" if kind else "an empty tuple: leave it out"))
        return [((index, *path), leaf) for index, item in enumerate(kind)
                for path, leaf in self.leaves("%s.%d" % (name, index), item)]

    def options(self, kernel, options):
        _, _, target, backend, _ = kernel.device_caches[0]
        defaults = backend.parse_options({"debug": False, "instrumentation_mode": ""}).__dict__
        changed = {}
        for name, value in options.__dict__.items():
            if value != defaults.get(name):
                if name not in ALLOWED_OPTIONS:
                    self.recorder.refuse("option", "launch option %s of kernel %s is not allowed (allowed: "
                                         "%s)" % (name, kernel.__name__, ", ".join(sorted(ALLOWED_OPTIONS))))
                    continue
                changed[name] = value
        return changed

    def write(self, kernel, grid, arguments):
        grid = [self.grid_size(kernel, place, size) for place, size in enumerate(grid)]
        if 0 in grid:
            return  # Triton launches nothing
        params = [p for p in self.kernels[kernel]["params"] if p["type"] != "constexpr"]
        encoded = [self.argument(value, p["type"], "argument %s of kernel %s" % (
            p["name"], self.kernels[kernel]["name"])) for value, p in zip(arguments, params)]
        for value in values_in(encoded):
            self.recorder.forget_literals(value.storage)
        steps = self.recorder.tape.steps
        if len(steps) >= MOST_STEPS:
            self.recorder.refuse("work", "one call does more than %d steps: launch one kernel for many of them"
                                 % MOST_STEPS)
        steps.append(Launch(kernel, grid, encoded))

    def grid_size(self, kernel, place, size):
        name, most = self.kernels[kernel]["name"], GRID_LIMITS[place]
        try:
            size = operator.index(size)  # as Triton's own launcher
        except TypeError:
            self.recorder.refuse("raised", "the grid of kernel %s has a size of type %s in dimension %d: use "
                                 "whole numbers, such as by triton.cdiv" % (name, kind_of(size), place))
        if not 0 <= size <= most:
            self.recorder.refuse("raised", "the grid of kernel %s has size %d in dimension %d, where 0 to %d "
                                 "are possible" % (name, size, place, most))
        return size

    def argument(self, value, kind, shown):
        """`shown`: what messages call the argument."""
        if isinstance(value, triton.runtime.jit.TensorWrapper):
            value = value.base
        if isinstance(value, TensorDescriptor):
            if value.padding != "zero" or getattr(value, "round_f32_to_tf32", False):
                self.recorder.refuse("unsupported", "%s is a tensor descriptor with padding or rounding other "
                                     "than the default, which is not supported" % shown)
            row = value.block_shape[-1] * value.base.element_size()
            if row < 16 and self.driver.arch >= 90:
                self.recorder.refuse("raised", "%s is a tensor descriptor whose block has rows of %d bytes, "
                                     "where the device wants 16 or more" % (shown, row))
            value = value.base
        if isinstance(value, torch.Tensor):
            if value.device.type != "cuda":
                self.recorder.refuse("unsupported", "%s is a tensor on the CPU: make it on the device"
                                     % shown)
            return self.recorder.value(value)
        if kind.startswith(("*", "tensordesc")):
            self.recorder.refuse("address", "%s is a pointer, and is given something that is no tensor: pass "
                                 "the tensor itself" % shown)
        if kind.startswith(("fp", "bf")):
            return number_to_json(float(value))
        if int(value) >= 2 ** 63:
            self.recorder.refuse("unsupported", "%s is an integer of more than 63 bits, which is not "
                                 "supported" % shown)
        return int(value)

    def free_names(self, code):
        """Names that a function takes from outside, builtins among them."""
        if code not in self.names:
            self.names[code] = _free_names(self.definition(code))
        return self.names[code]

    def definition(self, code):
        filename = code.co_filename
        if filename not in self.parsed:
            text = self.file.text_of(filename)
            self.parsed[filename] = definitions(text, filename) if text else {}
        found = self.parsed[filename].get(code.co_firstlineno)
        if found is None or found.name != code.co_name:
            self.recorder.refuse("unsupported", "the text of kernel %s is not found in %s: define it in a "
                                 "file, by def and its own name" % (code.co_name, self.file.shown(filename)))
        return found

    def check_text(self, kernel, function):
        """What Triton compiles is the text that it keeps of a kernel; what is judged is the file's.
        """
        if (function, kernel.src) in self.compared:
            return
        self.compared.add((function, kernel.src))
        found = self.definition(function.__code__)
        lines = source_lines(self.file.text_of(function.__code__.co_filename))
        lines = lines[found.lineno - 1:found.end_lineno]
        if _meaning(kernel.src) != _meaning(textwrap.dedent("".join(lines))):
            self.recorder.refuse("unsupported", "the source of kernel %s was changed after its definition, "
                                 "and is another than the file's: write it as it is to be compiled"
                                 % function.__qualname__)

    def check_globals(self, function, bindings):
        """Triton compiles a kernel's globals in, and refuses to launch it when they change."""
        plain = {name: binding for name, binding in bindings.items()
                 if not (isinstance(binding, dict) and "function" in binding)}
        before = self.globals.setdefault(function, plain)
        if before != plain:
            changed = [name for name in plain if before.get(name) != plain[name]]
            self.recorder.refuse("raised", "the global %s of kernel %s changes after its first launch: pass it "
                                 "as an argument" % (", ".join(changed), function.__qualname__))


class Functions:
    """The functions one kernel needs, as the `functions` of its Raw kernel."""

    def __init__(self, launches):
        self.launches = launches
        self.listed = []
        self.indices = {}
        self.sources = {}  # file -> its text, of functions of other files than the candidate's

    def refuse(self, message):
        self.launches.recorder.refuse("unsupported", message)

    def add(self, kernel):
        """The index of a jit function; its helpers are added too."""
        function = kernel
        while not isinstance(function, types.FunctionType):
            kernel, function = function, function.fn
        if function in self.indices:
            return self.indices[function]
        code = function.__code__
        file = self.launches.file
        self.launches.check_text(kernel, function)
        index = self.indices[function] = len(self.listed)
        entry = {"name": function.__qualname__, "line": code.co_firstlineno, "globals": {}}
        if code.co_filename != file.name:
            entry["file"] = file.shown(code.co_filename)
            self.sources[entry["file"]] = file.text_of(code.co_filename)
        self.listed.append(entry)
        scope = _scope(function)
        for name in sorted(self.launches.free_names(code)):
            if name in scope and (name in function.__globals__ or not hasattr(builtins, name)):
                members = functools.partial(_members, self.launches.definition(code), name)
                entry["globals"][name] = self.binding(name, scope[name], members, code)
        self.launches.check_globals(function, entry["globals"])
        return index

    def constexpr(self, value):
        if isinstance(value, tl.constexpr):
            value = value.value
        if isinstance(value, JITFunction):
            index = self.add(value)
            return {"function": self.listed[index]["name"].rpartition(".")[2]}
        if isinstance(value, tl.dtype):
            return {"dtype": value.name}
        if isinstance(value, torch.dtype):
            name = triton._utils.type_canonicalisation_dict[str(value)[6:]]
            return {"dtype": tl.dtype(name).name}
        if isinstance(value, (tuple, list)):
            return {"tuple": [self.constexpr(item) for item in value]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return number_to_json(value)
        return self.refuse("a tl.constexpr argument of kernel %s is a %s: pass a number, a text, a dtype, a "
                           "tuple or a @triton.jit function" % (self.listed[0]["name"], kind_of(value)))

    def binding(self, name, value, members, code):
        """`members` gives what a function uses of a module, as lists of names; `code` is the function's.
        """
        if isinstance(value, types.ModuleType):
            if value.__name__ in MODULES or members is None:
                return {"module": value.__name__}
            return {"members": {".".join(path): self.binding(".".join((name, *path)), what, None, code)
                                for path, what in _reached(value, members())}}
        if isinstance(value, tl.constexpr):
            if isinstance(value.value, tl.dtype):
                return {"dtype": value.value.name}
            if _is_literal(value.value):
                return {"constexpr": number_to_json(value.value)}
        if isinstance(value, tl.dtype):
            return {"dtype": value.name}
        if _is_literal(value):
            return number_to_json(value)
        where = _name_in_language(value)
        if where is not None:
            return {"attribute": where}
        if isinstance(value, KernelInterface):
            return {"function": self.add(value)}
        definition = self.launches.definition(code)
        line = next((part.lineno for part in ast.walk(definition)
                     if isinstance(part, ast.expr) and ast.unparse(part) == name), definition.lineno)
        return self.launches.recorder.refuse(
            "unsupported", "kernel function %s uses %s, %s" % (
                definition.name, name, advice.of_global(name, value)),
            (self.launches.file.shown(code.co_filename), line))


def _is_literal(value):
    return value is None or isinstance(value, (bool, int, float, str))


def _item(value, path):
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
    return value


def _scope(function):
    closure = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            closure[name] = cell.cell_contents
        except ValueError:
            pass  # not assigned yet: the slicer will miss it, with its name
    return {**function.__globals__, **closure}


def _free_names(definition):
    """Names that a function's body reads and does not itself assign."""
    arguments = definition.args
    local = {a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
    read = set()
    for statement in definition.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else local).add(node.id)
    parameters = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    outside = [*(a.annotation for a in parameters), definition.returns, *arguments.defaults,
               *arguments.kw_defaults]
    given = {node.id for part in outside if part is not None for node in ast.walk(part)
             if isinstance(node, ast.Name)}
    return (read - local) | given


def _members(definition, name):
    """What a function uses of a module that it knows as `name`: [["f"], ["part", "g"]]."""
    found = set()
    parts = [definition.args, *definition.body]  # and not its decorators
    for node in (node for part in parts for node in ast.walk(part)):
        path = []
        while isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        if path and isinstance(node, ast.Name) and node.id == name:
            found.add(tuple(path))
    return sorted(found)


def _reached(module, paths):
    """(path, value) of what is no module, as far down each path as there are modules."""
    found = {}
    for path in paths:
        value, taken = module, []
        for part in path:
            if not isinstance(value, types.ModuleType):
                break
            value = getattr(value, part, advice.Missing(value.__name__, part))
            taken.append(part)
        if not isinstance(value, types.ModuleType):
            found[tuple(taken)] = value
    return found.items()


def _meaning(text):
    """What texts of a function have in common that differ in comments and blank lines."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return text


_PLACES = ("triton.language", "triton.language.math", "triton.language.extra.libdevice",
           "triton.language.extra.cuda.libdevice", "triton.language.extra.cuda", "triton",
           "triton.language.standard")


def _name_in_language(value):
    """`triton.language.exp` and the like for a member of Triton's language."""
    module = getattr(value, "__module__", None) or ""
    if not module.startswith("triton"):
        return None
    name = getattr(value, "__name__", "")
    for place in _PLACES:
        if getattr(MODULES[place], name, None) is value:
            return place + "." + name
    known = getattr(MODULES.get(module), name, None)  # a library may have run Triton's module again
    if known is not None and _code(known) is not None and _code(known) == _code(value):
        return module + "." + name
    return None


def _code(function):
    return getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
