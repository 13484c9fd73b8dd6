"""Runs one launch of a kernel on the CPU: TTIR over numpy, many program instances at a time.

Triton's own interpreter runs one instance at a time and knows neither bfloat16 nor libdevice. This
one runs what the compiler would lower, a hundred times faster.

Every value is an array whose first dimension counts program instances (1 when all agree). Where the
instances part ways (branches, loops of different length) each side runs on those that take it. The
instances of a batch run in lock step, so they see each other's stores only between operations. Of a
kernel that uses what its atomics return, or has large blocks, a batch is one instance. These run by
turns (turns.py).

What a device leaves open is decided by a seed, so that a kernel that relies on it fails at some seed:
the order of instances, and what has no value (undefined()). Every access to memory is checked
(memory.py), and so is what a kernel promises to the compiler (hints.py).
"""

import re

import numpy as np

import accesses
import elements
import hints
import ptx
import ttir
from elements import register_type, settle, unsupported
from environment import Elements, Env, merge
from memory import Fault, Reads
from turns import Turns

BATCH_ELEMENTS = 1 << 17  # of the largest tensor in a batch
TOGETHER = 8  # instances that run by turns, with no more elements than a batch
MOST_LOOKS = 64  # at the same memory, in a loop; then others run
WAVE = 64  # instances that start in any order where some wait for others
PARTS = 3  # of a grid: instances of different parts see each other's stores, or do not, as it comes


class _Waits(Exception):
    """An instance waits for what another one stores."""


class Machine:
    def __init__(self, text, symbol, memory, seed=0, promises=True, work=float("inf")):
        """`seed`: a number, or several. `work`: how much the launch may do, in elements (ttir.Block.work)."""
        self.functions = ttir.parse(text)
        self.kernel = self.functions[symbol]
        self.memory = memory
        self.chance = np.random.default_rng(seed)
        seeds = [int(each) for each in np.ravel(np.array(seed, np.uint64))]
        self.schedule = seeds[0] % 3
        self.filler = list(_FILLERS.values())[sum(seeds) % 3]  # a maximum shows one of them alone
        self.turns, self.promises = None, promises
        self.most_work, self.counted = work, 0
        self.used = set()
        operations = [op for function in self.functions.values() for op in function.operations()]
        for operation in operations:
            self.used.update(operation.operands)
            self.used.update(v for _, values in operation.successors for v in values)
        largest = max([1] + [kind.size for op in operations for kind in op.types])
        uses_old_values = any(op.kind == "tt.atomic_cas"
                          or (op.kind == "tt.atomic_rmw" and op.results[0] in self.used)
                          for op in operations)
        self.batch = 1 if uses_old_values else max(1, BATCH_ELEMENTS // largest)
        self.together = min(max(2, BATCH_ELEMENTS // largest), TOGETHER)
        self.may_wait = any(op.kind == "scf.while" for op in operations)
        self.vector = hints.vector(operations)
        # By operation, because functions may have equal names.
        self.promising = {id(op) for function in self.functions.values()
                          for names in [hints.promising(function)]
                          for op in function.operations() if op.results and op.results[0] in names}

    def launch(self, grid, arguments):
        """`arguments`: a Python number (an address for a pointer) for each parameter."""
        total = grid[0] * grid[1] * grid[2]
        fixed = [np.array([value], register_type(kind.element))
                 for value, (_, kind) in zip(arguments, self.kernel.arguments)]
        fixed = [settle(value, kind.element)
                 for value, (_, kind) in zip(fixed, self.kernel.arguments)]
        self.grid = [np.array([size], np.int32) for size in grid]

        def run(number):
            env = Env(len(number))
            env["id x"] = (number % grid[0]).astype(np.int32)
            env["id y"] = (number // grid[0] % grid[1]).astype(np.int32)
            env["id z"] = (number // (grid[0] * grid[1])).astype(np.int32)
            with np.errstate(all="ignore"):
                self.call(self.kernel, env, fixed)

        self._count(self.kernel.blocks[0], total)  # before there is anything of the grid's size
        self.counted = 0
        parts = self._parts(total)

        def in_lock_step():
            for part in parts:
                for start in range(0, len(part), self.batch):
                    run(part[start:start + self.batch])

        def by_turns():
            self.turns = Turns(self.memory, lambda number: run(np.array([number])), self.together,
                               self.chance if total > PARTS else None)
            self.turns.run_all(self._in_waves(total) if self.may_wait else np.concatenate(parts))

        if self.batch == 1 and max(map(len, parts)) > 1:
            by_turns()
        elif not self.may_wait:
            in_lock_step()
        else:
            self.memory.watched = True
            before = self.memory.copy()
            try:
                in_lock_step()
            except _Waits:
                self.memory.restore(before)
                by_turns()

    def _parts(self, total):
        """Instances by number, in arrays of those that run in lock step. The few of a small grid would
        meet each order too rarely by chance. So seeds in a row have them in lock step, one by one, and one
        by one from the last."""
        if total > PARTS:
            return np.array_split(self.chance.permutation(total), PARTS)
        every = np.arange(total)
        return ([every], np.split(every, total), np.split(every[::-1], total))[self.schedule]

    def _in_waves(self, total):
        """Instances in random order, a wave after the other: those that wait may rely on it, as devices
        start them by number."""
        waves = np.array_split(np.arange(total), -(-total // WAVE))
        return np.concatenate([self.chance.permutation(wave) for wave in waves])

    def undefined(self, kind, shape):
        """What has no value: whatever some launch has there, so that nothing can rely on it."""
        dtype = register_type(kind)
        if dtype == np.bool_:
            return self.chance.integers(0, 2, shape).astype(dtype)
        if np.issubdtype(dtype, np.floating):
            return np.full(shape, self.filler, dtype)
        bounds = np.iinfo(dtype)
        return self.chance.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)

    # -- control flow ---------------------------------------------------------------------------

    def call(self, function, env, arguments):
        """Runs a function for the instances of env; the pieces that _merge puts together."""
        for (name, _), value in zip(function.arguments, arguments):
            env[name] = value
        labels = {block.label: block for block in function.blocks}
        pieces, work = [], [(function.blocks[0], env, np.arange(env.count))]
        while work:
            block, here, index = work.pop()
            last = self.run(block, here)
            if last.kind in ("tt.return", "func.return"):
                pieces.append((index, [here[v] for v in last.operands]))
                continue
            for target, values, chosen in self._branches(last, here):
                where = here if chosen is None else here.split(chosen)
                for (name, _), value in zip(labels[target].arguments,
                                            [where[v] for v in values]):
                    where[name] = value
                work.append((labels[target], where, index if chosen is None else index[chosen]))
        return pieces

    @staticmethod
    def _branches(op, env):
        if op.kind == "cf.br":
            label, values = op.successors[0]
            return [(label, values, None)]
        if op.kind != "cf.cond_br":
            raise unsupported(op.kind)
        condition = env[op.operands[0]]
        taken = []
        for (label, values), wanted in zip(op.successors, (True, False)):
            found = condition == wanted
            if found.all():
                return [(label, values, None)]
            if found.any():
                taken.append((label, values, np.nonzero(found)[0]))
        return taken

    def _count(self, block, instances):
        """Counts a run of a block. What a candidate chooses (sizes of grids, rounds of loops) must not
        decide whether it is judged, so too much is its own fault, by count and not by time."""
        self.counted += block.work * instances
        if self.counted > self.most_work:
            raise Fault("does too much work: over %.1e operations on elements, which is the most "
                        "that the reference's work allows for [work]" % self.most_work)

    def run(self, block, env):
        """Runs a block's operations; its terminator is returned, not run."""
        self._count(block, env.count)
        operations = block.operations
        for op in operations[:-1]:
            self.step(op, env)
        last = operations[-1]
        if last.kind in _TERMINATORS:
            return last
        self.step(last, env)  # a region that ends without a yield
        return _NO_TERMINATOR

    def step(self, op, env):
        if self.turns is not None and op.kind in _ACCESSES:
            self.turns.before_access()
        handler = _HANDLERS.get(op.kind)
        if handler is not None:
            values = handler(self, op, env)
        else:
            values = self._elementwise(op, [env[name] for name in op.operands])
        for name, value in zip(op.results, values or ()):
            env[name] = value
        if op.hints and self.promises and id(op) in self.promising:
            hints.check(op, values[0], self.vector)

    def region(self, blocks, env):
        """Runs a one-block region; (terminator, its operands' values)."""
        if len(blocks) != 1:
            raise unsupported("branches inside a region")
        last = self.run(blocks[0], env)
        return last, [env[name] for name in last.operands]

    def do_if(self, op, env):
        condition = env[op.operands[0]]
        if condition.all() or not condition.any():
            side = 0 if condition.all() else 1
            if side < len(op.regions):
                return self.region(op.regions[side], env)[1]
            return []
        pieces = []
        for side, wanted in ((0, True), (1, False)):
            if side < len(op.regions):
                index = np.nonzero(condition == wanted)[0]
                pieces.append((index, self.region(op.regions[side], env.split(index))[1]))
        return merge(env.count, pieces, op.types) if op.results else []

    def do_for(self, op, env):
        low, high, step = (env[name] for name in op.operands[:3])
        if (step == 0).any():
            raise Fault("has a loop whose step is zero")
        carried = [env[name] for name in op.operands[3:]]
        body = op.regions[0]
        names = [name for name, _ in body[0].arguments]
        if all((bound == bound[0]).all() for bound in (low, high, step)):
            for i in range(int(low[0]), int(high[0]), int(step[0])):
                env[names[0]] = np.array([i], low.dtype)
                env.update(zip(names[1:], carried))
                carried = self.region(body, env)[1]
            return carried
        i = np.broadcast_to(low, (env.count,)).copy()
        while True:
            index = np.nonzero(i < high)[0]
            if len(index) == 0:
                return carried
            carried = self._partial(body, names, [i] + carried, index, env, op.types)
            i = i + step

    def _partial(self, body, names, values, index, env, types):
        """One round of a loop for some instances; the carried values of all."""
        inner = env.split(index)
        for name, value in zip(names, values):
            inner[name] = value if value.shape[0] == 1 else value[index]
        results = self.region(body, inner)[1]
        carried = []
        for old, new, kind in zip(values[len(values) - len(results):], results, types):
            whole = np.empty((env.count, *new.shape[1:]), register_type(kind.element))
            whole[...] = old
            whole[index] = new
            carried.append(whole)
        return carried

    def do_while(self, op, env):
        values = [env[name] for name in op.operands]
        before, after = op.regions
        first = [name for name, _ in before[0].arguments]
        second = [name for name, _ in after[0].arguments]
        index = np.arange(env.count)
        pieces, around, looks, last = [], self.memory.reads, 0, None
        while True:
            self.memory.reads = reads = Reads(around)
            carried, changes = values, self.memory.changes
            here = env.split(index)
            here.update(zip(first, values))
            passed = self.region(before, here)[1]
            going = np.broadcast_to(passed[0], (len(index),))
            passed = [np.broadcast_to(v, (len(index), *v.shape[1:])) for v in passed[1:]]
            if not going.all():
                stopped = np.nonzero(~going)[0]
                pieces.append((index[stopped], [v[stopped] for v in passed]))
                keep = np.nonzero(going)[0]
                if len(keep) == 0:
                    self.memory.reads = around
                    return merge(env.count, pieces, op.types)
                index, passed = index[keep], [v[keep] for v in passed]
                carried = [v if v.shape[0] == 1 else v[keep] for v in carried]
            here = env.split(index)
            here.update(zip(second, passed))
            values = self.region(after, here)[1]
            # A round that changes nothing waits: the next one does not either, unless others run. So does
            # one that reads what the last one read, and only counts.
            waits = self.memory.changes == changes and _any_unchanged(carried, values, len(index))
            counts = self.memory.changes == changes and reads.same(last)
            looks, last = looks + 1 if counts else 0, reads
            if self.turns is not None and (waits or counts):
                self.turns.wait(counts=not waits)
            elif waits or looks > MOST_LOOKS:
                raise _Waits

    def do_call(self, op, env):
        function = self.functions[op.attribute(r'@"?([\w$.]+)')]
        inner = Env(env.count, env)
        pieces = self.call(function, inner, [env[name] for name in op.operands])
        return merge(env.count, pieces, op.types) if op.results else []

    # -- elementwise ----------------------------------------------------------------------------

    def _elementwise(self, op, operands):
        kind = op.kind
        element = op.types[0].element if op.types else None
        if kind in elements.BINARY:
            return [settle(elements.BINARY[kind](*operands), element)]
        if kind in elements.UNARY:
            return [settle(elements.UNARY[kind](*operands), element)]
        if kind in _CASTS:
            return [elements.cast(kind, operands[0], element)]
        raise unsupported("the operation %s" % kind)

    def compare(self, op, env):
        a, b = (env[name] for name in op.operands)
        predicate = op.attribute(r"^\S+\s+(\w+)")
        compare = elements.compare_floats if op.kind == "arith.cmpf" else elements.compare_integers
        return [compare(predicate, a, b)]

    def select(self, op, env):
        condition, a, b = (env[name] for name in op.operands)
        condition = condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim))
        return [np.where(condition, a, b)]

    def fma(self, op, env):
        return [settle(elements.fused(*(env[name] for name in op.operands)), op.types[0].element)]

    def clamp(self, op, env):
        x, low, high = (env[name] for name in op.operands)
        if op.attribute(r"propagateNan = (\w+)") == "all":
            return [np.minimum(np.maximum(x, low), high)]
        return [np.fmin(np.fmax(x, low), high)]

    def extern(self, op, env):
        symbol = op.attribute(r'symbol = "([^"]*)"')
        arguments = [env[name] for name in op.operands]
        return [settle(np.asarray(elements.libdevice(symbol, arguments)), op.types[0].element)]

    def assembly(self, op, env):
        """PTX. Launches run one after the other here, so that waiting for the one before, and letting
        the next one start, are nothing."""
        text = _unescaped(op.attribute(r'inline_asm "((?:[^"\\]|\\.)*)"'))
        line = text.partition("//")[0].strip(" ;")
        kind = op.types[0]
        if line in ("griddepcontrol.wait", "griddepcontrol.launch_dependents"):
            return [np.zeros((1, *(kind.shape or ())), register_type(kind.element))]
        moved = re.fullmatch(r"mov\.[bfsu](?:16|32|64)\s+\$0,\s*\$1", line)
        if op.attribute(r"packed_element = (\d+)") != "1":
            raise unsupported("the operation %s on several elements at once" % op.kind)
        if moved and op.attribute(r":\s*([^:]*?)\s*->") == op.attribute(r"->\s*(.*?)(?:\s*loc\(.*)?$"):
            return [env[op.operands[0]]]
        given = re.findall(r"(?:^|[\sx(,])(bf16|!tt\.ptr|[fi]\d+)\b", op.attribute(r":\s*([^:]*?)\s*->"))
        kinds = [kind.element for kind in op.types]
        if len(given) != len(op.operands) or not {*given, *kinds} <= {"f32", "f64", "i32", "i64"}:
            raise unsupported("the operation %s on elements of less than 32 bits" % op.kind)
        return ptx.run(text, [register_type(kind) for kind in kinds], [env[x] for x in op.operands])

    def bitcast(self, op, env):
        source = env[op.operands[0]]
        kind = op.types[0].element
        if kind == "ptr":
            return [source]
        given = op.attribute(r":\s*(?:tensor<[\dx]*)?(!?[\w.]+)")
        raw = elements.bits(source, given if given in elements.REGISTER else "i64")
        if kind == "i1":
            return [raw.astype(bool)]
        return [elements.from_memory(raw.view(elements.MEMORY[kind]), kind)]

    def convert_float(self, op, env):
        if op.attribute(r"rounding = (\w+)") == "rtz":
            raise unsupported("rounding towards zero")
        return [settle(env[op.operands[0]], op.types[0].element)]

    # -- shapes ---------------------------------------------------------------------------------

    def constant(self, op, env):
        kind = op.types[0]
        text = op.text.partition("arith.constant")[2].strip()
        literal = re.match(r"dense<(.*?)>\s*:|(\S+)", text)
        literal = literal.group(1) if literal.group(1) is not None else literal.group(2)
        if literal.startswith("["):
            raise unsupported("a tensor of different constants")
        value = _number(literal, kind.element)
        return [np.full((1, *(kind.shape or ())), value, register_type(kind.element))]

    def poison(self, op, env):
        kind = op.types[0]
        return [self.undefined(kind.element, (1, *(kind.shape or ())))]

    def program_id(self, op, env):
        return [env["id " + op.attribute(r"program_id (\w)")]]

    def program_count(self, op, env):
        return [self.grid["xyz".index(op.attribute(r"num_programs (\w)"))]]

    def make_range(self, op, env):
        start, end = int(op.attribute(r"start = (\d+)")), int(op.attribute(r"end = (\d+)"))
        return [np.arange(start, end, dtype=np.int32)[None]]

    def broadcast(self, op, env):
        value = env[op.operands[0]]
        shape = op.types[0].shape or ()
        if value.ndim == 1:
            value = value.reshape((-1,) + (1,) * len(shape))
        return [np.broadcast_to(value, (value.shape[0], *shape))]

    def unsplat(self, op, env):
        value = env[op.operands[0]]
        return [value.reshape(value.shape[0], -1)[:, 0]]

    def expand_dims(self, op, env):
        axis = int(op.attribute(r"axis = (\d+)"))
        return [np.expand_dims(env[op.operands[0]], axis + 1)]

    def reshape(self, op, env):
        value = env[op.operands[0]]
        shaped = value.reshape(value.shape[0], *op.types[0].shape)
        # The compiler may put the elements in any order, if it is allowed to.
        every = tuple(range(1, shaped.ndim))
        return [np.flip(shaped, every) if " allow_reorder" in op.text else shaped]

    def transpose(self, op, env):
        order = [int(n) for n in op.attribute(r"order = array<i32:?([^>]*)>").split(",")]
        return [env[op.operands[0]].transpose(0, *(n + 1 for n in order))]

    def join(self, op, env):
        a, b = np.broadcast_arrays(*(env[name] for name in op.operands))
        return [np.stack([a, b], axis=-1)]

    def concatenate(self, op, env):
        a, b = np.broadcast_arrays(*(env[name] for name in op.operands))
        return [np.concatenate([a, b], axis=1)]

    def split(self, op, env):
        value = env[op.operands[0]]
        return [value[..., 0], value[..., 1]]

    def gather(self, op, env):
        source, index = (env[name] for name in op.operands)
        axis = int(op.attribute(r"axis = (\d+)"))
        count = max(source.shape[0], index.shape[0])
        source = np.broadcast_to(source, (count, *source.shape[1:]))
        index = np.broadcast_to(index, (count, *index.shape[1:])).astype(np.int64)
        return [np.take_along_axis(source, index, axis + 1)]

    def histogram(self, op, env):
        value = env[op.operands[0]].reshape(-1, env[op.operands[0]].shape[1])
        mask = env[op.operands[1]] if len(op.operands) > 1 else np.True_
        size = op.types[0].shape[0]
        value, mask = np.broadcast_arrays(value, mask)
        return [np.stack([np.bincount(v[m & (v >= 0) & (v < size)], minlength=size)[:size]
                          for v, m in zip(value, mask)]).astype(np.int32)]

    # -- reductions, matrix products --------------------------------------------------------------

    def reduce(self, op, env):
        axis = int(op.attribute(r"axis = (\d+)")) + 1
        values = [env[name] for name in op.operands]
        combine = op.regions[0][0]
        direct = _direct(combine, _REDUCTIONS)
        if direct is not None and len(values) == 1:
            result = direct.reduce(values[0], axis=axis)
            return [settle(result, op.types[0].element)]
        size = values[0].shape[axis]
        values = list(np.broadcast_arrays(*values))
        while size > 1:
            half = size // 2
            low = [v.take(range(half), axis) for v in values]
            high = [v.take(range(half, size), axis) for v in values]
            values = self._combine(combine, low, high, env)
            size = half
        return [v.take(0, axis) for v in values]

    def _combine(self, block, first, second, env):
        """Runs a combine region on whole arrays: each element is an instance of its own."""
        shape = (env.count, *first[0].shape[1:])
        first, second = ([np.broadcast_to(v, shape) for v in side] for side in (first, second))
        inner = Elements(first[0].size, env)
        for (name, _), value in zip(block.arguments, first + second):
            inner[name] = value.reshape(-1)
        last, results = self.region([block], inner)
        return [np.broadcast_to(v, (inner.count,)).reshape(shape) for v in results]

    def scan(self, op, env):
        """Combines each element with the one 1, 2, 4, ... before it. The tree is as deep as a GPU's, so
        that sums are as exact."""
        axis = int(op.attribute(r"axis = (\d+)")) + 1
        backwards = op.attribute(r"reverse = (\w+)") == "true"
        values = list(np.broadcast_arrays(*(env[name] for name in op.operands)))
        if backwards:
            values = [np.flip(v, axis) for v in values]
        combine = op.regions[0][0]
        direct = _direct(combine, _REDUCTIONS)
        size, distance = values[0].shape[axis], 1
        while distance < size:
            early = [v.take(range(size - distance), axis) for v in values]
            late = [v.take(range(distance, size), axis) for v in values]
            if direct is not None and len(values) == 1:
                late = [settle(direct(early[0], late[0]), op.types[0].element)]
            else:
                late = self._combine(combine, early, late, env)
            values = [np.concatenate([np.broadcast_to(v.take(range(distance), axis), (
                new.shape[0], *v.shape[1:axis], distance, *v.shape[axis + 1:])), new], axis)
                      for v, new in zip(values, late)]
            distance *= 2
        return [np.flip(v, axis) for v in values] if backwards else values

    def dot(self, op, env):
        a, b, c = (env[name] for name in op.operands)
        element = op.types[0].element
        if a.dtype == np.float32 and op.attribute(r"inputPrecision = (\w+)") == "tf32" \
                and re.search(r"xf32>\s*\*", op.text):
            a, b = elements.truncate_tf32(a), elements.truncate_tf32(b)
        if a.dtype.kind == "i":
            product = np.matmul(a.astype(np.float64), b.astype(np.float64))
        else:
            product = np.matmul(a, b)
        return [settle(product.astype(register_type(element), copy=False) + c, element)]

    # -- what the source says of itself ---------------------------------------------------------------

    def assume(self, op, env):
        if self.promises and not env[op.operands[0]].all():
            raise Fault("breaks its own promise: tl.assume() of what does not hold")

    def nothing(self, op, env):
        """Printing, assertions, and barriers: an operation ends before the next begins."""
        return []


def _any_unchanged(before, after, count):
    """Whether some of `count` instances carries the same values as before."""
    same = np.ones(count, np.bool_)
    for old, new in zip(before, after):
        equal = (old == new) | ((old != old) & (new != new))
        same &= equal.reshape(equal.shape[0], -1).all(axis=1)
    return same.any()


def _unescaped(text):
    """A string of MLIR: "\\0A" is a new line."""
    return re.sub(r"\\([0-9A-Fa-f]{2}|.)", lambda found: chr(int(found[1], 16)) if len(found[1]) == 2
                  else found[1], text)


def _number(literal, element):
    if literal in ("true", "false"):
        return literal == "true"
    if element in ("f64", "f32", "f16", "bf16"):
        if literal.startswith("0x"):  # the bits, in the element's own width
            width = {"f64": np.uint64, "f32": np.uint32}.get(element, np.uint16)
            raw = np.array([int(literal, 16)], width)
            memory = {"f64": np.float64, "f32": np.float32, "f16": np.float16}.get(element)
            return elements.from_memory(raw if memory is None else raw.view(memory), element)[0]
        return float(literal)
    return int(literal, 0)


def _direct(block, table):
    """The numpy operation that a combine region is, when it is a single one."""
    if len(block.operations) != 2:
        return None
    op = block.operations[0]
    names = [name for name, _ in block.arguments]
    if sorted(op.operands) != sorted(names) or block.operations[1].operands != op.results:
        return None
    return table.get(op.kind)


# What floats that have no value may hold: NaN, which maxima pass over, and numbers of either sign.
_FILLERS = {"nan": np.nan, "large": 3e4, "negative": -3e4}
_REDUCTIONS = {"arith.addf": np.add, "arith.addi": np.add, "arith.mulf": np.multiply,
               "arith.muli": np.multiply, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
               "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
               "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
               "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
               "arith.xori": np.bitwise_xor}
_CASTS = {"arith." + name for name in (
    "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui index_cast index_castui").split()}
_TERMINATORS = {"tt.return", "func.return", "scf.yield", "scf.condition", "cf.br", "cf.cond_br",
                "tt.reduce.return", "tt.scan.return", "cf.switch"}
_NO_TERMINATOR = ttir.Operation("scf.yield", "scf.yield", [], [])

_ACCESSES = {"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"}
_HANDLERS = {
    "arith.constant": Machine.constant, "arith.cmpi": Machine.compare,
    "arith.cmpf": Machine.compare, "arith.select": Machine.select, "math.fma": Machine.fma,
    "arith.bitcast": Machine.bitcast, "tt.bitcast": Machine.bitcast, "ub.poison": Machine.poison,
    "scf.if": Machine.do_if, "scf.for": Machine.do_for, "scf.while": Machine.do_while,
    "tt.call": Machine.do_call, "tt.get_program_id": Machine.program_id,
    "tt.get_num_programs": Machine.program_count, "tt.make_range": Machine.make_range,
    "tt.splat": Machine.broadcast, "tt.broadcast": Machine.broadcast,
    "tt.unsplat": Machine.unsplat, "tt.expand_dims": Machine.expand_dims,
    "tt.reshape": Machine.reshape, "tt.trans": Machine.transpose, "tt.join": Machine.join,
    "tt.cat": Machine.concatenate, "tt.split": Machine.split, "tt.gather": Machine.gather,
    "tt.histogram": Machine.histogram, "tt.reduce": Machine.reduce, "tt.scan": Machine.scan,
    "tt.dot": Machine.dot, "tt.addptr": accesses.add_pointer, "tt.load": accesses.load,
    "tt.store": accesses.store, "tt.atomic_rmw": accesses.atomic,
    "tt.atomic_cas": accesses.compare_and_swap, "tt.clampf": Machine.clamp,
    "tt.extern_elementwise": Machine.extern,
    "tt.elementwise_inline_asm": Machine.assembly, "tt.fp_to_fp": Machine.convert_float,
    "tt.ptr_to_int": accesses.same_bits, "tt.int_to_ptr": accesses.same_bits,
    "tt.print": Machine.nothing, "tt.assert": Machine.nothing,
    "llvm.intr.assume": Machine.assume,
    "gpu.barrier": Machine.nothing, "ttg.barrier": Machine.nothing,  # by triton's version
}
