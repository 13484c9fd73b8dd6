"""The table of torch-level operators, each with a generator of calls.

`OPERATORS` maps a name to draw.Operator. parity.py compares recorded and replayed calls with eager
PyTorch; teacher_coverage.py asks the teacher for kernels for them.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import layers  # noqa: E402,F401
import losses  # noqa: E402,F401
import moves  # noqa: E402,F401
import pointwise  # noqa: E402,F401
import reductions  # noqa: E402,F401
from draw import OPERATORS, Case, Draw  # noqa: E402,F401

CSP = [op for op in OPERATORS.values() if op.csp]
assert len(CSP) == 61, len(CSP)
