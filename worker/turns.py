"""Programs of a grid that run by turns: those that wait for one another (locks, turnstiles, barriers of
the grid), and those that cannot run in lock step.

One program runs at a time, and gives way before it accesses memory, so that races show. One that waits
goes on when something that it read has changed. If all wait, none can ever go on.
"""

import collections
import threading

import numpy as np

from memory import Fault
from refusal import Refused


class Turns:
    """`run(number)` runs a program, which calls the last four functions here. `together` programs are
    under way at a time, and more where all of these wait. `chance`: a numpy generator, by which programs
    give way and are chosen; without one they run in lock step."""

    def __init__(self, memory, run, together, chance=None):
        self.memory, self.run, self.together, self.chance = memory, run, together, chance
        self.memory.watched = True
        self.back = threading.Semaphore(0)  # released when the program under way stops or gives way
        self.current, self.ended = None, False
        self.under_way, self.ready = set(), []
        self.asleep = set()  # programs that wait
        self.awaited = collections.defaultdict(set)  # by word of memory, the programs

    def run_all(self, numbers):
        """Starts the programs in this order."""
        left = [_Program(self, number) for number in reversed(numbers)]
        try:
            while left or self.under_way:
                program = self._next(left)
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

    def _next(self, left):
        if left and (len(self.under_way) < self.together or not self.ready):
            self.under_way.add(left[-1])
            return left.pop()
        if not self.ready:
            number = min(program.number for program in self.under_way)
            raise Fault("waits for ever: program %d, and no program that is left changes what it "
                        "waits for" % number)
        return self.ready.pop(self.chance.integers(len(self.ready)) if self.chance else 0)

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
        if program.error is not None:
            raise program.error

    def _wake(self):
        """Wakes those that wait for what the last turn has changed."""
        if self.memory.changed and self.asleep:
            changed = set(np.unique(np.concatenate([w.ravel() for w in self.memory.changed])).tolist())
            woken = {program for word in self.awaited.keys() & changed for program in self.awaited[word]}
            woken |= {program for program in self.asleep if program.reads.many}
            for program in sorted(woken, key=lambda program: program.number):
                for word in program.reads.words:
                    self.awaited[word].discard(program)
                self.asleep.remove(program)
                self.ready.append(program)
        self.memory.changed.clear()

    def before_access(self):
        if self.chance is None or self.chance.random() < 0.5:
            self._give_way()

    def begin_round(self, around):
        """A round of a loop begins: what it reads is noted. `around`: the reads of the loop around it."""
        self._note(Reads(around))

    def end_loop(self, around):
        self._note(around)

    def wait(self):
        """The program under way waits until something that the round has read changes."""
        program = self.current
        self.asleep.add(program)
        for word in program.reads.words:
            self.awaited[word].add(program)
        self._give_way()

    def _note(self, reads):
        self.current.reads = self.memory.reads = reads

    def _give_way(self):
        program = self.current
        self.back.release()
        program.go.acquire()
        if self.ended:
            raise _Ended


class Reads:
    """The words of memory that a round of a loop reads; or many, which are not told apart."""

    def __init__(self, around=None):
        self.words, self.many, self.around = set(), False, around

    def note(self, words):
        self.many |= words.size > 1024 or len(self.words) > 4096
        if not self.many:
            self.words.update(words.ravel().tolist())
        if self.around is not None:
            self.around.note(words)


class _Program(threading.Thread):
    def __init__(self, turns, number):
        super().__init__(daemon=True)
        self.turns, self.number = turns, int(number)
        self.go = threading.Semaphore(0)
        self.reads = None  # of a round of a loop
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
