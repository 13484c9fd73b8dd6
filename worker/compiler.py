"""The `slice` job: Raw kernels in, slices out. The `compile` job: machine code and what the code
reads and writes too.

Runs in a process that never ran the file. Needs no GPU: Triton brings its own ptxas.
"""

import os
import re
import struct
import tempfile

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.driver import driver
from triton.runtime.errors import OutOfResources, PTXASError

import access
import slices
from launches import ALLOWED_OPTIONS, RecordingDriver
from refusal import Refused, one_line, plain
from slicer import Slicer

# Triton's own assembler and its like, the only programs that a compile job starts.
PROGRAMS = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")


def slice_kernels(request):
    """The reply to a slice request, or Refused."""
    slicer = Slicer(request["source"], request.get("file") or "model.py")
    return {"status": "ok", "slices": [slicer.slice(raw) for raw in request["kernels"]]}


def compile_kernels(request):
    """The reply to a compile request and its blobs, or Refused."""
    arch = request["arch"]
    driver.set_active(RecordingDriver({"arch": arch}))
    slicer = Slicer(request["source"], request.get("file") or "model.py")
    kernels, blobs = [], []
    for raw in request["kernels"]:
        text = slicer.slice(raw)
        kernel, cubin = compile_kernel(raw, text, arch, slicer.file, slicer.lines_of(raw))
        kernels.append({"kernel": kernel, "slice": text, "cubin": len(blobs)})
        blobs.append(cubin)
    return {"status": "ok", "kernels": kernels}, blobs


def explain(error, lines):
    """(message, line) of the innermost CompilationError. `lines`: function name -> its first line
    in the user's file."""
    message, line = None, None
    while error is not None:
        if isinstance(error, CompilationError):
            name = re.match(r"def\s+(\w+)", error.src or "")
            if name and name.group(1) in lines and hasattr(error.node, "lineno"):
                line = lines[name.group(1)] + error.node.lineno - 1
            message = error.error_message or message
        elif message is None:
            message = one_line(error)
        error = error.__cause__
    return _unwrapped(plain(message or "cannot be compiled"))[:500], line


def _unwrapped(message):
    """Triton writes an exception's repr(): `NameError('x is not defined')`."""
    found = re.fullmatch(r"""(\w+)\((['"])(.*)\2\)""", message)
    if not found:
        return message
    name, _, text = found.groups()
    return text if name in ("NameError", "ValueError") else "%s: %s" % (name, text)


def compile_kernel(raw, text, arch, file, lines):
    """(Kernel as JSON without `source`, machine code). `lines` as in explain()."""
    options = {name: value for name, value in raw["options"].items() if name in ALLOWED_OPTIONS}
    try:
        source = slices.ast_source(raw, text)
        compiled = triton.compile(source, target=GPUTarget("cuda", int(arch[3:]), 32),
                                  options=options)
    except Refused:
        raise
    except (OutOfResources, PTXASError) as error:
        raise Refused("resources", "kernel %s: %s" % (raw["name"], one_line(error)), file) from None
    except CompilationError as error:
        message, line = explain(error, lines)
        # Triton's autotuner passes over a configuration that its kernel's own assertion refuses, as
        # over one that the device cannot run.
        code = "compile"
        if isinstance(error, CompileTimeAssertionFailure):
            code, message = "resources", "a static_assert fails"
            if error.error_message:
                message += ": " + " ".join(error.error_message.split())[:500]
        raise Refused(code, "kernel %s: %s" % (raw["name"], message), file, line) from None
    except Exception as error:
        raise Refused("compile", "kernel %s: %s" % (raw["name"], one_line(error)), file) from None
    kernel = {key: raw[key] for key in ("name", "params", "constexprs", "attrs")}
    kernel["options"] = options
    kernel["compiled"] = _compiled(raw, compiled, arch)
    return kernel, compiled.asm["cubin"]


def _compiled(raw, compiled, arch):
    metadata, cubin = compiled.metadata, compiled.asm["cubin"]
    registers, spills = cubin_resources(cubin)
    pointers = [i for i, p in enumerate(raw["params"])
                if p["type"].startswith(("*", "tensordesc<"))]
    runtime = [i for i, p in enumerate(raw["params"]) if p["type"] != "constexpr"]
    reads, writes = access.accessed_arguments(str(compiled.asm["ttir"]), metadata.name,
                                              runtime, pointers)
    return {
        "arch": arch, "cubin": "", "symbol": metadata.name,
        "num_warps": metadata.num_warps, "num_ctas": metadata.num_ctas,
        "shared": metadata.shared or 0,
        "global_scratch_size": metadata.global_scratch_size or 0,
        "global_scratch_align": metadata.global_scratch_align or 1,
        "profile_scratch_size": getattr(metadata, "profile_scratch_size", 0) or 0,
        "profile_scratch_align": getattr(metadata, "profile_scratch_align", 1) or 1,
        "launch_pdl": bool(metadata.launch_pdl),
        "launch_cooperative_grid": bool(metadata.launch_cooperative_grid),
        "registers": registers, "spills": spills, "reads": reads, "writes": writes,
        **_descriptors(raw, metadata),
    }


def _descriptors(raw, metadata):
    """How the machine code wants each host tensor descriptor (a TMA descriptor), in order."""
    count = sum(p["type"].startswith("tensordesc<") for p in raw["params"])
    if not count:
        return {}
    found = list(metadata.tensordesc_meta or ())
    if len(found) != count or any(meta is None or meta["fp4_padded"] for meta in found):
        raise Refused("compile", "kernel %s takes tensor descriptors of a form that is not supported on this device"
                      % raw["name"])
    return {"descriptors": [{
        "swizzle": int(meta["swizzle"]), "element_bytes": int(meta["elem_size"]),
        "element_type": _HOST_TYPES.get(int(meta["elem_type"]), int(meta["elem_type"])),
        "block": [int(size) for size in meta["block_size"]]} for meta in found]}


# CUtensorMapDataType of the device's numbers for element types (triton/backends/nvidia/driver.py).
_HOST_TYPES = {8: 10, 9: 8, 10: 9}


# Attributes of .nv.info sections: registers of a function, bytes of its stack frame.
_EIATTR_REGCOUNT, _EIATTR_FRAME_SIZE = 0x2F, 0x11
_EIFMT_SVAL = 4


def cubin_resources(cubin):
    """(registers a thread, 32-bit words spilled a thread) from the ELF image; 0 when not stated."""
    registers = frame = 0
    try:
        offset, = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
        sections = [struct.unpack_from("<IIQQQQ", cubin, offset + i * size) for i in range(count)]
        names = sections[names_index][4]
        for name, _, _, _, start, length in sections:
            end = cubin.index(b"\0", names + name)
            if cubin[names + name:end] != b".nv.info":
                continue
            position = start
            while position + 4 <= start + length:
                form, attribute, payload = struct.unpack_from("<BBH", cubin, position)
                position += 4
                if form != _EIFMT_SVAL:
                    continue
                if payload == 8:
                    value = struct.unpack_from("<II", cubin, position)[1]
                    if attribute == _EIATTR_REGCOUNT:
                        registers = max(registers, value)
                    elif attribute == _EIATTR_FRAME_SIZE:
                        frame = max(frame, value)
                position += payload
    except (struct.error, ValueError, IndexError):
        return 0, 0
    return registers, frame // 4


def warm_up():
    """Compiles a small kernel, so that the first job finds Triton's caches filled."""
    source = ("@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n"
              "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, tl.exp(tl.load(x + i)))\n")
    names = {"tl": {"module": "triton.language"}, "triton": {"module": "triton"}}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        compile_kernels({"source": source, "file": "warm_up.py", "arch": "sm_90", "kernels": [{
            "name": "kernel", "constexprs": {"1": 32}, "attrs": {}, "options": {},
            "params": [{"name": "x", "type": "*fp32"}, {"name": "BLOCK", "type": "constexpr"}],
            "function": 0, "functions": [{"name": "kernel", "line": 1, "globals": names}]}]})
