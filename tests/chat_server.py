"""A chat endpoint on this machine whose every reply a test writes."""

import contextlib
import http.server
import json
import threading
import time


class Server(http.server.ThreadingHTTPServer):
    """`script(request number, body)` gives a generator of what is done with a request's handler."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, script, tls=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.script = script
        self.lock = threading.Lock()
        self.bodies, self.headers, self.paths = [], [], []
        self.under_way = self.most = 0
        self.over = threading.Event()

    def handle_error(self, request, client_address):
        pass  # clients that go away are part of the tests

    def url(self, scheme="http"):
        return "%s://127.0.0.1:%d" % (scheme, self.server_address[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            number = len(server.bodies)
            server.bodies.append(body)
            server.headers.append(dict(self.headers))
            server.paths.append(self.path)
            server.under_way += 1
            server.most = max(server.most, server.under_way)
        self.answered = False
        try:
            server.script(number, body)(self)
        finally:
            self.close_connection = True
            self.leave()

    def leave(self):
        """Not under way any more: from its first byte on, the client may have the answer and ask again."""
        with self.server.lock:
            self.server.under_way -= not self.answered
        self.answered = True

    def start(self, status=200, kind="text/event-stream", **headers):
        self.leave()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")

    def whole(self, status, kind, text, **headers):
        self.start(status, kind, **headers)
        data = text.encode() if isinstance(text, str) else text
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def chunk(self, data):
        data = data.encode() if isinstance(data, str) else data
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, events, end=True):
        self.start(Transfer_Encoding="chunked")
        self.end_headers()
        for event in events:
            self.chunk("data: %s\n\n" % event)
        if end:
            self.wfile.write(b"0\r\n\r\n")


def delta(text, finish=None):
    return json.dumps({"choices": [{"index": 0, "delta": {"content": text},
                                    "finish_reason": finish}]})


def events(text, finish="stop", prompt=100, completion=50):
    """What an endpoint streams of an answer, in pieces that split anything."""
    pieces = [delta(text[i:i + 37]) for i in range(0, len(text), 37)]
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": prompt,
                                                 "completion_tokens": completion}})
    return [*pieces, delta("", finish), usage, "[DONE]"]


def says(text, **more):
    return lambda handler: handler.stream(events(text, **more))


def says_at_once(text):
    reply = {"choices": [{"message": {"role": "assistant", "content": text},
                          "finish_reason": "stop"}],
             "usage": {"prompt_tokens": 100, "completion_tokens": 50}}
    return lambda handler: handler.whole(200, "application/json", json.dumps(reply))


def refuses(status, message="no", **headers):
    return lambda handler: handler.whole(status, "application/json",
                                         json.dumps({"error": {"message": message}}), **headers)


def breaks_off(text):
    return lambda handler: handler.stream(events(text)[:3], end=False)


def stalls(text):
    def act(handler):
        handler.stream(events(text)[:2], end=False)
        handler.server.over.wait(60)
    return act


def holds(text, seconds):
    """An answer after a while, for requests to be under way at the same time."""
    def act(handler):
        time.sleep(seconds)
        says(text)(handler)
    return act


@contextlib.contextmanager
def serving(script, tls=None):
    server = Server(script, tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
