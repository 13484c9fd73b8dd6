"""Frames: the messages between supervisor and workers (docs/formats/protocol.md).

    u32 magic    u32 json_bytes    u32 blob_count    u32 zero
    u64 blob_bytes[blob_count]     json (UTF-8)      blobs

All integers are little-endian. File descriptors travel with a frame's first byte.
"""

import array
import json
import socket
import struct

MAGIC = 0x3152574B  # "KWR1"
MAX_BYTES = 1 << 30
MAX_JSON_BYTES = 64 << 20
MAX_BLOBS = 65536
MAX_FDS = 253  # the kernel's limit for one message

_HEADER = struct.Struct("<IIII")


class FrameError(Exception):
    """The peer sent bytes that are no frame, or closed the socket inside one."""


def encode(message, blobs=()):
    """The frame's bytes. `message` is a JSON value without NaN or infinity."""
    text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MAX_JSON_BYTES or len(blobs) > MAX_BLOBS:
        raise FrameError("message too large for a frame")
    sizes = struct.pack("<%dQ" % len(blobs), *map(len, blobs))
    head = _HEADER.pack(MAGIC, len(text), len(blobs), 0)
    if len(head) + len(sizes) + len(text) + sum(map(len, blobs)) > MAX_BYTES:
        raise FrameError("frame over the limit of %d bytes" % MAX_BYTES)
    return b"".join([head, sizes, text, *blobs])


def send(sock, message, blobs=(), fds=()):
    data = memoryview(encode(message, blobs))
    if fds:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        data = data[sock.sendmsg([data[:1]], rights):]
    sock.sendall(data)


def receive(sock):
    """The next frame as (message, blobs, file descriptors)."""
    first, fds = receive_with_fds(sock, 1)
    head = first + _exactly(sock, _HEADER.size - len(first))
    magic, json_bytes, blob_count, zero = _HEADER.unpack(head)
    if magic != MAGIC or zero != 0:
        raise FrameError("not a frame")
    if json_bytes > MAX_JSON_BYTES or blob_count > MAX_BLOBS:
        raise FrameError("frame over a limit")
    sizes = struct.unpack("<%dQ" % blob_count, _exactly(sock, 8 * blob_count))
    if json_bytes + sum(sizes) > MAX_BYTES:
        raise FrameError("frame over the limit of %d bytes" % MAX_BYTES)
    try:
        message = json.loads(_exactly(sock, json_bytes))
    except ValueError as error:
        raise FrameError("a frame's JSON does not parse: %s" % error) from None
    return message, [_exactly(sock, size) for size in sizes], fds


def receive_with_fds(sock, size):
    """Up to `size` bytes and the descriptors that came with them."""
    data, ancillary, flags, _ = sock.recvmsg(size, socket.CMSG_SPACE(4 * MAX_FDS))
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % 4])
    if flags & socket.MSG_CTRUNC:
        raise FrameError("too many file descriptors in one message")
    return data, list(fds)


def _exactly(sock, size):
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = sock.recv_into(view)
        if count == 0:
            raise FrameError("the socket was closed inside a frame")
        view = view[count:]
    return bytes(data)
