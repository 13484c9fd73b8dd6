"""Mechanical mutations of a Triton program: each a small mistake of the kind that people make.

`mutants(text)` lists every mutation of every `@triton.jit` function in a file, and of the launches
in the candidate class's forward. A mutator is a generator over syntax: it knows Triton's vocabulary
and nothing of the program at hand. It need not make a wrong program (a mask may be redundant), nor
one that compiles; what becomes of each is the verifier's business and run.py's.

A mutation is an edit of the text, so that the rest of the file keeps its lines.
"""

import argparse
import ast
import dataclasses
import itertools
import pathlib
import re

REDUCTIONS = {"sum": "max", "max": "min", "min": "max", "cumsum": "cumprod", "argmax": "argmin"}
FUNCTIONS = {"maximum": "minimum", "minimum": "maximum", "exp": "exp2", "exp2": "exp", "log": "log2",
             "log2": "log", "sqrt": "rsqrt", "rsqrt": "sqrt", "sin": "cos", "cos": "sin",
             "floor": "ceil", "erf": "tanh", "tanh": "erf"}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*"}
ORDERED = {ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    mutator: str
    kernel: str  # the jit function, or the class for host code
    line: int
    before: str  # the changed lines, on one line
    after: str
    text: str    # the whole file


@dataclasses.dataclass(frozen=True)
class Edit:
    """Replaces the text of a node (or a start and an end offset)."""
    start: int
    end: int
    text: str


class Source:
    """A file with its syntax tree; offsets count bytes, as the tree's columns do."""

    def __init__(self, text):
        self.text = text
        self.data = text.encode()
        self.tree = ast.parse(text)
        self.lines = list(itertools.accumulate(
            (len(line) for line in self.data.split(b"\n")), lambda a, b: a + b + 1, initial=0))

    def start(self, node):
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def of(self, node):
        return self.data[self.start(node):self.end(node)].decode()

    def replace(self, node, text):
        return Edit(self.start(node), self.end(node), text)

    def call(self, call, args, keywords, name=None):
        """The text of `call` with other arguments."""
        parts = [self.of(a) for a in args] + ["%s=%s" % (k.arg, self.of(k.value)) for k in keywords]
        return "%s(%s)" % (name or self.of(call.func), ", ".join(parts))

    def apply(self, edits):
        data = self.data
        for edit in sorted(edits, key=lambda e: -e.start):
            data = data[:edit.start] + edit.text.encode() + data[edit.end:]
        return data.decode()


def is_jit(node):
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(d).split("(")[0] in ("triton.jit", "jit") for d in node.decorator_list)


def functions_of_tl(node, *names):
    """Calls of `tl.<name>` below a node; every name when none is given."""
    for call in ast.walk(node):
        if (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
                and isinstance(call.func.value, ast.Name)
                and call.func.value.id in ("tl", "libdevice")
                and (not names or call.func.attr in names)):
            yield call


def argument(call, position, name):
    """An argument given by position or by name, or None."""
    if len(call.args) > position:
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg == name), None)


def names_in(node):
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def names_unmasked(node):
    """Names in an expression, but for what a `tl.where` with a literal keeps from masked lanes."""
    masked = {id(n) for call in functions_of_tl(node, "where")
              if len(call.args) == 3 and is_number(call.args[2]) for n in ast.walk(call.args[1])}
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in masked]


def is_number(node):
    """A literal number, with a sign or as float("inf")."""
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "float"
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def unmasked(call):
    """Arguments and keywords of a load or store without its mask (and without `other`)."""
    first = 1 if call.func.attr == "load" else 2
    return call.args[:first], [k for k in call.keywords if k.arg not in ("mask", "other")]


class Kernel:
    """One jit function and what its mutators ask about it."""

    def __init__(self, source, node):
        self.source, self.node, self.name = source, node, node.name
        self.constexprs = {a.arg for a in node.args.args
                           if a.annotation is not None and "constexpr" in ast.unparse(a.annotation)}
        self.assignments = [n for n in ast.walk(node) if isinstance(n, ast.Assign)
                            and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)]
        self.local = {a.targets[0].id for a in self.assignments}
        self.loops = [n for n in ast.walk(node) if isinstance(n, ast.For)
                      and isinstance(n.iter, ast.Call) and ast.unparse(n.iter.func) in (
                          "range", "tl.range", "tl.static_range")]
        self.reduced = self.names_that_reach_a_reduction()
        self.grids = []  # of its launches

    def walk(self, kind):
        """Nodes of a kind in the body, in the order of the text."""
        found = [n for statement in self.node.body for n in ast.walk(statement)
                 if isinstance(n, kind)]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset, -n.end_col_offset))

    def tl(self, *names):
        calls = (c for statement in self.node.body for c in functions_of_tl(statement, *names))
        return sorted(calls, key=lambda n: (n.lineno, n.col_offset))

    def names_that_reach_a_reduction(self):
        """Values that are reduced, or that something reduced is computed from, masked lanes and all."""
        reached = {name for call in self.tl(*REDUCTIONS, "reduce", "dot")
                   for name in names_unmasked(call)}
        size = 0
        while len(reached) > size:
            size = len(reached)
            for assignment in self.assignments:
                if assignment.targets[0].id in reached:
                    reached.update(names_unmasked(assignment.value))
        return reached

    def fills(self):
        """What loads put into masked lanes: for each load the assigned name and `other`."""
        for assignment in self.assignments:
            for call in functions_of_tl(assignment.value, "load"):
                node = argument(call, 2, "other")
                if node is not None and is_number(node):
                    yield assignment.targets[0].id, node

    def is_alone_along(self, axis):
        """Whether every launch has one program along an axis: its number is 0 there."""
        return isinstance(axis, ast.Constant) and bool(self.grids) and all(
            isinstance(extent, ast.Constant) and extent.value == 1
            for grid in self.grids for extent in grid[axis.value:axis.value + 1])

    def tiles(self):
        """Constexprs that give the width of an arange and are no loop's step: a program's tile."""
        steps = {name for loop in self.loops for name in names_in(loop.iter)}
        widths = {name for call in self.tl("arange") for name in names_in(call)}
        return (widths & self.constexprs) - steps


class Launch:
    """`kernel[grid](arguments)` as a statement of the candidate's code."""

    def __init__(self, source, kernel, statement, following):
        self.source, self.kernel, self.statement = source, kernel, statement
        self.following = following  # the next statement, or None
        self.call = statement.value
        index = self.call.func.slice
        self.grid = index.elts if isinstance(index, ast.Tuple) else [index]
        self.name = kernel.name
        kernel.grids.append(self.grid)


class Host:
    """The candidate class: what is called around the launches."""

    def __init__(self, source, node, launches):
        self.source, self.node, self.name, self.launches = source, node, node.name, launches
        self.fresh = {t.id for n in ast.walk(node) if isinstance(n, ast.Assign)
                      and "empty" in ast.unparse(n.value)
                      for t in n.targets if isinstance(t, ast.Name)}
        self.given = [a.id for launch in launches for a in launch.call.args
                      if isinstance(a, ast.Name) and a.id not in self.fresh]
        # Other functions of an export bind tensors, or decide which way a call goes.
        launching = [f for f in ast.walk(node) if isinstance(f, ast.FunctionDef)
                     and any(launch.statement in ast.walk(f) for launch in launches)]
        self.returns = [n for f in launching for n in ast.walk(f) if isinstance(n, ast.Return)
                        and n.value is not None and names_in(n.value)
                        and all(isinstance(m, (ast.Name, ast.Tuple, ast.List, ast.expr_context))
                                for m in ast.walk(n.value))]


# A mutator yields lists of edits. Its name is the function's; its first docstring line is printed.
KERNEL_MUTATORS, LAUNCH_MUTATORS, HOST_MUTATORS = [], [], []


def kernel_mutator(function):
    KERNEL_MUTATORS.append(function)
    return function


def launch_mutator(function):
    LAUNCH_MUTATORS.append(function)
    return function


def host_mutator(function):
    HOST_MUTATORS.append(function)
    return function


# Masks and bounds


@kernel_mutator
def drop_load_mask(k):
    """a load without its mask"""
    for call in k.tl("load"):
        if argument(call, 1, "mask") is not None:
            yield [k.source.replace(call, k.source.call(call, *unmasked(call)))]


@kernel_mutator
def drop_store_mask(k):
    """a store without its mask"""
    for call in k.tl("store"):
        if argument(call, 2, "mask") is not None:
            yield [k.source.replace(call, k.source.call(call, *unmasked(call)))]


@kernel_mutator
def drop_mask_term(k):
    """one side of `a & b`"""
    for node in k.walk(ast.BinOp):
        if isinstance(node.op, ast.BitAnd):
            yield [k.source.replace(node, k.source.of(node.left))]
            yield [k.source.replace(node, k.source.of(node.right))]


@kernel_mutator
def tighten_bound(k):
    """`i < n - 1` for `i < n`"""
    for node in k.walk(ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            yield [k.source.replace(node.comparators[0],
                                    "(%s) - 1" % k.source.of(node.comparators[0]))]


@kernel_mutator
def loosen_bound(k):
    """`i < n + 1` for `i < n`"""
    for node in k.walk(ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            yield [k.source.replace(node.comparators[0],
                                    "(%s) + 1" % k.source.of(node.comparators[0]))]


# Arithmetic


@kernel_mutator
def swap_operands(k):
    """`b - a` for `a - b`; also / // % < >"""
    for node in k.walk(ast.BinOp):
        if type(node.op) in ORDERED:
            yield [k.source.replace(node, "((%s) %s (%s))" % (
                k.source.of(node.right), ORDERED[type(node.op)], k.source.of(node.left)))]
    for node in k.walk(ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Lt, ast.Gt, ast.LtE, ast.GtE)):
            yield [k.source.replace(node.left, k.source.of(node.comparators[0])),
                   k.source.replace(node.comparators[0], k.source.of(node.left))]


@kernel_mutator
def wrong_operator(k):
    """- for +, + for - and *, * for /; exp2 for exp, minimum for maximum, ..."""
    for node in k.walk(ast.BinOp):
        if type(node.op) in OPERATORS:
            yield [k.source.replace(node, "((%s) %s (%s))" % (
                k.source.of(node.left), OPERATORS[type(node.op)], k.source.of(node.right)))]
    for call in k.tl(*FUNCTIONS):
        name = FUNCTIONS[call.func.attr]
        module = "libdevice" if name in ("tanh", "erf") else "tl"
        yield [k.source.replace(call.func, "%s.%s" % (module, name))]


@kernel_mutator
def drop_operation(k):
    """an assignment's expression replaced by one of the values in it"""
    for node in k.assignments:
        if isinstance(node.value, ast.Compare) or node.value in k.tl("load"):
            continue  # a mask for an index and an index for a value: other mutators' business
        for name in dict.fromkeys(names_in(node.value)):
            if name in k.local:
                yield [k.source.replace(node.value, name)]
    for call in k.tl("store"):
        value = argument(call, 1, "value")
        for name in dict.fromkeys(names_in(value)):
            if name in k.local and not isinstance(value, ast.Name):
                yield [k.source.replace(value, name)]


@kernel_mutator
def drop_negation(k):
    """`x` for `-x`"""
    for node in k.walk(ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            yield [k.source.replace(node, k.source.of(node.operand))]


def float_constants(k):
    """Floats of the computation: not what fills masked lanes (wrong_neutral's business)."""
    fills = [argument(call, 2, "other") for call in k.tl("load", "where")]
    filling = {id(n) for fill in fills if fill is not None and is_number(fill)
               for n in ast.walk(fill)}
    return [n for n in k.walk(ast.Constant) if type(n.value) is float and id(n) not in filling]


@kernel_mutator
def scale_constant(k):
    """a constant a quarter larger, 1 for 0"""
    for node in float_constants(k):
        yield [k.source.replace(node, repr(node.value * 1.25 if node.value else 1.0))]


@kernel_mutator
def nudge_constant(k):
    """a constant larger by a thousandth"""
    for node in float_constants(k):
        if node.value:
            yield [k.source.replace(node, repr(node.value * 1.001))]


@kernel_mutator
def next_integer(k):
    """n + 1 for an integer n in arithmetic"""
    for node in k.walk(ast.BinOp):
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and type(side.value) is int:
                yield [k.source.replace(side, str(side.value + 1))]


@kernel_mutator
def swap_branches(k):
    """where(c, b, a) for where(c, a, b)"""
    for call in k.tl("where"):
        if len(call.args) == 3:
            yield [k.source.replace(call.args[1], k.source.of(call.args[2])),
                   k.source.replace(call.args[2], k.source.of(call.args[1]))]


@kernel_mutator
def round_to_half(k):
    """a loaded value rounded to half precision"""
    for call in k.tl("load"):
        yield [k.source.replace(call, k.source.of(call) + ".to(tl.float16).to(tl.float32)")]


@kernel_mutator
def plain_tf32(k):
    """a product in plain TF32"""
    for call in k.tl("dot"):
        keyword = next((w for w in call.keywords if w.arg == "input_precision"), None)
        if keyword is not None:
            yield [k.source.replace(keyword.value, '"tf32"')]
        else:
            yield [k.source.replace(call, k.source.of(call)[:-1] + ', input_precision="tf32")')]


# Addresses


def index_terms(address):
    """The terms of `pointer + a * s + b` after the pointer."""
    terms = []
    while isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add):
        terms.insert(0, address.right)
        address = address.left
    return terms


def factors(source, term):
    """(index, stride) of a term; the stride of a plain index is 1."""
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult):
        return "(%s)" % source.of(term.left), "(%s)" % source.of(term.right)
    return "(%s)" % source.of(term), "1"


@kernel_mutator
def swap_strides(k):
    """`i + j * s` for `i * s + j` in an address"""
    for call in k.tl("load", "store"):
        terms = index_terms(call.args[0])
        for a, b in zip(terms, terms[1:]):
            (i, s), (j, t) = factors(k.source, a), factors(k.source, b)
            if s != t:
                yield [k.source.replace(a, "%s * %s" % (i, t)),
                       k.source.replace(b, "%s * %s" % (j, s))]


@kernel_mutator
def drop_index(k):
    """an address without one of its terms"""
    for call in k.tl("load", "store"):
        for term in index_terms(call.args[0]):
            yield [k.source.replace(term, "(%s) * 0" % k.source.of(term))]


@kernel_mutator
def zero_program_id(k):
    """0 for a program's number"""
    for call in k.tl("program_id"):
        if k.is_alone_along(call.args[0]):
            continue
        yield [k.source.replace(call, "(%s * 0)" % k.source.of(call))]


@kernel_mutator
def swap_program_ids(k):
    """the numbers along two axes of the grid exchanged"""
    calls = [c for c in k.tl("program_id") if c.args and isinstance(c.args[0], ast.Constant)]
    axes = sorted({c.args[0].value for c in calls})
    for a, b in itertools.combinations(axes, 2):
        yield [k.source.replace(c.args[0], str({a: b, b: a}[c.args[0].value]))
               for c in calls if c.args[0].value in (a, b)]
    if len(axes) == 1 and not k.is_alone_along(calls[0].args[0]):
        yield [k.source.replace(c.args[0], str((axes[0] + 1) % 3)) for c in calls]


# Reductions and loops


@kernel_mutator
def wrong_reduction(k):
    """max for sum, min for max, ..."""
    for call in k.tl(*REDUCTIONS):
        yield [k.source.replace(call.func, "tl." + REDUCTIONS[call.func.attr])]


@kernel_mutator
def wrong_axis(k):
    """a reduction over the other axis"""
    for call in k.tl(*REDUCTIONS):
        axis = argument(call, 1, "axis")
        if isinstance(axis, ast.Constant):
            yield [k.source.replace(axis, "0" if axis.value else "1")]


@kernel_mutator
def drop_last_block(k):
    """a loop without its last block"""
    for loop in k.loops:
        args = loop.iter.args
        stop = args[1] if len(args) > 1 else args[0]
        step = k.source.of(args[2]) if len(args) > 2 else "1"
        yield [k.source.replace(stop, "(%s) - (%s)" % (k.source.of(stop), step))]


@kernel_mutator
def drop_first_block(k):
    """a loop without its first block"""
    for loop in k.loops:
        args = loop.iter.args
        if len(args) > 2:
            yield [k.source.replace(args[0], "(%s) + (%s)" % (k.source.of(args[0]),
                                                             k.source.of(args[2])))]


@kernel_mutator
def wrong_neutral(k):
    """a reduction that starts from, or is padded with, something else"""
    def changed(node):
        text = k.source.of(node)
        return "1" if re.fullmatch(r"\(?-?0\)?", text) else \
            "1.0" if re.fullmatch(r"\(?-?0\.0\)?", text) else "0.0"

    for name, node in k.fills():
        if name in k.reduced:  # nobody else reads what fills the masked lanes
            yield [k.source.replace(node, changed(node))]
    for call in k.tl("where"):
        if len(call.args) == 3 and is_number(call.args[2]):
            yield [k.source.replace(call.args[2], changed(call.args[2]))]
    for call in k.tl("full"):
        if len(call.args) > 1 and is_number(call.args[1]):
            yield [k.source.replace(call.args[1], changed(call.args[1]))]
    for call in k.tl("zeros"):
        if len(call.args) > 1:
            yield [k.source.replace(call, "tl.full(%s, 1, %s)" % (k.source.of(call.args[0]),
                                                                  k.source.of(call.args[1])))]


# Results


@kernel_mutator
def skip_store(k):
    """a result that is never written"""
    for node in k.walk(ast.Expr):
        if isinstance(node.value, ast.Call) and node.value in list(functions_of_tl(node, "store")):
            yield [k.source.replace(node, "pass")]


@kernel_mutator
def accumulate(k):
    """a result added to what is there"""
    for call in k.tl("store"):
        yield [k.source.replace(call.func, "tl.atomic_add")]


@kernel_mutator
def swap_stored_values(k):
    """two results exchanged"""
    for a, b in itertools.combinations(k.tl("store"), 2):
        x, y = argument(a, 1, "value"), argument(b, 1, "value")
        yield [k.source.replace(x, k.source.of(y)), k.source.replace(y, k.source.of(x))]


# Launches


@launch_mutator
def shrink_grid(launch):
    """one program less along an axis"""
    for extent in launch.grid:
        if isinstance(extent, ast.Constant):
            if extent.value > 1:
                yield [launch.source.replace(extent, str(extent.value - 1))]
        else:
            yield [launch.source.replace(extent, "(%s) - 1" % launch.source.of(extent))]


@launch_mutator
def swap_arguments(launch):
    """two neighbouring tensors or numbers exchanged"""
    for a, b in zip(launch.call.args, launch.call.args[1:]):
        if type(a) is type(b) and isinstance(a, (ast.Name, ast.Constant)):
            yield [launch.source.replace(a, launch.source.of(b)),
                   launch.source.replace(b, launch.source.of(a))]


@launch_mutator
def shrink_argument(launch):
    """a size or stride less by one"""
    used = {n.id for n in launch.kernel.walk(ast.Name)}
    for arg, parameter in zip(launch.call.args, launch.kernel.node.args.args):
        if (isinstance(arg, ast.Constant) and type(arg.value) is int and arg.value > 1
                and parameter.arg in used):
            yield [launch.source.replace(arg, str(arg.value - 1))]


@launch_mutator
def halve_block(launch):
    """a program's tile halved, the grid as it was"""
    tiles = launch.kernel.tiles()
    for keyword in launch.call.keywords:
        value = keyword.value
        if (keyword.arg in tiles and isinstance(value, ast.Constant)
                and type(value.value) is int and value.value > 1):
            yield [launch.source.replace(value, str(value.value // 2))]


@launch_mutator
def skip_launch(launch):
    """the buffer as it was allocated: no launch"""
    yield [launch.source.replace(launch.statement, "pass")]


@host_mutator
def late_launch(host):
    """a launch moved behind the step that reads its result"""
    for launch in host.launches:
        after = launch.following
        if after is None or isinstance(after, ast.Return):
            continue
        results = set(names_in(launch.call)) & host.fresh
        if results & set(names_in(after)):
            yield [host.source.replace(launch.statement, host.source.of(after)),
                   host.source.replace(after, host.source.of(launch.statement))]


@host_mutator
def return_input(host):
    """an input in place of a result"""
    for node in host.returns:
        for name in (n for n in ast.walk(node.value) if isinstance(n, ast.Name)):
            for given in dict.fromkeys(host.given):
                if given != name.id:
                    yield [host.source.replace(name, given)]


@host_mutator
def swap_results(host):
    """two results returned in the other's place"""
    for node in host.returns:
        names = [n for n in ast.walk(node.value) if isinstance(n, ast.Name)]
        for a, b in itertools.combinations(names, 2):
            yield [host.source.replace(a, b.id), host.source.replace(b, a.id)]


def spelled_launches(text):
    """An export's text with `kernel[grid](arguments)` for each call of an object that launches a kernel."""
    tree = ast.parse(text)
    spelled = {}
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "_kw_Launch":
            kernel, grid, *named = value.args
            named = {k.arg: ast.unparse(k.value) for part in named for k in part.keywords}
            spelled[node.targets[0].id] = ("%s[%s]" % (ast.unparse(kernel), ast.unparse(grid)),
                                           ["%s=%s" % item for item in named.items()])
    lines = text.split("\n")
    for node in ast.walk(tree):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if name in spelled and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()
            call, named = spelled[name]
            call += "(" + ", ".join([*(ast.unparse(a) for a in node.args[1:]), *named]) + ")"
            lines[node.lineno - 1] = (line[:node.col_offset] + call.encode() + line[node.end_col_offset:]).decode()
    return "\n".join(lines)


def find_launches(source, cls, kernels):
    """The launches among the statements of a class, each with the statement after it."""
    for parent in ast.walk(cls):
        body = getattr(parent, "body", None)
        if not isinstance(body, list):
            continue
        for statement, following in zip(body, body[1:] + [None]):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if (isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript)
                    and isinstance(call.func.value, ast.Name) and call.func.value.id in kernels):
                yield Launch(source, kernels[call.func.value.id], statement, following)


def mutators():
    """(name, what it does) of every mutator."""
    return [(f.__name__.replace("_", "-"), f.__doc__)
            for f in KERNEL_MUTATORS + LAUNCH_MUTATORS + HOST_MUTATORS]


def mutants(text, cls="ModelNew"):
    """Every mutation of a candidate file that changes its text, in a fixed order."""
    text = spelled_launches(text)
    source = Source(text)
    kernels = {n.name: Kernel(source, n) for n in source.tree.body if is_jit(n)}
    node = next((n for n in source.tree.body if isinstance(n, ast.ClassDef) and n.name == cls), None)
    launches = list(find_launches(source, node, kernels)) if node is not None else []
    subjects = [(KERNEL_MUTATORS, k) for k in kernels.values()]
    subjects += [(LAUNCH_MUTATORS, launch) for launch in launches]
    if node is not None:
        subjects.append((HOST_MUTATORS, Host(source, node, launches)))
    seen, out = {text}, []
    for functions, subject in subjects:
        for function in functions:
            for edits in function(subject):
                changed = source.apply(edits)
                if changed in seen:
                    continue
                seen.add(changed)
                out.append(describe(source, function, subject.name, edits, changed))
    return out


def describe(source, function, kernel, edits, changed):
    first = source.data.count(b"\n", 0, min(e.start for e in edits))
    last = source.data.count(b"\n", 0, max(e.end for e in edits))
    old, new = source.text.split("\n"), changed.split("\n")
    return Mutant(function.__name__.replace("_", "-"), kernel, first + 1,
                  " ".join(line.strip() for line in old[first:last + 1]),
                  " ".join(line.strip() for line in new[first:last + 1 + len(new) - len(old)]),
                  changed)


def main():
    parser = argparse.ArgumentParser(description="List or write the mutants of a candidate file.")
    parser.add_argument("candidate", type=pathlib.Path)
    parser.add_argument("--class", dest="cls", default="ModelNew")
    parser.add_argument("--out", type=pathlib.Path, help="folder to write them to")
    args = parser.parse_args()
    for i, mutant in enumerate(mutants(args.candidate.read_text(), args.cls)):
        print("%4d %-20s %s:%d\n     - %s\n     + %s" % (
            i, mutant.mutator, mutant.kernel, mutant.line, mutant.before, mutant.after))
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            (args.out / ("%04d.py" % i)).write_text(mutant.text)


if __name__ == "__main__":
    main()
