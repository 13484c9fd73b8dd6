"""Programs of a grid that run by turns: those that wait for one another (locks, turnstiles, barriers of
the grid), and those that cannot run in lock step.

One program runs at a time, and gives way before it accesses memory, so that races show. One that waits
goes on when something that it has read changes. If all wait, none can ever go on. One that counts how
often it looks goes on then, to count further.
"""

import collections
import threading

import numpy as np

from memory import Fault
from refusal import Refused

MOST_IN_VAIN = 1 << 10  # with no change in memory; then programs that count them count without a break


class Turns:
    """`run(number)` runs a program, which calls before_access() and wait(). `together` programs are
    under way at a time, and more where all of these wait. `chance`: a numpy generator, by which programs
    give way and are chosen; without one they run in lock step."""

    def __init__(self, memory, run, together, chance=None):
        self.memory, self.run, self.together, self.chance = memory, run, together, chance
        self.memory.watched, self.memory.changed = True, []
        self.back = threading.Semaphore(0)  # released when the program under way stops or gives way
        self.current, self.ended = None, False
        self.left, self.under_way, self.ready = [], set(), []  # to start; begun; of these, not asleep
        self.asleep, self.looks = set(), 0  # programs that wait; how often some went on nevertheless
        self.awaited = collections.defaultdict(set)  # by word of memory, the programs

    def run_all(self, numbers):
        """Starts the programs in this order."""
        self.left = list(reversed(numbers))
        try:
            while self.left or self.under_way:
                program = self._next()
                self._turn(program)
                if program.done:
                    self.under_way.remove(program)
                elif program not in self.asleep:
                    self.ready.append(program)
                self._wake()
        finally:
            self.ended = True
            for program in self.under_way:
                if program.is_alive():
                    program.go.release()
                    program.join()

    def _next(self):
        if self.left and (len(self.under_way) < self.together or not self.ready):
            program = _Program(self, self.left.pop())
            self.under_way.add(program)
            return program
        if not self.ready:
            self._look_again()
        return self.ready.pop(self.chance.integers(len(self.ready)) if self.chance else 0)

    def _look_again(self):
        """All wait. Those that count how often they look go on."""
        counting = [program for program in self.asleep if program.counts]
        self.looks += len(counting)
        if not counting:
            number = min(program.number for program in self.under_way)
            raise Fault("waits for ever: program %d, and no program that is left changes what it "
                        "waits for" % number)
        self._get_up(counting)

    def _turn(self, program):
        """Lets a program run on."""
        self.current, self.memory.reads = program, program.reads
        if program.is_alive():
            program.go.release()
        else:
            try:
                program.start()
            except RuntimeError:
                raise Refused("unsupported", "too many programs wait for one another to be run "
                              "without a GPU") from None
        self.back.acquire()
        program.reads = self.memory.reads
        if program.error is not None:
            raise program.error

    def _wake(self):
        """Wakes those that wait for what the last turn has changed."""
        if self.memory.changed and self.asleep:
            self.looks = 0
            changed = set(np.unique(np.concatenate([w.ravel() for w in self.memory.changed])).tolist())
            woken = {program for word in self.awaited.keys() & changed for program in self.awaited[word]}
            self._get_up(woken | {program for program in self.asleep if program.reads.many})
        self.memory.changed.clear()

    def _get_up(self, programs):
        for program in sorted(programs, key=lambda program: program.number):
            for word in program.reads.words:
                self.awaited[word].discard(program)
            self.asleep.remove(program)
            self.ready.append(program)

    def before_access(self):
        if (self.ready or self.left) and (self.chance is None or self.chance.random() < 0.5):
            self._give_way()

    def wait(self, counts):
        """The program under way waits until something that it has read (Memory.reads) changes. `counts`:
        it counts how often it looks."""
        if counts and self.looks > MOST_IN_VAIN:
            return
        program = self.current
        program.reads, program.counts = self.memory.reads, counts
        self.asleep.add(program)
        for word in program.reads.words:
            self.awaited[word].add(program)
        self._give_way()

    def _give_way(self):
        program = self.current
        self.back.release()
        program.go.acquire()
        if self.ended:
            raise _Ended


class _Program(threading.Thread):
    def __init__(self, turns, number):
        super().__init__(daemon=True)
        self.turns, self.number = turns, int(number)
        self.go = threading.Semaphore(0)
        self.reads, self.counts = None, False
        self.done, self.error = False, None

    def run(self):
        try:
            self.turns.run(self.number)
        except _Ended:
            return  # nobody waits for this program any more
        except BaseException as error:  # it is raised again where the others are run
            self.error = error
        self.done = True
        self.turns.back.release()


class _Ended(BaseException):
    """Unwinds a program that waited when another one failed."""
