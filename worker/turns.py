"""Programs of a grid that wait for one another: locks, turnstiles, barriers of the grid.

One program runs at a time. One that waits gives way, and goes on when each of the others has run on. If
all wait and nothing in memory changes any more, none can ever go on.
"""

import threading

from memory import Fault
from refusal import Refused


class Turns:
    """`run(number)` runs a program; it calls give_way() where it waits. The memory is watched."""

    def __init__(self, memory, run):
        self.memory, self.run = memory, run
        self.back = threading.Semaphore(0)  # released when the program under way stops or waits
        self.current, self.ended = None, False

    def run_all(self, numbers):
        """Starts the programs in this order; each waits, or ends, before the next one starts."""
        waiting = [_Program(self, number) for number in numbers]
        try:
            while waiting:
                before, started = self.memory.changes, any(not p.is_alive() for p in waiting)
                left = [program for program in waiting if not self._turn(program)]
                if len(left) == len(waiting) and not started and self.memory.changes == before:
                    raise Fault("waits for ever: program %d, and no program that is left changes "
                                "what it waits for" % left[0].number)
                waiting = left
        finally:
            self.ended = True
            for program in waiting:
                if program.is_alive():
                    program.go.release()
                    program.join()

    def _turn(self, program):
        """Lets a program run on. Whether it has ended."""
        self.current = program
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
        return program.done

    def give_way(self):
        """Called by the program under way: others run, then it goes on."""
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
