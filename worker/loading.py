"""Reading the user's file: parse, execute as a module, find the user's lines."""

import ast
import io
import linecache
import os
import sys
import types

import host_code
from refusal import Refused, one_line

MODULE_NAME = "_kernelwright_source"


def source_lines(source):
    """Lines with their ends, as Python counts them: str.splitlines breaks at more characters."""
    return io.StringIO(source, newline=None).readlines()


def parse(source, file):
    try:
        return ast.parse(source, filename=file)
    except SyntaxError as error:
        raise Refused("syntax", error.msg, file, error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused("syntax", one_line(error), file, None) from None


def _definitions(node):
    """The functions in a statement's blocks, whatever they are nested in."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for part in getattr(node, block, ()):
            if isinstance(part, ast.FunctionDef):
                yield part
            yield from _definitions(part)


# The class of a reference, and of a candidate.
_OTHER_ROLE = {"Model": "ModelNew", "ModelNew": "Model"}


class UserFile:
    """The user's file as a module. `name` is what messages call it; `folder` may hold modules that
    it imports."""

    def __init__(self, source, name, folder, module_name=MODULE_NAME):
        self.module_name = module_name  # what the file finds in __name__
        self.source, self.name = source, name
        self.folder = os.path.join(os.path.abspath(folder), "") if folder else None
        self.module = None
        self.definitions = {}  # first line, decorators included -> ast.FunctionDef

    def execute(self, surroundings=None):
        """Runs the file; with `surroundings`, as host code that asks before it looks."""
        tree = parse(self.source, self.name)
        for node in _definitions(tree):
            first = min(part.lineno for part in (node, *node.decorator_list))
            self.definitions[first] = node
        # Triton reads the source of a kernel through linecache; an entry without a time stamp is
        # never looked up on disk.
        linecache.cache[self.name] = (len(self.source), None, source_lines(self.source), self.name)
        if self.folder and self.folder.rstrip(os.sep) not in sys.path:
            sys.path.insert(0, self.folder.rstrip(os.sep))
        self.module = types.ModuleType(self.module_name)
        self.module.__file__ = self.name
        sys.modules[self.module_name] = self.module
        if surroundings is not None:
            tree = host_code.mediated(parse(self.source, self.name), surroundings.names,
                                      surroundings.refuse)
            self.module.__dict__["__builtins__"] = surroundings.builtins()
        exec(compile(tree, self.name, "exec", dont_inherit=True), self.module.__dict__)

    def get(self, name):
        try:
            return self.module.__dict__[name]
        except KeyError:
            other = _OTHER_ROLE.get(name)
            hint = ", but %s: are reference and candidate in each other's place?" % other \
                if other in self.module.__dict__ else ""
            raise Refused("missing", "the file defines no %s%s" % (name, hint), self.name,
                          None) from None

    def owns(self, filename):
        return filename == self.name or (
            self.folder is not None and filename.startswith(self.folder)
            and os.sep + "site-packages" + os.sep not in filename)

    def location(self):
        """(file, line) of the innermost frame of the user's that is now running."""
        frame = sys._getframe(1)
        outer = None
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename == self.name:
                return self.name, frame.f_lineno
            if outer is None and self.owns(filename):
                outer = (filename, frame.f_lineno)
            frame = frame.f_back
        return outer or (self.name, None)

    def location_of(self, error):
        """(file, line) of the innermost frame of the user's that an exception went through."""
        found = (self.name, None)
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.name:
                found = (self.name, traceback.tb_lineno)
            traceback = traceback.tb_next
        return found
