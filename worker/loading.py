"""Reading the user's file: parse, execute as a module, find the user's lines."""

import ast
import contextlib
import importlib.machinery
import importlib.util
import io
import keyword
import linecache
import os
import sys

from refusal import Refused, one_line, plain
from types_seen import file_builtins

MODULE_NAME = "_kernelwright_source"
WORKER_DIR = os.path.dirname(os.path.abspath(__file__))

_WORKERS = frozenset(name[:-3] for name in os.listdir(WORKER_DIR) if name.endswith(".py"))


@contextlib.contextmanager
def plain_process():
    """While the user's code runs: the worker's modules do not come before the user's modules of the
    same names, and the command line is not the worker's."""
    saved = sys.argv, sys.path[:]
    hidden = {name: sys.modules.pop(name) for name in _WORKERS
              if os.path.dirname(getattr(sys.modules.get(name), "__file__", None) or "") == WORKER_DIR}
    sys.argv = [""]
    sys.path[:] = [path for path in sys.path if path != WORKER_DIR]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = saved
        sys.modules.update(hidden)


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


# What messages say of what a file should define.
_WANTED = {"Model": ", the class of the program", "ModelNew": ", the class of the candidate",
           "get_inputs": ", which returns forward's arguments in a list"}


class UserFile:
    """The user's file as a module. `name` is what messages call it; `folder` may hold modules that
    it imports."""

    def __init__(self, source, name, folder, module_name=MODULE_NAME):
        self.module_name = module_name  # if the file has no name to be imported by
        self.source, self.name = source, name
        self.folder = os.path.join(os.path.abspath(folder), "") if folder else None
        self.module = None
        self.texts = {}  # file -> its text, of the files that kernels are in

    def execute(self):
        """Imports the file: as a module of its folder, or of the package that the folder is in, if
        that is what its own imports need."""
        tree = parse(self.source, self.name)
        # Triton reads the source of a kernel through linecache; an entry without a time stamp is
        # never looked up on disk.
        path = self._path()
        for known_as in {self.name, path}:
            linecache.cache[known_as] = (len(self.source), None, source_lines(self.source), known_as)
        self.texts[self.name] = self.source
        package, roots = "", {}
        if self.folder:
            folder = self.folder.rstrip(os.sep)
            if _is_of_package(tree, folder):
                package, roots = _package(folder)
            elif folder not in sys.path:
                sys.path.insert(0, folder)
        name = package + self._own_name(package, path)
        sys.modules.pop(name, None)  # of an earlier recording
        code = compile(tree, self.name, "exec", dont_inherit=True)
        finder = _Finder(self, code, path, name, roots)
        sys.meta_path.insert(0, finder)
        try:
            importlib.import_module(name)
        finally:
            sys.meta_path.remove(finder)

    def builtins(self):
        """The builtins of the file, where tensors are fake."""
        return file_builtins()

    def _path(self):
        return os.path.join(self.folder, os.path.basename(self.name)) if self.folder else self.name

    def _own_name(self, package, path):
        """The name by which other modules of the folder would import the file, if it lies there."""
        stem = os.path.splitext(os.path.basename(path))[0]
        if not self.folder or not _is_name(stem) or package + stem in sys.modules:
            return self.module_name
        try:
            with open(path, encoding="utf-8") as there:
                return stem if there.read() == self.source else self.module_name
        except (OSError, ValueError):
            return self.module_name

    def text_of(self, filename):
        """The text of a file that a kernel is in, or None."""
        if filename not in self.texts:
            self.texts[filename] = "".join(linecache.getlines(filename)) or None
        return self.texts[filename]

    def shown(self, filename):
        """What messages call a file, and what it is known by in Raw kernels."""
        own = self.folder and filename.startswith(self.folder)
        return filename[len(self.folder):] if own else plain(filename)

    def get(self, name):
        try:
            return self.module.__dict__[name]
        except KeyError:
            other = _OTHER_ROLE.get(name)
            hint = ", but %s: are reference and candidate in each other's place?" % other \
                if other in self.module.__dict__ else _WANTED.get(name, "")
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
        return (self.shown(outer[0]), outer[1]) if outer else (self.name, None)

    def line_that_sets(self, attribute):
        """The last line of the file that assigns to an attribute of this name, or None."""
        targets = [node.lineno for node in ast.walk(parse(self.source, self.name))
                   if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == attribute]
        return max(targets, default=None)

    def location_of(self, error):
        """(file, line) of the innermost frame of the user's that an exception went through."""
        found = (self.name, None)
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.name:
                found = (self.name, traceback.tb_lineno)
            traceback = traceback.tb_next
        return found


def definitions(text, file):
    """First line, decorators included -> the function that begins there."""
    return {min(part.lineno for part in (node, *node.decorator_list)): node
            for node in _definitions(parse(text, file))}


def _is_name(text):
    return text.isidentifier() and not keyword.iskeyword(text) \
        and text not in sys.stdlib_module_names


def _is_of_package(tree, folder):
    """Whether a file imports relatively, or by the name of the package that its folder is in."""
    root = package_root(folder)
    is_package = os.path.exists(os.path.join(root, "__init__.py"))
    own = os.path.basename(root) if is_package and not _is_taken(root) else None
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").partition(".")[0] == own:
                return True
        elif isinstance(node, ast.Import):
            if any(alias.name.partition(".")[0] == own for alias in node.names):
                return True
    return False


def package_root(folder):
    """The outermost folder of the package that `folder` is in, or `folder` itself."""
    while os.path.exists(os.path.join(folder, "__init__.py")):
        parent = os.path.dirname(folder)
        if not os.path.exists(os.path.join(parent, "__init__.py")):
            break
        folder = parent
    return folder


def _package(folder):
    """The name of the package that a folder is, with a dot, and what the finder must know: name ->
    folder of the outermost one."""
    root = package_root(folder)
    inner = os.path.relpath(folder, root).split(os.sep) if folder != root else []
    top = MODULE_NAME + "_package" if _is_taken(root) else os.path.basename(root)
    return ".".join([top, *inner, ""]), {top: root}


def _is_taken(root):
    """Whether a package of this folder cannot have the folder's name: a library has it."""
    name = os.path.basename(root)
    known = sys.modules.get(name)
    return not _is_name(name) or known is not None and root not in getattr(known, "__path__", ())


class _Finder:
    """Finds a user's file by the name that it has, with the text that was given, and its package."""

    def __init__(self, file, code, path, name, packages):
        self.file, self.code, self.path = file, code, path
        self.name, self.packages = name, packages

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            spec = importlib.machinery.ModuleSpec(name, self, origin=self.path)
            spec.has_location = True
            return spec
        root = self.packages.get(name)
        if root is None:
            return None
        first = os.path.join(root, "__init__.py")
        if os.path.exists(first):
            return importlib.util.spec_from_file_location(
                name, first, submodule_search_locations=[root])
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [root]
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        self.file.module = module
        module.__dict__["__builtins__"] = self.file.builtins()
        exec(self.code, module.__dict__)
