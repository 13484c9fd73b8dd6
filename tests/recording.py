"""What tests hand to the recorder: a device profile, and the operators of the one table."""

import pathlib
import re

OPS = pathlib.Path(__file__).resolve().parent.parent / "src/ops"
TABLE, OPAQUE = OPS / "operator_table.cc", OPS / "opaque_operators.cc"
PROFILE = {"name": "NVIDIA H200", "arch": "sm_90", "sms": 132, "shared_per_block": 232448,
           "registers_per_sm": 65536, "l2_bytes": 60 << 20, "memory_bytes": 141 << 30}


def operator_table():
    """Name -> how it is recorded, as the supervisor sends it."""
    rows = re.findall(r'\{"([\w.]+)",.*?Recording::k(Whole|Decompose)', TABLE.read_text(), re.S)
    assert len(rows) > 100
    opaque = re.findall(r'^ +"(aten\.[\w.]+)",$', OPAQUE.read_text(), re.M)
    assert len(opaque) > 100
    return {name: how.lower() for name, how in rows} | dict.fromkeys(opaque, "opaque")
