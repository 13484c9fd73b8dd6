"""What the text of an export says (truth.py): its launches; and the text without its stores."""

import ast
import collections

from truth_equal import Fault


def is_jit(function):
    return isinstance(function, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in function.decorator_list)


def launches_of(text):
    """How many kernels a call launches by the text, and how many more when it packs weights again."""
    tree = ast.parse(text)
    kernels = {node.name for node in tree.body if is_jit(node)}
    counts = collections.Counter()
    for model in (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew"):
        for method in model.body:
            for node in ast.walk(method):
                called = node.func if isinstance(node, ast.Call) else None
                by_object = isinstance(called, ast.Name) and called.id.startswith("_kw_launch_")
                if by_object or isinstance(called, ast.Subscript) and ast.unparse(called.value) in kernels:
                    counts[method.name == "_kw_derived"] += 1
    return counts[False], counts[True]


class _StoresOut(ast.NodeTransformer):
    """Puts for each store nothing, and for each atomic operation the value that it was given."""

    def __init__(self):
        self.removed = 0

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "store":
            self.removed += 1
            return ast.Constant(None)
        if name.startswith("atomic_"):
            self.removed += 1
            return node.args[-1] if name == "atomic_cas" else node.args[1]
        return node


def without_stores(text):
    """The export's text with kernels that store nothing."""
    tree = ast.parse(text)
    out = _StoresOut()
    for node in tree.body:
        if is_jit(node):
            out.visit(node)
    if not out.removed:
        raise Fault("its kernels hold no store")
    return ast.unparse(ast.fix_missing_locations(tree))
