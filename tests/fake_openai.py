"""A local server that speaks the OpenAI chat protocol and misbehaves on demand.

    with FakeOpenAI([status(429, retry_after="0"), reply('{"a": 1}')]) as server:
        ... ask server.url ...
        assert len(server.requests) == 2

A behaviour is a function of the request; a script is a list of them, the last of which repeats, or one function that picks a
behaviour by the request's body.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["_Handler"], None]
Script = Sequence[Behaviour] | Callable[[dict[str, Any]], Behaviour]


class FakeOpenAI:
    """``requests`` holds the JSON bodies received, ``most_at_once`` the largest number of requests in flight together."""

    def __init__(self, script: Script):
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.most_at_once = 0
        self.stopping = threading.Event()
        self._script = script
        self._now = 0
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.fake = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> "FakeOpenAI":
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()

    def enter(self, body: dict[str, Any], key: str) -> Behaviour:
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.keys.append(key)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        return self._script(body) if callable(self._script) else self._script[min(number, len(self._script) - 1)]

    def leave(self) -> None:
        with self._lock:
            self._now -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # or many connections at once are refused by the operating system


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or every answer waits 40 ms for the client's acknowledgement of the head

    @property
    def fake(self) -> FakeOpenAI:
        return self.server.fake  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        behaviour = self.fake.enter(body, self.headers.get("Authorization", ""))
        try:
            behaviour(self)
        except OSError:  # the client has gone, as it should when its time is up
            self.close_connection = True
        finally:
            self.fake.leave()

    def answer(self, code: int, data: bytes, headers: dict[str, str] | None = None, kind: str = "application/json") -> None:
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def mode_of(body: dict[str, Any]) -> str:
    """The way in which a request asks for structure."""
    return "json_schema" if "response_format" in body else "function_calling" if "tools" in body else "text"


def prompt_of(body: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in body["messages"])


# ---- behaviours ----


def reply(content: str | None, finish: str = "stop", refusal: str | None = None, call: str | None = None) -> Behaviour:
    """A chat completion; ``call`` is the arguments of a tool call to the first tool of the request."""

    def behave(handler: _Handler) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if refusal is not None:
            message["refusal"] = refusal
        if call is not None:
            tools = handler.fake.requests[-1].get("tools") or [{"function": {"name": "none"}}]
            function = {"name": tools[0]["function"]["name"], "arguments": call}
            message["tool_calls"] = [{"id": "call-1", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        completion = {"id": "r", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice], "usage": usage}
        handler.answer(200, json.dumps(completion).encode())

    return behave


def status(code: int, message: str = "no", retry_after: str | None = None) -> Behaviour:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    data = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return lambda handler: handler.answer(code, data, headers)


def body(data: str, kind: str = "application/json") -> Behaviour:
    """Status 200 with any body at all."""
    return lambda handler: handler.answer(200, data.encode(), kind=kind)


def slow(seconds: float, then: Behaviour) -> Behaviour:
    def behave(handler: _Handler) -> None:
        handler.fake.stopping.wait(seconds)
        then(handler)

    return behave


def hang(handler: _Handler) -> None:
    """Never answer."""
    handler.fake.stopping.wait(600)
    handler.close_connection = True


def trickle(handler: _Handler) -> None:
    """Endless whitespace, a byte at a time: no single read ever times out."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.fake.stopping.is_set():
        handler.wfile.write(b" ")
        time.sleep(0.02)


def reset(handler: _Handler) -> None:
    """Tear the connection down without an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()
