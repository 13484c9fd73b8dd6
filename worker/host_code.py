"""Host code that asks before it looks: each attribute that a candidate's Python reads or writes goes
past a Surroundings (surroundings.py) first.

The file is compiled from its syntax tree, in which `a.b` has become `READ(a, "b").b`. READ returns
`a`, or refuses; what happens next is what would have happened anyway. The two functions have names
that are no identifiers, and other ones in each recording, so that no file can spell, shadow or
replace them. Text and line numbers stay the file's: Triton reads the text of a kernel, not the tree.
"""

import ast

# Variables between double underscores that mean the same wherever a file is run.
_VARIABLES = {"__name__", "__doc__", "__all__", "__version__", "__author__", "__debug__",
              "__slots__", "__match_args__", "__annotations__", "__future__"}

# Methods that PyTorch or Python calls at moments, or with objects, of its own choosing.
METHODS = {"__del__", "__subclasshook__", "__instancecheck__", "__subclasscheck__",
            "__torch_function__", "__torch_dispatch__", "__getattribute__", "__init_subclass__",
            "__class_getitem__", "__mro_entries__", "__prepare__"}

# Variables of a module that Python itself reads.
_OF_MODULES = {"__builtins__", "__import__", "__build_class__", "__spec__", "__loader__", "__file__",
               "__path__", "__package__", "__getattr__"}


def mediated(tree, names, refuse):
    """The tree of a file whose attributes go past READ and WRITE, which have these `names`. What
    needs no run to be seen is refused here: `refuse(message, line)`."""
    return _Mediator(names, refuse).visit(tree)


def is_special(name):
    return name.startswith("__") and name.endswith("__") and len(name) > 4


class _Mediator(ast.NodeTransformer):
    def __init__(self, names, refuse):
        (self.read, self.write), self.refuse = names, refuse

    def generic_visit(self, node):
        for field in ("name", "asname", "arg", "rest"):
            given = getattr(node, field, None)
            if isinstance(given, str) and is_special(given) and self._is_refused(node, given):
                self.refuse("the program names %s" % given, getattr(node, "lineno", None))
        return super().generic_visit(node)

    @staticmethod
    def _is_refused(node, name):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return name in METHODS
        return name not in _VARIABLES

    def visit_Attribute(self, node):
        name = self.read if isinstance(node.ctx, ast.Load) else self.write
        place = {"lineno": node.lineno, "col_offset": node.col_offset,
                 "end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset}
        arguments = [self.visit(node.value), ast.Constant(node.attr, **place)]
        node.value = ast.Call(ast.Name(name, ast.Load(), **place), arguments, [], **place)
        return node

    def visit_Name(self, node):
        if is_special(node.id) and node.id not in _VARIABLES:
            self.refuse("the program names %s" % node.id, node.lineno)
        return node

    def visit_Module(self, node):
        for statement in node.body:
            if getattr(statement, "name", None) in _OF_MODULES:
                self.refuse("the program defines %s" % statement.name, statement.lineno)
        return self.generic_visit(node)

    def visit_MatchClass(self, node):
        """A class pattern asks for an object's true class, and reads its attributes."""
        self.refuse("the program matches a class pattern", node.lineno)
        return node
