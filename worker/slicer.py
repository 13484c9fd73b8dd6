"""Slices: the text of a kernel and of the functions it calls, and nothing else that runs.

What a kernel names by way of a module of the user's, or under another name than its own, it names
plainly in the slice: `helpers.f` becomes `f`. The annotation `tuple[int, int]` becomes `tuple`.

Works on text alone, in a process that never ran the file. A slice is a Python module whose
statements are imports, constants made of literals, and `@triton.jit` functions without default
values other than literals. Names in bodies resolve to Triton's language, libdevice, functions of the
slice or a few builtins. Attributes resolve to public names. So compiling a slice runs no Python of its
author's. The bindings come from the recorder and are as little trusted as the file:
everything in them is checked.

Slicing is idempotent: a file that holds a slice's functions as they are gives the slice again.
"""

import ast
import builtins
import math
import textwrap
import unicodedata

import triton
import triton.language as tl
from triton.compiler.code_generator import CodeGenerator

import advice
from language import (BUILTINS, CUDA, EXCEPTIONS, EXTRA, MODULES, VALUE_MEMBERS,
                      allowed_member)
from loading import source_lines
from refusal import Refused

# What Triton finds under a name that no value has (yet), getattr among them.
_NEVER_LOCAL = set(CodeGenerator.builtin_namespace) - BUILTINS
MAX_FUNCTIONS = 256

_STATEMENTS = (ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign,
               ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Pass, ast.Break,
               ast.Continue, ast.Assert, ast.Raise)
_EXPRESSIONS = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Constant,
                ast.Attribute, ast.Subscript, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.Starred,
                ast.keyword, ast.JoinedStr, ast.FormattedValue, ast.ListComp, ast.comprehension,
                ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context)


class Slicer:
    """Slices kernels out of one file."""

    def __init__(self, source, file):
        self.file = file
        self.lines = {}  # file -> its lines
        self.functions = {}
        self.alone = {}  # function of a file -> the function parsed from its text alone
        self.texts = {}  # function of `alone` -> its text
        self._add(None, source)

    def _add(self, file, source):
        """Adds a file that kernels are in: None is the one that the slicer was made for."""
        shown = file or self.file
        if not isinstance(source, str):
            raise Refused("slice", "a file without a text", shown)
        self.lines[file] = source_lines(source)
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise Refused("syntax", str(error), shown, getattr(error, "lineno", None)) from None
        self._index(tree, "", file)

    def _index(self, node, prefix, file):
        """Functions by (file, qualified name, first line of their decorators)."""
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef):
                first = min([child.lineno] + [d.lineno for d in child.decorator_list])
                self.functions[file, prefix + child.name, first] = child
                inner = prefix + child.name + ".<locals>."
            elif isinstance(child, ast.ClassDef):
                inner = prefix + child.name + "."
            self._index(child, inner, file)

    def slice(self, raw):
        """The slice's text for a Raw kernel."""
        entries = self._entries(raw)
        header, bodies = {}, {}
        for entry, node in entries:
            if node.name in bodies and bodies[node.name] is not node:
                self._refuse("kernel %s uses two functions called %s: rename one of them"
                             % (raw["name"], node.name), node)
            bodies[node.name] = node
        names = set(bodies)
        for entry, node in entries:
            bindings, renamed = self._bindings(entry, node, entries)
            changes = _plain_annotations(node)
            changes += [(part, renamed[path]) for part, path in _named(node) if path in renamed]
            if changes:
                node = bodies[node.name] = self._edited(node, changes)
            _Check(self, node, bindings, names).run()
            for name, text in bindings.items():
                if header.setdefault(name, text) != text:
                    self._refuse("the functions of kernel %s mean different things by the global %s: "
                                 "rename one" % (raw["name"], name), node)
        kernel = entries[raw["function"]][1]
        self._check_kernel(kernel, raw)
        ordered = sorted(n for n in names if n != kernel.name) + [kernel.name]
        imports = {"import triton", "import triton.language as tl"}
        imports |= {text for text in header.values() if text.startswith(("import ", "from "))}
        constants = sorted(text for text in header.values()
                           if text and not text.startswith(("import ", "from ")))
        head = "\n".join(sorted(imports) + constants)
        texts = ["@triton.jit\n" + self.texts[bodies[name]] for name in ordered]
        return "\n\n\n".join([head, *texts]) + "\n"

    def lines_of(self, raw):
        """name -> line of its `def` in the file, for the functions of a Raw kernel."""
        return {node.name: node.lineno for _, node in self._entries(raw)}

    def _refuse(self, message, node=None):
        raise Refused("slice", message, getattr(node, "file", None) or self.file,
                      getattr(node, "lineno", None))

    def _entries(self, raw):
        functions = raw.get("functions")
        if not isinstance(functions, list) or not 0 < len(functions) <= MAX_FUNCTIONS:
            self._refuse("a kernel without functions")
        if type(raw.get("function")) is not int or not 0 <= raw["function"] < len(functions):
            self._refuse("a kernel that names no function of its own")
        sources = raw.get("sources") or {}
        if not isinstance(sources, dict):
            self._refuse("a kernel whose files are no texts")
        for file in sources.keys() - self.lines.keys():
            self._add(file, sources[file])
        entries = []
        for entry in functions:
            file = entry.get("file")
            node = self.functions.get((file, entry.get("name"), entry.get("line")))
            if node is None:
                self._refuse("there is no function %s on line %s of %s"
                             % (entry.get("name"), entry.get("line"), file or self.file))
            entries.append((entry, self._alone(node, file)))
        return entries

    def _check_kernel(self, node, raw):
        arguments = node.args
        names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        if arguments.vararg or arguments.kwarg:
            self._refuse("kernel %s takes *args or **kwargs: name each of its parameters"
                         % node.name, node)
        recorded = [param["name"].partition(".")[0] for param in raw["params"]]
        if names != list(dict.fromkeys(recorded)) or node.name != raw["name"]:
            self._refuse("kernel %s was recorded with other parameters" % node.name, node)

    def _alone(self, node, file):
        """A function of the file, parsed from its text alone: the text is what will be compiled, so
        its own tree is what must be checked."""
        if node not in self.alone:
            lines = self.lines[file][node.lineno - 1 : node.end_lineno]
            text = textwrap.dedent("\n".join(line.rstrip() for line in lines))
            try:
                found = ast.parse(text).body
            except SyntaxError:
                found = []
            # The function may share its last line with nothing else: a `;` would bring company.
            if len(found) != 1 or not isinstance(found[0], ast.FunctionDef) \
                    or found[0].name != node.name:
                self._refuse("function %s shares a line with other code: give it lines of its own"
                             % node.name, node)
            ast.increment_lineno(found[0], node.lineno - 1)
            for part in ast.walk(found[0]):
                part.file = file  # for messages
            self.alone[node] = found[0]
            self.texts[found[0]] = text
        return self.alone[node]

    def _edited(self, node, changes):
        """A function of `alone` with other text in place of some expressions: [(expression, text)]."""
        lines = self.texts[node].encode().split(b"\n")
        places = sorted(((part.lineno - node.lineno, part.col_offset, part.end_lineno - node.lineno,
                          part.end_col_offset, text) for part, text in changes), reverse=True)
        for first, begin, last, end, text in places:
            lines[first:last + 1] = [lines[first][:begin] + text.encode() + lines[last][end:]]
        text = b"\n".join(lines).decode()
        found = ast.parse(text).body[0]
        ast.increment_lineno(found, node.lineno - 1)
        for part in ast.walk(found):
            part.file = node.file
        self.texts[found] = text
        return found

    # -- bindings -------------------------------------------------------------------------------

    def _bindings(self, entry, node, entries):
        """(name -> the header line that binds it, "" for a function of the slice; what has another
        name there: ("helpers", "f") -> "f")."""
        given = entry.get("globals")
        if not isinstance(given, dict):
            self._refuse("a function without its globals", node)
        result, renamed = {}, {}
        taken = _local_names(node) | set(given)
        for path, binding in _paths(given):
            name = self._plain_name(path, binding, taken, entries)
            if path != (name,):
                renamed[path] = name
                if name in _local_names(node) or name in given and given[name] != binding:
                    self._refuse("kernel function %s uses %s, and means something else by %s alone: "
                                 "rename that" % (node.name, ".".join(path), name), node)
            if not name.isidentifier() or name.startswith("__") or name in BUILTINS \
                    or unicodedata.normalize("NFKC", name) != name:  # as Python would read it
                self._refuse("kernel function %s uses a global called %r: choose another name"
                             % (node.name, name), node)
            result[name] = self._binding(name, binding, node, entries)
            if name in ("tl", "triton") and result[name] not in (
                    "import triton", "import triton.language as tl"):
                self._refuse("kernel function %s means something else by %s than Triton's module: "
                             "choose another name for it" % (node.name, name), node)
        return result, renamed

    @staticmethod
    def _plain_name(path, binding, taken, entries):
        """What the slice calls a global that the file reaches by these names."""
        what = binding.get("function") if isinstance(binding, dict) else None
        if type(what) is int and 0 <= what < len(entries):
            return entries[what][1].name
        if len(path) == 1:
            return path[0]
        return path[-1] if path[-1] not in taken else "_".join(path)

    def _binding(self, name, binding, node, entries):
        if _is_literal(binding):
            return "%s = tl.constexpr(%s)" % (name, _literal(binding))
        if isinstance(binding, dict) and len(binding) == 1:
            (kind, what), = binding.items()
            if kind == "f":
                return "%s = tl.constexpr(%s)" % (name, _literal(binding))
            if kind == "constexpr" and (_is_literal(what) or isinstance(what, dict)):
                return "%s = tl.constexpr(%s)" % (name, _literal(what))
            if kind == "function" and type(what) is int and 0 <= what < len(entries):
                return ""
            if kind == "dtype" and isinstance(what, str):
                return "%s = tl.%s" % (name, dtype_name(what))
            if kind == "module" and what in MODULES:
                return _import_module(name, what)
            if kind == "attribute" and isinstance(what, str):
                return self._import_attribute(name, what, node)
        self._refuse("kernel function %s uses the global %s, which is no constant, no @triton.jit "
                     "function and no part of Triton's language" % (node.name, name), node)

    def _import_attribute(self, name, what, node):
        place, _, member = what.rpartition(".")
        if place not in MODULES or not allowed_member(MODULES[place], member):
            self._refuse("in kernel function %s, %s is %s: %s" % (
                node.name, name, what, advice.not_allowed(member)), node)
        suffix = "" if member == name else " as " + name
        return "from %s import %s%s" % (place, member, suffix)


def _import_module(name, module):
    parent, _, last = module.rpartition(".")
    if name == "tl" or not parent:
        return "import %s%s" % (module, "" if name == module else " as " + name)
    return "from %s import %s%s" % (parent, last, "" if name == last else " as " + name)


def _paths(given):
    """(names, binding) of what a function takes from outside: ("helpers", "f") by way of a module."""
    for name, binding in given.items():
        members = binding.get("members") if isinstance(binding, dict) else None
        if not isinstance(members, dict):
            yield (name,), binding
            continue
        for path, inner in members.items():
            yield (name, *path.split(".")), inner


def _named(node):
    """(expression, names) of each name and each chain of attributes that begins with one: a, a.b."""
    for part in ast.walk(node):
        path, inner = [], part
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield part, (inner.id, *path)


def _plain_annotations(node):
    """`tuple` in place of `tuple[int, int]`: Triton asks annotations for no more."""
    arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    given = [part for part in [*(a.annotation for a in arguments), node.returns] if part is not None]
    return [(part, part.value.id) for part in given
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]


def _local_names(node):
    """Names of a function's parameters, and those that it assigns."""
    arguments = node.args
    names = {a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs
             + [a for a in (arguments.vararg, arguments.kwarg) if a]}
    return names | {inner.id for inner in ast.walk(node)
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def _is_literal(value):
    return value is None or isinstance(value, (bool, int, float, str))


def _literal(value):
    if isinstance(value, dict):
        if set(value) == {"f"} and value["f"] in ("inf", "-inf", "nan"):
            return 'float("%s")' % value["f"]
        raise Refused("slice", "a constant that is no literal")
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("slice", "a constant that is no literal")
    return repr(value)


def dtype_name(name):
    """`fp32` -> `float32`, the name in triton.language. Refused when there is none."""
    for member in ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
                   "int1", "uint64", "uint32", "uint16", "uint8", "float8e5", "float8e4nv",
                   "float8e4b15", "float8e4b8", "float8e5b16"):
        if getattr(tl, member).name == name:
            return member
    raise Refused("slice", "there is no dtype %s" % name)


_SPECIAL_FLOATS = {"%sfloat('%s')" % (sign, name) for sign in ("", "-", "+")
                   for name in ("inf", "-inf", "nan", "Infinity", "-Infinity")}


# What people call a construct, and what to write instead.
_CONSTRUCTS = {
    "Lambda": ("a lambda", "define a @triton.jit function at module level"),
    "FunctionDef": ("a function within a function", "define it at module level, with @triton.jit"),
    "AsyncFunctionDef": ("async def", "define a plain function with @triton.jit"),
    "ClassDef": ("a class", "define @triton.jit functions"),
    "Dict": ("a dict", "use a tuple"),
    "Set": ("a set", "use a tuple"),
    "DictComp": ("a dict", "use a tuple"),
    "SetComp": ("a set", "use a tuple"),
    "GeneratorExp": ("a generator", "use a list in brackets, or a loop"),
    "Try": ("try", "remove it, as kernels have no exceptions"),
    "TryStar": ("try", "remove it, as kernels have no exceptions"),
    "With": ("with", "write its body without it"),
    "AsyncWith": ("with", "write its body without it"),
    "AsyncFor": ("async for", "write a plain loop"),
    "Import": ("an import", "import at the top of the file"),
    "ImportFrom": ("an import", "import at the top of the file"),
    "Delete": ("del", "remove it, as nothing in a kernel has to be freed"),
    "Global": ("global", "pass the value as an argument, and store results by tl.store"),
    "Nonlocal": ("nonlocal", "pass the value as an argument, and store results by tl.store"),
    "NamedExpr": (":=", "assign in a statement of its own"),
    "Match": ("match", "use if and elif"),
    "Yield": ("yield", "store results by tl.store"),
    "YieldFrom": ("yield", "store results by tl.store"),
    "Await": ("await", "remove it"),
}


def _shown(node, limit=60):
    """An expression as messages show it."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else text[:limit - 3] + "..."


class _Check(ast.NodeVisitor):
    """Checks one function: only known constructs, names and attributes."""

    def __init__(self, slicer, node, bindings, functions):
        self.slicer, self.node, self.bindings = slicer, node, bindings
        self.functions = functions
        self.local = _local_names(node)

    def refuse(self, message, node):
        self.slicer._refuse("in kernel function %s, %s" % (self.node.name, message), node)

    def run(self):
        arguments = self.node.args
        for default in arguments.defaults + [d for d in arguments.kw_defaults if d]:
            if ast.unparse(default) in _SPECIAL_FLOATS or self.is_constant(default):
                continue
            try:
                ast.literal_eval(default)
            except (ValueError, SyntaxError):
                self.refuse("the default value %s is no literal: write a number, or pass the value in "
                            "each call" % _shown(default), default)
        for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs:
            self.name(argument.arg, argument)
            if argument.annotation is not None:
                self.annotation(argument.annotation)
        if self.node.returns is not None:
            self.annotation(self.node.returns)
        for statement in self.node.body:
            self.visit(statement)

    def is_constant(self, node):
        """Whether an expression outside of the body names a constant of the slice, or a dtype."""
        if isinstance(node, ast.Name):
            return self.bindings.get(node.id, "").startswith(node.id + " = ")
        module = self.module(node.value) if isinstance(node, ast.Attribute) else None
        return module is not None and allowed_member(module, node.attr) \
            and isinstance(getattr(module, node.attr, None), tl.dtype)

    def annotation(self, node):
        if not isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
            self.refuse("the annotation %s is no plain name: write one such as tl.constexpr, or none"
                        % _shown(node), node)
        self.visit(node)

    def name(self, name, node):
        if name.startswith("__"):
            self.refuse("the name %s begins with two underscores: choose another" % name, node)

    def generic_visit(self, node):
        if not isinstance(node, _STATEMENTS + _EXPRESSIONS) or (
                isinstance(node, ast.FunctionDef) and node is not self.node):
            what, instead = _CONSTRUCTS.get(type(node).__name__, (type(node).__name__, ""))
            self.refuse("%s is not allowed%s" % (what, ": " + instead if instead else ""), node)
        super().generic_visit(node)

    def visit_Name(self, node):
        self.name(node.id, node)
        known = self.local | set(self.bindings) | self.functions | BUILTINS
        if isinstance(node.ctx, ast.Load) and node.id not in known:
            self.refuse(advice.of_name(node.id, hasattr(builtins, node.id), known - BUILTINS), node)
        if isinstance(node.ctx, ast.Load) and self.module(node) is not None:
            self.refuse(advice.of_module(node.id), node)
        if isinstance(node.ctx, ast.Store) and node.id in _NEVER_LOCAL:
            self.refuse("a value may not be called %s, which means something to Triton: choose another "
                        "name" % node.id, node)

    def visit_Attribute(self, node):
        if self.is_int_dtype(node):
            return
        module = self.module(node.value)
        if module is not None:
            if not allowed_member(module, node.attr):
                self.refuse(advice.of_member(module, _shown(node.value), node.attr), node)
            return
        self.visit(node.value)
        if node.attr not in VALUE_MEMBERS:
            self.refuse(advice.of_attribute(_shown(node.value), node.attr), node)

    def is_int_dtype(self, node):
        """tl.core.get_int_dtype, a type by its width: kernels have no other name for it."""
        return (node.attr == "get_int_dtype" and isinstance(node.value, ast.Attribute)
                and node.value.attr == "core" and self.module(node.value.value) is tl)

    def visit_Raise(self, node):
        """What is raised names exceptions. Triton compiles none of it: it may only be where constants
        rule it out."""
        known, self.local = self.local, self.local | EXCEPTIONS
        self.generic_visit(node)
        self.local = known

    def visit_keyword(self, node):
        if node.arg is None:
            self.refuse("** in a call is not allowed: write the arguments one by one", node.value)
        self.name(node.arg, node.value)
        self.visit(node.value)

    def module(self, node):
        """The module that an expression names, or None."""
        if isinstance(node, ast.Name) and node.id not in self.local:
            text = self.bindings.get(node.id, "")
            for module in MODULES:
                if text and text == _import_module(node.id, module):
                    return MODULES[module]
        if isinstance(node, ast.Attribute):
            owner = self.module(node.value)
            if owner is triton and node.attr == "language":
                return tl
            if owner is tl and node.attr == "math":
                return tl.math
            if owner is tl and node.attr == "extra":
                return EXTRA
            if owner is tl and node.attr in ("core", "standard"):
                return getattr(tl, node.attr)
            if owner in (EXTRA, CUDA) and node.attr == "libdevice":
                return owner.libdevice
            if owner is EXTRA and node.attr == "cuda":
                return CUDA
        return None
