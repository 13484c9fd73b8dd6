"""The `cut` job: a file with a model and a candidate in, the same file without the candidate out.

The candidate is a class. With it go the statements that it alone uses, and those that use it. What the
model, get_inputs and get_init_inputs use stays as it is, and so does every other line.
"""

import ast
import dis
import io
import types

from loading import parse
from refusal import Refused


def cut(request):
    """The reply {"source"}, or Refused if the model uses the candidate."""
    source, candidate, file = request["source"], request["class"], request["file"]
    body = parse(source, file).body
    try:
        module = _Module(body)
    except SyntaxError as error:  # such as `return` outside a function
        raise Refused("syntax", error.msg, file, error.lineno) from None
    target = module.makers.get(candidate, set())
    if not target:
        return {"status": "ok", "source": source}
    wanted = set().union(*(module.makers.get(name, set()) for name in request["keeps"]))
    of_candidate = module.reach(target)
    for place in range(len(body)):
        if target & module.reach({place}):
            of_candidate.add(place)
        elif not module.is_definition(place):
            wanted.add(place)  # who knows what it does
    kept = module.reach(wanted)
    if kept & target:
        line = body[min(kept & target)].lineno
        raise Refused("unsupported", "%s uses %s, which is judged against it: put the two into files of their own"
                      % (" or ".join(request["keeps"]), candidate), file, line)
    gone = of_candidate - kept
    # What neither uses may need what goes.
    gone |= {place for place in range(len(body)) if place not in kept and module.reach({place}) & gone}
    return {"status": "ok", "source": _without(source, body, gone, file)}


class _Module:
    """Which statements of a module use which."""

    def __init__(self, body):
        self.body = body
        self.makers = {}  # name -> places of the statements that give it a meaning
        for place, statement in enumerate(body):
            for name in _names_made(statement):
                self.makers.setdefault(name, set()).add(place)
        self.uses = [set().union(*(self.makers.get(name, set()) for name in _globals_used(statement)))
                     for statement in body]

    def is_definition(self, place):
        statement = self.body[place]
        return isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import,
                                      ast.ImportFrom)) and not _is_future(statement) \
            or isinstance(statement, (ast.Assign, ast.AnnAssign)) and bool(_names_made(statement))

    def reach(self, places):
        """The places of these statements and of what they use."""
        seen, open_places = set(), list(places)
        while open_places:
            place = open_places.pop()
            if place not in seen:
                seen.add(place)
                open_places += self.uses[place]
        return seen


def _is_future(statement):
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _globals_used(statement):
    """Names of the module that a statement uses, as Python's compiler sees it: no local variables."""
    used, codes = set(), [compile(ast.Module([statement], []), "", "exec", dont_inherit=True)]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        used |= {step.argval for step in dis.get_instructions(code)
                 if step.opname.startswith(("LOAD_", "DELETE_")) and step.opcode in _BY_NAME}
    return used


_BY_NAME = {dis.opmap[name] for name in dis.opmap if name.endswith(("_NAME", "_GLOBAL", "_GLOBALS"))}


def _names_made(statement):
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    made = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
    return made


def _lines(statement):
    """The lines of a statement, with its decorators."""
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    return range(first, statement.end_lineno + 1)


def _without(source, body, places, file):
    gone = {line for place in places for line in _lines(body[place])}
    for place, statement in enumerate(body):
        if place not in places and gone & set(_lines(statement)):
            raise Refused("unsupported", "a line has a statement of the model and one of the candidate: give "
                          "each a line of its own",
                          file, statement.lineno)
    lines = io.StringIO(source, newline="").readlines()  # as Python counts them, with their ends
    return "".join(line for number, line in enumerate(lines, 1) if number not in gone)
