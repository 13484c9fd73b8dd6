// For tests: how an executor that is written in Python reads and writes frames (session.h).
#pragma once

#include <string>

namespace kw {

// `receive()` returns the next request, and ends the process once the supervisor is gone.
// `frame(message)` returns a reply as bytes, and `send(message)` sends it.
inline const std::string kFakeFrames = R"(
import json, os, signal, socket, struct, sys, time

sock = socket.socket(fileno=int(sys.argv[sys.argv.index("--socket") + 1]))

def exactly(size):
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data

def receive():
    _, size, count, _ = struct.unpack("<IIII", exactly(16))
    sizes = struct.unpack("<%dQ" % count, exactly(8 * count))
    request = json.loads(exactly(size))
    for blob in sizes:
        exactly(blob)
    return request

def frame(message):
    text = json.dumps(message).encode()
    return struct.pack("<IIII", 0x3152574B, len(text), 0, 0) + text

def send(message):
    sock.sendall(frame(message))
)";

}  // namespace kw
