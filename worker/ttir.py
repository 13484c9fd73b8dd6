"""A reader of TTIR, Triton's target-independent IR, from its text.

TTIR is what Triton makes of a kernel's source before it looks at a GPU: typed tensor operations in
SSA form with structured control flow. access.py asks it what a kernel reads and writes, machine.py
runs it. The text is Triton's own, of a slice that has been checked. So the reader need not be a
validator, but an operation that it cannot take apart is an error, never a guess.
"""

import functools
import re


OPERATION_COST = 128  # elements that one operation of an interpreter counts for, however small


class Unreadable(Exception):
    """A line that does not look like TTIR."""


class Type:
    """shape is None for a scalar; element is "f32", "i1", "ptr", ...; a pointer's pointee is its
    element type."""

    __slots__ = ("shape", "element", "pointee")

    def __init__(self, shape, element, pointee=None):
        self.shape, self.element, self.pointee = shape, element, pointee

    @property
    def size(self):
        size = 1
        for n in self.shape or ():
            size *= n
        return size


class Operation:
    __slots__ = ("kind", "text", "operands", "results", "types", "regions", "successors", "hints")

    def __init__(self, kind, text, operands, results):
        self.kind, self.text = kind, text
        self.operands, self.results = operands, results
        self.types = []       # of results
        self.regions = []     # lists of Blocks
        self.successors = []  # (label, operands)
        self.hints = {}       # what the source promises of the result, by name: numbers by dimension

    def work(self):
        """The elements of its results; the products that a matrix product sums."""
        if self.kind == "tt.dot":
            inner = re.search(r":\s*tensor<(?:\d+x)*(\d+)x\D", self.text)
            return self.types[0].size * int(inner.group(1) if inner else 1)
        return sum(kind.size for kind in self.types)

    def attribute(self, pattern, default=None):
        """The first group of `pattern` in the operation's text."""
        found = re.search(pattern, self.text)
        return found.group(1) if found else default


class Block:
    def __init__(self, label, arguments):
        self.label, self.arguments = label, arguments  # arguments: [(name, Type)]
        self.operations = []

    @functools.cached_property
    def work(self):
        """What one run of the block's own operations costs an interpreter, in elements."""
        return sum(OPERATION_COST + operation.work() for operation in self.operations)


class Function:
    def __init__(self, name, arguments, blocks):
        self.name, self.arguments, self.blocks = name, arguments, blocks

    def operations(self):
        yield from _operations(self.blocks)


def _operations(blocks):
    for block in blocks:
        for operation in block.operations:
            yield operation
            for region in operation.regions:
                yield from _operations(region)


_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_DEFINITION = re.compile(r"^((?:%[\w$.-]+(?::\d+)?(?:,\s*)?)+)\s*=\s*(.*)$", re.S)
_LOCATION = re.compile(r'\s*loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*"|\([^()]*\))*\))*\)')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_KIND = re.compile(r'^"?([a-zA-Z_][\w]*\.[\w.]+)"?')
_HINT = re.compile(r"\btt\.(divisibility|contiguity|constancy) = (dense<[^>]*>|\d+)")
_ARGUMENT = re.compile(r"(%[\w$.-]+)\s*:\s*((?:[^,<>(){}]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+)")


@functools.lru_cache(maxsize=4096)
def parse_type(text):
    text = text.strip()
    if text.startswith("tensor<"):
        inner = text[len("tensor<"):text.rindex(">")]
        dims = re.match(r"((?:\d+x)*)(.*)$", inner, re.S)
        element = parse_type(dims.group(2))
        shape = tuple(int(n) for n in dims.group(1).split("x") if n)
        return Type(shape, element.element, element.pointee)
    if text.startswith("!tt.ptr<"):
        pointee = text[len("!tt.ptr<"):text.rindex(">")].split(",")[0]
        return Type(None, "ptr", pointee.strip())
    return Type(None, text)


def split_types(text):
    """`a, tensor<...>` -> its parts; commas inside brackets do not count."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<(":
            depth += 1
        elif char == ")" or (char == ">" and text[index - 1] != "-"):
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


@functools.lru_cache(maxsize=64)
def parse(text):
    """The functions of a module by name. Callers share them, and change nothing."""
    lines = [line for line in (_LOCATION.sub("", raw).strip() for raw in text.splitlines())
             if line and not line.startswith(("#", "//"))]
    return _Reader(lines).module()


class _Reader:
    def __init__(self, lines):
        self.lines, self.position = lines, 0

    def next(self):
        if self.position >= len(self.lines):
            raise Unreadable("the module ends inside a region")
        self.position += 1
        return self.lines[self.position - 1]

    def module(self):
        functions = {}
        while self.position < len(self.lines):
            line = self.next()
            if not line.startswith("tt.func"):
                continue
            name = re.search(r'@"?([\w$.]+)', line).group(1)
            arguments = self._arguments(line[line.index("("):])
            blocks, _ = self.region([])
            functions[name] = Function(name, arguments, blocks)
        return functions

    @staticmethod
    def _arguments(text):
        return [(name, parse_type(kind)) for name, kind in _ARGUMENT.findall(text)]

    def region(self, arguments):
        """The blocks up to the region's closing line, and that line."""
        blocks = [Block("", arguments)]
        while True:
            line = self.next()
            if line.startswith("}"):
                return blocks, line
            if line.startswith("^"):
                label = re.match(r"\^[\w$.]+", line).group(0)
                arguments = self._arguments(line.split("//")[0])
                if blocks == [blocks[0]] and not blocks[0].operations and not blocks[0].label:
                    blocks[0].label = label
                    blocks[0].arguments = blocks[0].arguments + arguments
                else:
                    blocks.append(Block(label, arguments))
                continue
            blocks[-1].operations.append(self.operation(line))

    def operation(self, line):
        results = []
        definition = _DEFINITION.match(line)
        if definition:
            names, line = definition.groups()
            for name in names.split(","):
                name, _, count = name.strip().partition(":")
                results += ["%s#%d" % (name, i) for i in range(int(count))] \
                    if int(count or 1) > 1 else [name]
        kind = _KIND.match(line)
        if kind is None:
            raise Unreadable("not an operation: %s" % line)
        operation = Operation(kind.group(1), line, [], results)
        head = line
        if line.endswith("{"):
            closing = line
            while closing.endswith("{"):
                blocks, closing = self.region([])
                operation.regions.append(blocks)
            operation.text += " " + closing
            head = line if not closing.startswith("})") else line + closing[1:]
        self._finish(operation, head)
        return operation

    def _finish(self, operation, head):
        kind = operation.kind
        for name, numbers in _HINT.findall(head):
            operation.hints[name] = [int(n) for n in re.findall(r"\d+", numbers)]
        if kind == "scf.for":
            self._for(operation)
        elif kind == "scf.while":
            self._while(operation)
        elif kind.startswith("cf."):
            self._branch(operation)
        else:
            operation.operands = _VALUE.findall(_STRING.sub('""', head))
            operation.types = _result_types(operation, _STRING.sub('""', head))

    def _for(self, operation):
        """operands: bounds, step, initial values; the body's arguments: index, carried values."""
        head = operation.text
        bounds = re.match(r"scf\.for(?: unsigned)?\s+(%\S+)\s*=\s*(%\S+)\s+to\s+(%\S+)\s+step\s+"
                          r"(%\S+)", head)
        carried = re.search(r"iter_args\((.*?)\)\s*->\s*\((.*?)\)\s*(?::\s*\w+\s*)?\{", head)
        pairs = re.findall(r"(%[\w$.-]+)\s*=\s*(%[\w$.-]+(?:#\d+)?)",
                           carried.group(1)) if carried else []
        index = re.search(r":\s*(i\d+|index)\s*\{", head)
        operation.operands = list(bounds.groups()[1:]) + [initial for _, initial in pairs]
        operation.types = [parse_type(t) for t in split_types(carried.group(2))] if carried else []
        names = [bounds.group(1)] + [name for name, _ in pairs]
        kinds = [parse_type(index.group(1) if index else "index")] + operation.types
        operation.regions[0][0].arguments = list(zip(names, kinds))

    def _while(self, operation):
        head = operation.text
        types = re.search(r"\)\s*:\s*(\(.*?\)|\S+)\s*->\s*(\(.*?\)|\S+)\s*\{", head)
        pairs = re.findall(r"(%[\w$.-]+)\s*=\s*(%[\w$.-]+(?:#\d+)?)", head.split(") :")[0])
        operation.operands = [initial for _, initial in pairs]
        if types:
            before = [parse_type(t) for t in split_types(types.group(1))]
            operation.types = [parse_type(t) for t in split_types(types.group(2))]
        else:
            before = []
        operation.regions[0][0].arguments = [
            (name, kind) for (name, _), kind in zip(pairs, before)]

    def _branch(self, operation):
        """cf.br ^bb1(%a : T), cf.cond_br %c, ^bb1(...), ^bb2(...)"""
        head = operation.text
        for label, inside in re.findall(r"(\^[\w$.]+)(?:\(([^)]*)\))?", head):
            operation.successors.append((label, _VALUE.findall(inside)))
        operation.operands = _VALUE.findall(head.split("^")[0])
        if operation.kind not in ("cf.br", "cf.cond_br") and operation.successors:
            raise Unreadable("branch %s" % operation.kind)


def _result_types(operation, head):
    if not operation.results:
        return []
    kind = operation.kind
    if kind == "scf.if":
        found = re.search(r"->\s*\((.*?)\)\s*\{", head)
        return [parse_type(t) for t in split_types(found.group(1))] if found else []
    if kind == "arith.constant":
        text = head[head.index(kind) + len(kind):].strip()
        if text in ("true", "false"):
            return [parse_type("i1")]
        return [parse_type(head.rpartition(" : ")[2])]
    if "->" in head:
        types = split_types(head.rpartition("->")[2])
    else:
        types = split_types(head.rpartition(" : ")[2])
        if " to " in types[-1]:
            types = [types[-1].rpartition(" to ")[2]]
    types = [parse_type(t) for t in types]
    if kind in ("arith.cmpi", "arith.cmpf"):
        return [Type(types[0].shape, "i1")]
    if kind == "tt.load":
        return [Type(types[0].shape, types[0].pointee)]
    if kind in ("arith.select", "tt.addptr") and "->" not in head:
        return [types[-1] if kind == "arith.select" else types[0]]
    if len(types) < len(operation.results):
        return types * len(operation.results)  # one type for all of them
    return types
