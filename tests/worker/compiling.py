"""The real process that runs torch.compile, on the CPU, asked as the supervisor does."""

import os
import socket
import subprocess
import sys

WORKER = os.path.join(os.path.dirname(__file__), "..", "..", "worker")


class CompileServer:
    def __init__(self, parallel):
        import frames
        self.frames = frames
        self.control, theirs = socket.socketpair()
        self.control.settimeout(300)
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(WORKER, "compile_server.py"), "--device", "cpu",
             "--parallel", str(parallel), "--socket", str(theirs.fileno())], pass_fds=[theirs.fileno()])
        theirs.close()

    def ask(self, requests):
        """What became of each: None, or a line that says why nothing did."""
        for i, request in enumerate(requests):
            self.frames.send(self.control, {"request": i, "seconds": 300, **request})
        replies = [self.frames.receive(self.control)[0] for _ in requests]
        return [reply["error"] for reply in sorted(replies, key=lambda r: r["request"])]

    def close(self):
        self.control.close()
        return self.process.wait(30)
