"""A second process of a record job, which compiles: real code sizes its grid by the registers and the
shared memory that a compiled kernel takes.

A record job runs the user's Python and may start no programs, and Triton's assembler is one. So the
companion is forked before any of that Python runs, has the walls of a compile job, and is sent Raw
kernels only. It is there if the file's text names what only a compiled kernel has. What it is sent is
as little believed as a compile request.
"""

import os
import re
import socket
import tempfile

import compiler
import frames
import jail
from refusal import Refused, one_line

_NAMES = re.compile(r"\b(?:n_regs|n_spills|warmup)\b|\.metadata\b")


def is_wanted(message):
    return message.get("kind") == "record" and bool(_NAMES.search(str(message.get("source"))))


def start(job_fd):
    """Forks the companion. Returns the socket to ask it by."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        try:
            jail.die_with_parent()
            os.close(job_fd)
            ours.close()
            jail.restrict(programs=[compiler.PROGRAMS])
            _serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    return ours


def _serve(sock):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        while True:
            request, _, _ = frames.receive(sock)
            try:
                reply, _ = compiler.compile_kernels(request)
            except Refused as refusal:
                reply = refusal.reply()
            except Exception as error:
                reply = {"status": "failed", "message": one_line(error)}
            frames.send(sock, reply)


def compiled(sock, request, raw):
    """Returns what the compiler says of a Raw kernel of a record request (docs/formats/task.md,
    `compiled`), or raises Refused."""
    frames.send(sock, {"source": request["source"], "file": request.get("file"), "kernels": [raw],
                       "arch": (request.get("profile") or {}).get("arch", "sm_90")})
    reply, _, _ = frames.receive(sock)
    if reply.get("status") != "ok":
        raise Refused(reply.get("code") or "compile", reply.get("message"), reply.get("file"),
                      reply.get("line"))
    return reply["kernels"][0]["kernel"]["compiled"]
