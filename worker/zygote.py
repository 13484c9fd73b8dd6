"""The zygote: imports torch and triton once and forks a child for each job.

    python zygote.py --socket FD [--fake-cuda-device libkw_fake_cuda_device.so] [--no-sandbox]

Speaks docs/formats/protocol.md on a SOCK_SEQPACKET socket. It never touches CUDA and never runs a
job's code. The child does that: it puts its sandbox on first (jail.py), reads a request and replies
(child.py). The zygote also forks copies of itself, each with a separate control socket: importing
takes seconds, a copy milliseconds. One thread. When the control socket closes, everything ends.
"""

import argparse
import array
import ctypes
import gc
import json
import os
import platform
import select
import signal
import socket
import sys
import traceback

WORKER_DIR = os.path.dirname(os.path.abspath(__file__))

# Workers are many; the executor, for whose one thread all of them wait, goes first.
_NICE = 5


def prepare_environment():
    """Must run before torch and triton are imported."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ["TRITON_CACHE_DIR"] = os.path.join(os.environ.get("TMPDIR") or "/tmp", "triton")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # threads do not survive a fork
    os.environ.pop("GLIBC_TUNABLES", None)  # it has told the C library what it is for
    os.environ.pop("TRITON_INTERPRET", None)  # machine.py runs what the compiler sees
    # Only this file's folder comes before the interpreter's own modules.
    sys.path[:] = [WORKER_DIR] + [p for p in sys.path if p and p != WORKER_DIR]


def import_everything(fake_cuda_device):
    """What every job needs, so that no child pays for it."""
    import torch
    import torch._subclasses.fake_tensor
    if fake_cuda_device and torch.version.cuda is None:  # a torch with CUDA has a guard of its own
        ctypes.CDLL(fake_cuda_device)
    # A torch with CUDA makes a context when the first fake cuda tensor appears; there is no device.
    torch._subclasses.fake_tensor.init_gpu_context = lambda device: None
    torch.set_num_threads(1)
    import triton
    import child  # noqa: F401
    import compiler
    import interpreter
    import recorder
    recorder.warm_up()
    import torch._inductor.runtime.triton_heuristics  # noqa: F401  much of it is there by now
    import torch._inductor.runtime.triton_helpers  # noqa: F401  kernels call it
    compiler.warm_up()
    interpreter.warm_up()
    gc.collect()
    gc.freeze()  # children share what is there now
    return {"python": platform.python_version(), "torch": torch.__version__,
            "triton": triton.__version__, "cuda": torch.version.cuda}


class Zygote:
    def __init__(self, control, versions):
        self._take(control)
        self.own_namespace = None
        self.pid_namespaces = self._probe_pid_namespaces()
        self.greeting = {"ready": True, **versions, "sandbox": self.layers()}

    def _take(self, control):
        control.set_inheritable(False)
        self.control = control
        self.children = {}  # pidfd -> (pid, job), of copies without a job
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)

    def _probe_pid_namespaces(self):
        """Whether each child can get a pid namespace of its own. Tried in a child: it sticks."""
        import jail
        try:
            self.own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
        except OSError:
            return False
        pid = os.fork()
        if pid == 0:
            try:
                jail.enter_pid_namespace_for_children()
                jail.leave_pid_namespace_for_children(self.own_namespace)
                os._exit(0)
            except BaseException:
                os._exit(1)
        return os.waitpid(pid, 0)[1] == 0

    def layers(self):
        """The sandbox that every child will have, found out by one that does nothing else."""
        import child
        ours, theirs = socket.socketpair()
        pid = self._fork(theirs.fileno(), {}, child.report_layers)
        theirs.close()
        os.waitpid(pid, 0)
        return json.loads(ours.recv(65536) or b"[]")

    def serve(self):
        """Until the supervisor closes the control socket."""
        try:
            self._tell(self.greeting)
            while True:
                for fd, _ in self.poll.poll():
                    if fd != self.control.fileno():
                        self._reap(fd)
                    elif not self._accept():
                        return
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self.end()

    def _accept(self):
        """Starts the job of one datagram, or a copy. False when the supervisor is gone."""
        import child
        import frames
        data, fds = frames.receive_with_fds(self.control, 4096)
        if not data:
            return False
        message = json.loads(data)
        if message.get("copy"):
            self._copy(*fds)
            return True
        if len(fds) != 1:
            raise frames.FrameError("a job comes with exactly one socket")
        try:
            pid = self._fork(fds[0], message.get("limits") or {}, child.serve)
        except OSError as error:
            self._tell({"job": message["job"], "error": str(error)})
            return True
        finally:
            os.close(fds[0])
        pidfd = os.pidfd_open(pid)
        self.children[pidfd] = pid, message["job"]
        self.poll.register(pidfd, select.POLLIN)
        self._tell({"job": message["job"], "pid": pid}, [pidfd])
        return True

    def _copy(self, control_fd, error_fd):
        """A zygote like this one; where it cannot be forked, its control socket just closes."""
        import jail
        own = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            os.close(control_fd)
            os.close(error_fd)
            return
        if pid == 0:
            status = 1
            try:
                jail.die_with_parent()
                if os.getppid() != own:
                    os._exit(1)  # it ended before
                os.dup2(error_fd, 2)
                os.close(error_fd)
                self.control.close()
                for fd in self.children:
                    os.close(fd)
                self._take(socket.socket(fileno=control_fd))
                self.serve()
                status = 0
            except BaseException:
                traceback.print_exc()  # the supervisor's last words of it
            finally:
                os._exit(status)
        os.close(control_fd)
        os.close(error_fd)
        pidfd = os.pidfd_open(pid)
        self.children[pidfd] = pid, None
        self.poll.register(pidfd, select.POLLIN)

    def _tell(self, message, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.control.sendmsg([json.dumps(message).encode()], rights)

    def _fork(self, job_fd, limits, work):
        import jail
        if self.pid_namespaces:
            jail.enter_pid_namespace_for_children()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                work(job_fd, limits, self.pid_namespaces)
                status = 0
            finally:
                os._exit(status)
        if self.pid_namespaces:
            jail.leave_pid_namespace_for_children(self.own_namespace)
        return pid

    def _reap(self, pidfd):
        self.poll.unregister(pidfd)
        pid, job = self.children.pop(pidfd)
        status = os.waitpid(pid, 0)[1]
        os.close(pidfd)
        if job is None:
            return
        if os.WIFSIGNALED(status):
            self._tell({"job": job, "signal": os.WTERMSIG(status)})
        else:
            self._tell({"job": job, "exit": os.WEXITSTATUS(status)})

    def end(self):
        for pidfd, (pid, _) in self.children.items():
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--fake-cuda-device", default=os.environ.get("KERNELWRIGHT_FAKE_CUDA_DEVICE", ""))
    parser.add_argument("--no-sandbox", action="store_true")
    arguments = parser.parse_args()
    prepare_environment()
    os.nice(_NICE)
    control = socket.socket(fileno=arguments.socket)
    control.set_inheritable(False)
    versions = import_everything(arguments.fake_cuda_device)
    import jail
    jail.restricted = not arguments.no_sandbox
    Zygote(control, versions).serve()


if __name__ == "__main__":
    main()
