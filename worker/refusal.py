"""Refusals: what a worker says when the source it was given is at fault."""


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
    text = " ".join(str(error).partition("\nException raised from ")[0].split())
    name = type(error).__name__
    text = "%s: %s" % (name, text) if text else name
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return text if len(text) <= limit else text[: limit - 3] + "..."
