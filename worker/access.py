"""Which arguments a kernel reads and writes, from Triton's own IR of it (ttir.py).

Each value carries the set of pointer arguments that it may be derived from, through arithmetic,
casts, loops and branches, to a fixed point. Loads read what their pointer may be derived from,
stores write it, atomics do both. The sets may be too
large, but never too small. Some things count as reads and writes of every pointer: an access through
a pointer of unknown origin, an unknown operation, and inline assembly that touches memory.
"""

import re

import ttir

_READS = {"tt.load", "tt.descriptor_load", "tt.descriptor_gather"}
_WRITES = {"tt.store", "tt.descriptor_store", "tt.descriptor_scatter"}
_BOTH = {"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"}

# Operations without effect on memory, whose results derive from their operands.
_PURE_DIALECTS = ("arith.", "math.", "ub.", "cf.", "scf.", "llvm.intr.assume")
_PURE = {"tt." + name for name in (
    "addptr advance assert bitcast broadcast cat clampf dot dot_scaled expand_dims fp_to_fp gather "
    "get_num_programs get_program_id histogram int_to_ptr join make_range make_tensor_descriptor "
    "make_tensor_ptr mulhiui precise_divf precise_sqrt print ptr_to_int reduce reduce.return "
    "reshape return scan scan.return splat split trans unsplat extern_elementwise").split()}
_ASM_MEMORY = re.compile(r"\b(ld|st|ldu|atom|red|cp|multimem|prefetch|prefetchu|call|mbarrier|"
                         r"ldmatrix|stmatrix|wgmma|tcgen05|applypriority|discard)\b")
_ESCAPE = re.compile(r"\\[0-9A-F]{2}")  # "\0A" would run into the next word

_UNKNOWN = -1


def accessed_arguments(text, symbol, runtime, pointers):
    """(reads, writes): parameter indices. `runtime` are the indices of the parameters that the
    machine code takes, in order; `pointers` those among them that are pointers."""
    try:
        function = ttir.parse(text)[symbol]
        if len(function.arguments) != len(runtime):
            return list(pointers), list(pointers)
        reads, writes = _Analysis(function).run()
    except (ttir.Unreadable, KeyError, ValueError, IndexError, AttributeError):
        return list(pointers), list(pointers)
    if _UNKNOWN in reads | writes:
        return list(pointers), list(pointers)
    return tuple([i for i in pointers if runtime.index(i) in found] for found in (reads, writes))


class _Analysis:
    def __init__(self, function):
        self.function = function
        self.edges = {}        # value -> values derived from it
        self.unknown = set()   # values that may point anywhere
        self.accesses = []     # (operands, reads, writes, whether a known origin is required)

    def run(self):
        for block in self.function.blocks:
            self._block(block, None, self.function.blocks)
        origins = {name: {i} for i, (name, _) in enumerate(self.function.arguments)}
        for name in self.unknown:
            origins.setdefault(name, set()).add(_UNKNOWN)
        work = list(origins)
        while work:
            source = work.pop()
            for target in self.edges.get(source, ()):
                have = origins.setdefault(target, set())
                if not origins[source] <= have:
                    have |= origins[source]
                    work.append(target)
        reads, writes = set(), set()
        for operands, is_read, is_write, required in self.accesses:
            found = set().union(*(origins.get(value, set()) for value in operands))
            if required and not found:
                found = {_UNKNOWN}
            reads |= found if is_read else set()
            writes |= found if is_write else set()
        return reads, writes

    def _flow(self, sources, targets):
        for source, target in zip(sources, targets):
            self.edges.setdefault(source, []).append(target)

    def _block(self, block, parent, blocks):
        for operation in block.operations:
            self._operation(operation, parent, blocks)

    def _operation(self, op, parent, blocks):
        kind = op.kind
        if kind in _READS or kind in _WRITES or kind in _BOTH:
            # What a load or an atomic gives back is data; a pointer made of it has no known origin.
            self.accesses.append((op.operands[:1], kind not in _WRITES, kind not in _READS, True))
            self.unknown.update(result for result, type in zip(op.results, op.types)
                                if type.element == "ptr")
            return
        if kind == "scf.yield" and parent is not None:
            self._yield(op, parent)
        elif kind == "scf.condition" and parent is not None:
            after = [name for name, _ in parent.regions[1][0].arguments]
            self._flow(op.operands[1:], after)
            self._flow(op.operands[1:], parent.results)
        elif op.successors:
            for label, operands in op.successors:
                for block in blocks:
                    if block.label == label:
                        self._flow(operands, [name for name, _ in block.arguments])
        elif kind in ("scf.for", "scf.while"):
            first = 3 if kind == "scf.for" else 0
            names = [name for name, _ in op.regions[0][0].arguments]
            self._flow(op.operands[first:], names[1:] if kind == "scf.for" else names)
            if kind == "scf.for":
                self._flow(op.operands[first:], op.results)
        elif kind != "scf.if":
            self._plain(op)
        for region in op.regions:
            for block in region:
                self._block(block, op, region)

    def _yield(self, op, parent):
        if parent.kind in ("scf.for", "scf.while"):
            names = [name for name, _ in parent.regions[0][0].arguments]
            self._flow(op.operands, names[1:] if parent.kind == "scf.for" else names)
        if parent.kind != "scf.while":
            self._flow(op.operands, parent.results)

    def _plain(self, op):
        for operand in op.operands:
            self.edges.setdefault(operand, []).extend(op.results)
        if op.kind == "tt.int_to_ptr":
            # Through an integer that came from a pointer the origin is known as well, but adding
            # two of those would point to a third.
            self.unknown.update(op.results)
        elif op.kind in ("tt.elementwise_inline_asm", "tt.map_elementwise"):
            if _ASM_MEMORY.search(_ESCAPE.sub(" ", op.text)):
                self.accesses.append(([], True, True, True))
            self.accesses.append((op.operands, True, True, False))
        elif op.kind not in _PURE and not op.kind.startswith(_PURE_DIALECTS):
            self.accesses.append((op.operands, True, True, False))
            self.unknown.update(op.results)
