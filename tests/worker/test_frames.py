"""Frames: what goes in comes out, and bytes that are no frame are an error."""

import os
import socket
import struct
import threading

import frames
import pytest


def through(data, fds=()):
    ours, theirs = socket.socketpair()

    def write():
        with ours:
            try:
                ours.sendall(data)
            except OSError:
                pass  # the reader gave up first

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return frames.receive(theirs)
    finally:
        theirs.close()
        writer.join()


@pytest.mark.parametrize("message,blobs", [
    ({}, []), ({"a": [1, 2.5, None, "\u00e4\U0001f600"]}, [b""]), ([1], [b"x" * 300000, b"", b"y"]),
    (None, [bytes(range(256))] * 100)])
def test_round_trip(message, blobs):
    assert through(frames.encode(message, blobs)) == (message, blobs, [])


def test_layout():
    data = frames.encode({"a": 1}, [b"xyz"])
    assert data == struct.pack("<IIIIQ", 0x3152574B, 7, 1, 0, 3) + b'{"a":1}xyz'


def test_descriptors_travel_with_the_first_byte():
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    frames.send(ours, {"k": 1}, [b"blob"], fds=[read, write])
    message, blobs, fds = frames.receive(theirs)
    assert (message, blobs, len(fds)) == ({"k": 1}, [b"blob"], 2)
    os.write(fds[1], b"!")
    assert os.read(read, 1) == b"!"
    for fd in [read, write, *fds]:
        os.close(fd)


HEAD = struct.Struct("<IIII")


@pytest.mark.parametrize("data", [
    b"", b"KWR", b"\0" * 16, HEAD.pack(frames.MAGIC, 2, 0, 1) + b"{}",
    HEAD.pack(frames.MAGIC, 2, 0, 0), HEAD.pack(frames.MAGIC, 2, 0, 0) + b"{]",
    HEAD.pack(frames.MAGIC, 2, 0, 0) + b"\xff\xff",
    HEAD.pack(frames.MAGIC, frames.MAX_JSON_BYTES + 1, 0, 0),
    HEAD.pack(frames.MAGIC, 2, frames.MAX_BLOBS + 1, 0),
    HEAD.pack(frames.MAGIC, 2, 1, 0) + struct.pack("<Q", 1 << 40) + b"{}",
    HEAD.pack(frames.MAGIC, 2, 1, 0) + struct.pack("<Q", 5) + b"{}123"])
def test_no_frame(data):
    with pytest.raises(frames.FrameError):
        through(data)


def test_not_a_number_cannot_be_sent():
    with pytest.raises(ValueError):
        frames.encode({"x": float("nan")})
