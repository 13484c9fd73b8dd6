"""What Inductor wrote for a function, as one module that needs nothing of Inductor's.

Inductor's output is a module too: kernels as strings, with decorators that tune and launch them, and a
function `call` that allocates and launches. Here the kernels become plain @triton.jit functions in the
configuration that was chosen, together with PyTorch's helper functions that they call. `call` becomes the
forward method of `ModelNew`. Text in, text out: nothing of it is run.
"""

import ast
import inspect
import re
from dataclasses import dataclass, field

_EXTERN = {"mm": "torch.mm", "bmm": "torch.bmm", "addmm": "torch.addmm", "baddbmm": "torch.baddbmm",
           "convolution": "torch.ops.aten.convolution"}
# Statements of `call` that say nothing of what is computed.
_LEFT_OUT = ("assert_size_stride", "assert_alignment", "torch.cuda.set_device")


class NotUnderstood(Exception):
    """Inductor wrote something that has no place in a candidate, in one line."""


@dataclass
class Launch:
    kernel: str
    grid: tuple
    constants: dict  # of the configuration
    options: dict    # num_warps, num_stages


@dataclass
class Written:
    """A compiled function: Inductor's module, and what became of it when it was called once."""

    code: str
    arguments: list  # of the graph: the name of the function's argument that each is
    outputs: list    # of the function, in order: expressions, where {0} is the graph's first output
    launches: list = field(default_factory=list)
    is_tuple: bool = False  # what the function returns, or its only output


@dataclass
class _Kernel:
    family: str
    computes: list
    functions: list  # definitions: what it calls, then itself

    def tile(self):
        """Sizes of blocks that its own text sets, as templates' texts do."""
        return {line.target.id: ast.unparse(line.value) for line in self.functions[-1].body
                if isinstance(line, ast.AnnAssign) and line.target.id.startswith("BLOCK")
                and isinstance(line.value, ast.Constant)}


def candidate(written, parameters):
    """(plan, source) of a module whose ModelNew.forward takes `parameters`, names of tensors."""
    kernels, call = _parts(written.code)
    helpers = _Helpers()
    wrapper = _Wrapper(written, kernels, parameters)
    body = wrapper.forward(call)
    used = list(dict.fromkeys(launch.kernel for launch in written.launches))
    definitions = []
    for place, name in enumerate(used):
        definitions += _plain(kernels[name], place, helpers)
    source = ["import torch\nimport triton\nimport triton.language as tl"]
    text = "\n\n\n".join(ast.unparse(each) for each in [*helpers.definitions(), *definitions])
    if "libdevice." in text:
        source[0] += "\nfrom triton.language.extra import libdevice"
    if text:
        source.append(text)
    lines = "\n".join("        " + line for line in body)
    source.append("class ModelNew(torch.nn.Module):\n"
                  f"    def forward({', '.join(['self', *parameters])}):\n{lines}")
    return _plan(written, kernels), "\n\n\n".join(source) + "\n"


def _plan(written, kernels):
    lines = []
    for launch in written.launches:
        kernel = kernels[launch.kernel]
        tile = [f"{name} {value}" for name, value in {**kernel.tile(), **launch.constants}.items()]
        tile += [f"{value} {name.removeprefix('num_')}" for name, value in launch.options.items()]
        line = f"{launch.kernel}: {kernel.family} of {', '.join(kernel.computes)}; {', '.join(tile)}"
        if line not in lines:
            lines.append(line)
    return "\n".join(lines)


def _parts(code):
    """The kernels by name, and the function `call`."""
    computes, kernels, call = {}, {}, None
    heading = []
    for line in code.splitlines():
        found = re.match(r"# Topologically Sorted Source Nodes: .*Original ATen: \[(.*)\]", line)
        if found:
            heading = [name.removeprefix("aten.") for name in found[1].split(", ") if name]
        if found := re.match(r"(\w+) = async_compile\.triton\(", line):
            computes[found[1]] = heading
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef) and node.name == "call":
            call = node
        if (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
                and ast.unparse(node.value.func) == "async_compile.triton"):
            name, text = (argument.value for argument in node.value.args[:2])
            kernels[name] = _kernel(name, text, computes[name])
    if call is None:
        raise NotUnderstood("there is no function `call` in Inductor's output")
    return kernels, call


def _kernel(name, text, computes):
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    family = "kernel"
    for function in functions:
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call):  # @triton_heuristics.pointwise(...)
                family = ast.unparse(decorator.func).rpartition(".")[2].replace("_", " ")
    if not functions or functions[-1].name != name:
        raise NotUnderstood(f"the text of kernel {name} does not end with it")
    return _Kernel(family, computes or ["?"], functions)


def _plain(kernel, place, helpers):
    """The kernel's functions without decorators but @triton.jit, names of their own, helpers renamed."""
    names = {function.name: f"{function.name.lstrip('_')}_{place}"
             for function in kernel.functions[:-1]}
    for function in kernel.functions:
        function.decorator_list = [ast.parse("triton.jit", mode="eval").body]
        function.name = names.get(function.name, function.name)
        _Renamed(names, helpers).visit(function)
        _drop_unused(function)
        ast.fix_missing_locations(function)
    return kernel.functions


class _Renamed(ast.NodeTransformer):
    def __init__(self, names, helpers):
        self.names, self.helpers = names, helpers

    def visit_Name(self, node):
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id == "triton_helpers":
            return ast.Name(self.helpers.name(node.attr), node.ctx)
        if isinstance(node.value, ast.Name) and node.value.id == "tl_math":
            return ast.parse(f"tl.math.{node.attr}", mode="eval").body
        self.generic_visit(node)
        return node


def _drop_unused(function):
    """Drops assignments to names that are never read. What is assigned to them has no effect."""
    while True:
        read = {node.id for node in ast.walk(function)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        changed = False
        for node in ast.walk(function):
            for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if not isinstance(block, list):
                    continue
                kept = [line for line in block if not _is_unused(line, read)]
                changed |= len(kept) < len(block)
                if block and len(kept) < len(block):
                    block[:] = kept or [ast.Pass()]
        if not changed:
            return


def _is_unused(line, read):
    if isinstance(line, ast.Expr):
        return ast.unparse(line).startswith(("tl.static_assert", "tl.device_assert", "tl.assume"))
    targets = {ast.Assign: lambda: line.targets, ast.AnnAssign: lambda: [line.target]}
    if type(line) not in targets or "atomic" in ast.unparse(line.value):
        return False
    return all(isinstance(target, ast.Name) and target.id not in read
               for target in targets[type(line)]())


class _Helpers:
    """PyTorch's functions for kernels (torch/_inductor/runtime/triton_helpers.py), those that are called."""

    def __init__(self):
        self._found = {}  # name -> definition; a definition comes after those that it calls

    def name(self, helper):
        if helper not in self._found:
            self._add(helper)
        return f"inductor_{helper.lstrip('_')}"

    def _add(self, helper):
        from torch._inductor.runtime import triton_helpers
        function = getattr(getattr(triton_helpers, helper, None), "fn", None)
        if function is None or function.__module__ != triton_helpers.__name__:
            raise NotUnderstood(f"a kernel needs triton_helpers.{helper}, whose text is not among PyTorch's helpers")
        (definition,) = ast.parse(inspect.getsource(function)).body
        definition.name = f"inductor_{helper.lstrip('_')}"
        if ast.get_docstring(definition) is not None:
            del definition.body[0]
        # `T = tl.core._unwrap_if_constexpr(T)`: Triton does that itself, and the name is private.
        definition.body = [line for line in definition.body if "_unwrap_if_constexpr(" not in ast.unparse(line)]
        local = {argument.arg for argument in definition.args.args}
        local |= {node.id for node in ast.walk(definition)
                  if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in ast.walk(definition):
            if not isinstance(node, ast.Name) or node.id in local:
                continue
            if node.id == "math":
                node.id = "tl.math"
            elif hasattr(getattr(triton_helpers, node.id, None), "fn"):
                node.id = self.name(node.id)
        self._found[helper] = definition

    def definitions(self):
        return list(self._found.values())


class _Wrapper:
    """`call` as lines of a forward method."""

    def __init__(self, written, kernels, parameters):
        self._written, self._kernels = written, kernels
        self._launches = iter(written.launches)
        self._device = f"{parameters[0]}.device" if parameters else "'cuda'"
        self._known = {"torch", *parameters}
        self._names = {}

    def forward(self, call):
        lines = []
        self._block(call.body, lines)
        if next(self._launches, None) is not None:
            raise NotUnderstood("more kernels were launched than Inductor's text says")
        return lines

    def _block(self, body, lines):
        for node in body:
            text = ast.unparse(node)
            if isinstance(node, ast.With):
                if "DeviceGuard" not in ast.unparse(node.items[0].context_expr):
                    raise NotUnderstood(f"Inductor's text has `{text.splitlines()[0]}`")
                self._block(node.body, lines)
            elif not isinstance(node, (ast.Delete, ast.Pass)) and not self._says_nothing(node, text):
                lines.extend(self._line(node, text))

    def _says_nothing(self, node, text):
        return (text == "args.clear()" or text.startswith(_LEFT_OUT)
                or isinstance(node, ast.Assign) and "get_raw_stream(" in text)

    def _line(self, node, text):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "args":
            return self._arguments(node.targets[0])
        if isinstance(node, ast.Return):
            return self._result(node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return [self._launch(node.value) or self._expression(node.value)]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = self._expression(node.value)
            name = node.targets[0].id
            self._known.add(name)
            self._names.pop(name, None)
            if value == name:
                return []
            if isinstance(node.value, ast.Name):  # another name for it
                self._names[name] = value
                return []
            return [f"{name} = {value}"]
        raise NotUnderstood(f"Inductor's text has `{text.splitlines()[0]}`")

    def _arguments(self, target):
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        if len(names) != len(self._written.arguments):
            raise NotUnderstood("the graph was called with another number of arguments")
        for name, own in zip(names, self._written.arguments):
            self._names[name.id] = own
        return []

    def _result(self, value):
        made = [self._expression(each) for each in value.elts]
        outputs = [each.format(*made) for each in self._written.outputs]
        if not self._written.is_tuple:
            return [f"return {outputs[0]}"]
        return [f"return ({', '.join(outputs)}{',' if len(outputs) == 1 else ''})"]

    def _launch(self, call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "run":
            return None
        launch = next(self._launches, None)
        if launch is None or launch.kernel != ast.unparse(call.func.value):
            raise NotUnderstood(f"`{ast.unparse(call.func)}` is not what was launched there")
        if launch.kernel not in self._kernels:
            raise NotUnderstood(f"kernel {launch.kernel} has no text")
        # Parameters in order, without those of the configuration; a grid may follow them.
        every = self._kernels[launch.kernel].functions[-1].args.args
        constants = [each.arg for each in every if each.annotation is not None]
        missing = [name for name in constants if name not in launch.constants]
        if missing:
            raise NotUnderstood(f"kernel {launch.kernel} was launched without {missing[0]}")
        words = [self._expression(each) for each in call.args[: len(every) - len(constants)]]
        words += [f"{name}={launch.constants[name]!r}" for name in constants]
        words += [f"{name}={value!r}" for name, value in launch.options.items()]
        grid = list(launch.grid)
        while len(grid) > 1 and grid[-1] == 1:
            grid.pop()
        sizes = ", ".join(map(str, grid)) + ("," if len(grid) == 1 else "")
        return f"{launch.kernel}[({sizes})]({', '.join(words)})"

    def _expression(self, node):
        node = self._plain(node)
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id not in self._known:
                raise NotUnderstood(f"Inductor's text has `{ast.unparse(node)}`, and nothing says what "
                                    f"{each.id} is")
        return ast.unparse(node)

    def _plain(self, node):
        wrapper = self

        class Plain(ast.NodeTransformer):
            def visit_Name(self, name):
                return ast.parse(wrapper._names.get(name.id, name.id), mode="eval").body

            def visit_Call(self, call):
                self.generic_visit(call)
                return wrapper._call(call)

        return Plain().visit(node)

    def _call(self, call):
        function = ast.unparse(call.func)
        words = [ast.unparse(each) for each in (*call.args, *call.keywords)]
        text = None
        if function.startswith("empty_strided_"):
            import torch
            size, strides = (ast.literal_eval(each) for each in call.args[:2])
            told = f"dtype={words[2]}, device={self._device}"
            text = (f"torch.empty({size}, {told})" if strides == torch.empty(size, device="meta").stride()
                    else f"torch.empty_strided({size}, {strides}, {told})")
        elif function == "reinterpret_tensor":
            text = f"torch.as_strided({', '.join(words)})"
        elif function.startswith("extern_kernels."):
            name = function.removeprefix("extern_kernels.")
            if name not in _EXTERN:
                raise NotUnderstood(f"Inductor calls {function}")
            text = f"{_EXTERN[name]}({', '.join(words)})"
        return ast.parse(text, mode="eval").body if text else call
