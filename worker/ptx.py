"""Inline PTX in the interpreter: straight lines of arithmetic on registers of 32 and 64 bits, with
predicates. Labels, memory, packed types and all that is not listed here are refused.

Approximations have about the errors that PTX documents for them (approximations.py).
"""

import re

import numpy as np

import approximations
from elements import fused, unsupported

_TYPES = {"f32": np.float32, "f64": np.float64, "s32": np.int32, "u32": np.uint32, "b32": np.uint32,
          "s64": np.int64, "u64": np.uint64, "b64": np.uint64}
_STATEMENT = re.compile(r"(?:@(!?)(%?[\w$]+)\s+)?([a-z][\w.]*)\s+(.*)", re.DOTALL)
_FLOAT = re.compile(r"[-+]?(\d+\.\d*|\.?\d+)([eE][-+]?\d+)?")
_COMPARED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
             "gt": np.greater, "ge": np.greater_equal}


_APPROXIMATE = {"ex2": approximations.ex2, "lg2": approximations.lg2, "rcp": approximations.rcp,
                "sqrt": np.sqrt, "rsqrt": approximations.rsqrt, "tanh": approximations.tanh,
                "sin": approximations.sin, "cos": approximations.cos}
_ONE = {"neg": np.negative, "abs": np.abs, "not": np.invert, "mov": lambda x: x,
        "rcp": lambda x: 1 / x, "sqrt": np.sqrt}
_TWO = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
# Words after an opcode that change nothing here: nearest is how numpy rounds.
_PLAIN = {"rn", "full", "lo", "approx", "ftz"}


def run(text, outputs, inputs):
    """Runs a text on arrays: $0, $1, ... are the outputs, given as dtypes, and then the inputs."""
    return _Lines(outputs, inputs).run(text)


class _Lines:
    def __init__(self, outputs, inputs):
        self.shape = np.broadcast_shapes(*(x.shape for x in inputs)) if inputs else (1,)
        self.registers = {"$%d" % (len(outputs) + i): x for i, x in enumerate(inputs)}
        self.outputs = outputs
        self.types = {}  # of declared registers

    def run(self, text):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
        if text.count("{") > 1 and not re.fullmatch(r"(\s*\{[^{}]*\}\s*;?)*", text):
            raise unsupported("PTX with blocks in blocks")
        with np.errstate(all="ignore"):
            for statement in re.sub(r"[{}]", ";", text).split(";"):
                if statement.strip():
                    self.statement(statement.strip())
        found = []
        for i, dtype in enumerate(self.outputs):
            if "$%d" % i not in self.registers:
                raise unsupported("PTX that leaves a result without a value")
            value = self.registers["$%d" % i]
            if value.dtype.itemsize != np.dtype(dtype).itemsize:
                raise unsupported("PTX whose result has another width")
            found.append(np.broadcast_to(value, self.shape).copy().view(dtype))
        return found

    def statement(self, text):
        if text.startswith(".reg"):
            if not re.fullmatch(r"\.reg\s+\.(pred|[bfsu](32|64))\s+%?\w+(\s*,\s*%?\w+)*", text):
                raise unsupported("the PTX declaration %s" % text)
            return
        matched = _STATEMENT.fullmatch(text)
        if not matched:
            raise unsupported("the PTX statement %s" % text.split("\n")[0])
        negated, predicate, opcode, rest = matched.groups()
        target, *operands = [part.strip() for part in rest.split(",")]
        try:
            value = self.value(opcode, operands)
            if predicate:
                chosen = self.registers[predicate] ^ bool(negated)
                before = self.registers.get(target, np.zeros(1, value.dtype))
                before = before if before.dtype == value.dtype else before.view(value.dtype)
                value = np.where(chosen, value, before)
        except (KeyError, ValueError, TypeError, IndexError, OverflowError):
            raise unsupported("the PTX instruction %s" % opcode) from None
        self.registers[target] = value

    def value(self, opcode, operands):
        name, *words = opcode.split(".")
        kind = words[-1] if words else ""
        if name == "setp":
            compared, = set(words) - {kind, "ftz"}
            return _COMPARED[compared](*self.read(operands, kind))
        if kind == "pred":
            return _TWO[name](*(self.registers[o] for o in operands)) if len(operands) == 2 \
                else _ONE[name](*(self.registers[o] for o in operands))
        if name == "selp":
            return np.where(self.registers[operands[2]], *self.read(operands[:2], kind))
        if name == "cvt":
            return self.converted(words, operands)
        values = self.read(operands, kind)
        others = set(words[:-1])
        if not others <= _PLAIN:
            raise ValueError
        if name in ("shl", "shr"):
            amount = self.read(operands[1:], "u32")[0]
            shifted = np.left_shift if name == "shl" else np.right_shift
            width = values[0].dtype.itemsize * 8
            return np.where(amount >= width, np.array(0, values[0].dtype),
                            shifted(values[0], np.minimum(amount, width - 1).astype(values[0].dtype)))
        if name in ("fma", "mad"):
            result = fused(*values)
        elif name in ("min", "max"):
            chosen = {"min": (np.fmin, np.minimum), "max": (np.fmax, np.maximum)}[name]
            result = chosen[kind[0] != "f"](*values)
        elif len(values) == 1:
            result = (_APPROXIMATE if "approx" in others else _ONE)[name](*values)
        else:
            result = _TWO[name](*values)
        if name == "div" and kind[0] != "f":
            raise ValueError
        result = np.asarray(result, _TYPES[kind])
        if "ftz" in others:
            result = np.where(np.abs(result) < np.finfo(np.float32).tiny, result * 0, result)
        return result

    def converted(self, words, operands):
        *how, target, source = words
        value, = self.read(operands, source)
        target = _TYPES[target]
        modes = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
        if not set(how) <= {"rn", "ftz", *modes}:
            raise ValueError
        for mode in modes.keys() & set(how):
            value = modes[mode](np.nan_to_num(value, nan=0.0, posinf=np.inf, neginf=-np.inf))
            if np.issubdtype(target, np.integer):
                limits = np.iinfo(target)
                value = np.clip(value.astype(np.float64), limits.min, limits.max)
        return value.astype(target)

    def read(self, operands, kind):
        return [self.operand(operand, np.dtype(_TYPES[kind])) for operand in operands]

    def operand(self, text, dtype):
        value = self.registers.get(text)
        if value is not None:
            if value.dtype.itemsize != dtype.itemsize or value.dtype == np.bool_:
                raise ValueError
            return value if value.dtype == dtype else np.ascontiguousarray(value).view(dtype)
        bits = re.fullmatch("0[fFdD]([0-9a-fA-F]{8}|[0-9a-fA-F]{16})", text)
        if bits:
            raw = np.array([int(bits[1], 16)], "u%d" % (len(bits[1]) // 2))
            return raw.view("f%d" % raw.dtype.itemsize).astype(dtype) if dtype.kind == "f" \
                else raw.view(dtype)
        if dtype.kind == "f":
            if not _FLOAT.fullmatch(text):
                raise ValueError
            return np.array([float(text)], dtype)
        return np.array([int(text.removesuffix("U"), 0) & (2 ** (8 * dtype.itemsize) - 1)],
                        "u%d" % dtype.itemsize).view(dtype)
