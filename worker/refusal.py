"""Refusals: what a worker says when the source it was given is at fault."""

import os
import re
import sys


class Refused(BaseException):
    """The job's source cannot be taken. `code` is one of docs/formats/protocol.md.

    It is a BaseException, so that a candidate's `except Exception` does not swallow it. The recorder
    also remembers the first one raised, so swallowing it by `except BaseException` is no way out.
    """

    def __init__(self, code, message, file=None, line=None):
        super().__init__(message)
        self.code, self.message, self.file, self.line = code, message, file, line

    def reply(self):
        return {"status": "refused", "code": self.code, "message": self.message,
                "file": self.file, "line": self.line}


def one_line(error, limit=500):
    """An exception as one line for people, without the C++ stack that PyTorch may add."""
    text = str(error)
    if isinstance(error, KeyError) and error.args and " " in str(error.args[0]):
        text = str(error.args[0])  # a sentence, and no key
    text = plain(text.partition("\nException raised from ")[0])
    name = type(error).__name__
    text = "%s: %s" % (name, text) if text else name
    return text if len(text) <= limit else text[: limit - 3] + "..."


_OBJECT = re.compile(r" at 0x[0-9a-f]{6,}(?=>)")


def plain(text):
    """A text as one line, without the places of this machine's libraries and of objects in memory."""
    text = " ".join(str(text).split())
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    for place in sorted({*sys.path, os.path.dirname(__file__)}, key=len, reverse=True):
        if os.path.isabs(place) and len(place) > 1:
            text = text.replace(os.path.join(place, ""), "")
    return _OBJECT.sub("", text)


def host_read(how):
    """What is wrong with reading a tensor's values (`how`: "item", "tolist", ...) on the host."""
    return ("the program reads a tensor's values on the host (%s), and a recording has none: compute on "
            "the device instead, such as by torch.where" % how)


TO_THE_CPU = ("the program moves a tensor to the CPU, and a recording has no values there: keep it on "
              "the device")


def kind_of(value):
    """What people call a value's type."""
    name = type(value).__name__
    return "tensor" if name in ("FakeTensor", "Tensor", "Parameter") else name
