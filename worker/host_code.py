"""Host code that asks before it looks: each attribute that a candidate's Python reads or writes goes
past a Surroundings (surroundings.py) first.

The file is compiled from its syntax tree, in which `a.b` has become `READ(a, "b").b`. READ returns
`a`, or refuses; what happens next is what would have happened anyway. The names of the two
functions are no identifiers, so that no file can spell, shadow or replace them. Text and line
numbers stay the file's: Triton reads the text of a kernel, not the tree.
"""

import ast

READ, WRITE = "read attribute", "write attribute"

# Variables between double underscores that mean the same wherever a file is run.
_VARIABLES = {"__name__", "__doc__", "__all__", "__version__", "__author__", "__debug__",
              "__slots__", "__match_args__", "__annotations__", "__future__"}

# Methods that PyTorch or Python calls at moments, or with objects, of its own choosing.
_METHODS = {"__del__", "__subclasshook__", "__instancecheck__", "__subclasscheck__",
            "__torch_function__", "__torch_dispatch__", "__getattribute__", "__init_subclass__",
            "__class_getitem__", "__mro_entries__", "__prepare__"}


def mediated(tree, refuse):
    """The tree of a file whose attributes go past READ and WRITE. What needs no run to be seen is
    refused here: `refuse(message, line)`."""
    return ast.fix_missing_locations(_Mediator(refuse).visit(tree))


def is_special(name):
    return name.startswith("__") and name.endswith("__") and len(name) > 4


class _Mediator(ast.NodeTransformer):
    def __init__(self, refuse):
        self.refuse = refuse

    def visit_Attribute(self, node):
        name = READ if isinstance(node.ctx, ast.Load) else WRITE
        owner = self.visit(node.value)
        asked = ast.Call(ast.Name(name, ast.Load()), [owner, ast.Constant(node.attr)], [])
        return ast.copy_location(ast.Attribute(ast.copy_location(asked, node), node.attr, node.ctx),
                                 node)

    def visit_Name(self, node):
        if is_special(node.id) and node.id not in _VARIABLES:
            self.refuse("the program names %s" % node.id, node.lineno)
        return node

    def visit_FunctionDef(self, node):
        if node.name in _METHODS:
            self.refuse("the program defines %s" % node.name, node.lineno)
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_MatchClass(self, node):
        """A class pattern asks for an object's true class, and reads its attributes."""
        self.refuse("the program matches a class pattern", node.lineno)
        return node
