"""What tests hand to the recorder: a device profile, and the operators of the one table."""

import os
import re

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src", "ops",
                     "operator_table.cc")
PROFILE = {"name": "NVIDIA H200", "arch": "sm_90", "sms": 132, "shared_per_block": 232448,
           "registers_per_sm": 65536, "l2_bytes": 60 << 20, "memory_bytes": 141 << 30}


def operator_table():
    """Name -> how it is recorded, as the supervisor sends it."""
    with open(TABLE) as table:
        rows = re.findall(r'\{"([\w.]+)",.*?Recording::k(Whole|Decompose)', table.read(), re.S)
    assert len(rows) > 100
    return {name: how.lower() for name, how in rows}
