"""``OpenAIChat``: a chat model behind an OpenAI-compatible endpoint, through ``langchain_openai.ChatOpenAI``.

This is the boundary where what an endpoint does wrong becomes a ``ChatFailure``. Loaded by ``agents.roles.open_chat`` only,
since its imports are heavy.
"""

import asyncio
import concurrent.futures
import email.utils
import json
import logging
import math
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import openai
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from agents.chat import ChatConfig, ChatFailure, Reason, T, Usage, parse_reply
from agents.limits import EndpointDown, Traffic, Turn

logger = logging.getLogger(__name__)

Mode = Literal["json_schema", "function_calling", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "function_calling", "text")

BACKOFF = 0.5
"""Seconds before the first retry; doubles with each up to ``BACKOFF_CAP``. The usual range of chat clients."""
BACKOFF_CAP = 20.0
CONNECTIONS_PER_CLIENT = 8
"""Requests that share a client's connection pool: the library walks through its whole pool at every request, so that one pool of
64 costs three times the processor time of eight pools of 8 (measured by ``benchmarks.judge``)."""
DETAIL_LENGTH = 300
REJECTIONS = ("HTTP 401", "HTTP 403", "HTTP 404")

# What servers say in a 5xx when they cannot do a way of asking for structure.
_UNSUPPORTED = re.compile(
    r"response_format|schema|grammar|tool|not (?:supported|accepted|implemented)|unsupported", re.IGNORECASE
)

_IN_WORDS = """

Answer with one JSON object and nothing else: no prose, no code fence. It must be valid under this JSON schema:
"""


@dataclass(eq=False)  # hashable, as the machinery around exceptions expects
class _Attempt(Exception):
    """One failed attempt: why, whether the same may be tried ``again``, and when a ``lower`` mode is worth a try."""

    reason: Reason
    detail: str
    again: bool = False
    lower: Literal["now", "later", "never"] = "never"
    wait: float = 0.0


class OpenAIChat:
    """A chat model of one role, see ``agents.chat.ChatModel``.

    Requests run on the event loop of ``traffic``, since only there can a deadline end a reply that trickles in for ever.
    ``close`` ends what is in flight as ``cancelled``. ``downgrade`` says in words which way of asking for structure the
    endpoint lacks; it is found by the first calls, remembered, and None while the first way holds. ``trouble`` is the last failure
    in words. ``rejected`` says that the endpoint has never answered and refuses the key, the model or the address.

    Args:
        traffic: what the models of a run share; None opens one for this model alone.
    """

    def __init__(self, config: ChatConfig, role: str, key: str, traffic: Traffic | None = None):
        self.config = config
        self.role = role
        self.usage = Usage()
        self.downgrade: str | None = None
        self.trouble: str | None = None
        self.rejected = False
        self._modes: tuple[Mode, ...] = MODES if config.structured == "auto" else (config.structured,)
        self._proven = len(self._modes) == 1  # nothing lower is left to try
        self._key = key
        # Not the global generator: its state belongs to training and must not depend on what a server does.
        self._random = random.Random()
        self._own_traffic = traffic is None
        self._traffic = traffic or Traffic()
        self._traffic.usages[role] = self.usage
        self._health = self._traffic.health(config.base_url or "")
        # Clients of its own: the library's default one is shared by all models, hence by their event loops.
        self._clients: list[openai.AsyncOpenAI] = []
        self._free: list[openai.AsyncOpenAI] = []
        self._answered = False
        self._closed = False
        self._closing = threading.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    @contextmanager
    def _client(self) -> Iterator[openai.AsyncOpenAI]:
        """A client with room for one more request; a further one is opened when all are full."""
        if not self._free:
            settings: dict[str, Any] = {
                "model": self.config.model,
                "api_key": self._key,
                "base_url": self.config.base_url,
                "timeout": self.config.timeout,
                "max_retries": 0,
                "http_async_client": openai.DefaultAsyncHttpxClient(),
                "http_socket_options": (),  # else a proxy in the environment draws a warning about a client we do not use
            }
            client = ChatOpenAI(**settings).root_async_client
            self._clients.append(client)
            self._free += [client] * CONNECTIONS_PER_CLIENT
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    @property
    def down(self) -> bool:
        """Whether the endpoint is taken for down."""
        return self._health.down

    def __repr__(self) -> str:
        return f"OpenAIChat(role={self.role!r}, model={self.config.model!r})"

    def complete(self, system: str, user: str, schema: type[T]) -> T:
        start = time.monotonic()
        failure: Reason | None = "cancelled"
        # A lone surrogate, which text from JSON may hold, cannot be sent.
        system, user = (text.encode("utf-8", "replace").decode("utf-8") for text in (system, user))
        try:
            with self._closing:
                if self._closed:
                    raise ChatFailure("cancelled", "the chat model is closed")
                future = self._traffic.submit(self._complete(system, user, schema))
            try:
                value = future.result()
            except concurrent.futures.CancelledError:
                raise ChatFailure("cancelled", "the call was cancelled") from None
            finally:
                future.cancel()  # the caller was interrupted; without effect on a call that has ended
            failure = None
            return value
        except ChatFailure as error:
            failure = error.reason
            raise
        finally:
            self.usage.add_call(time.monotonic() - start, failure)

    def close(self) -> None:
        """End calls in flight as ``cancelled`` and free the connections. Later calls fail at once."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            ended = self._traffic.submit(self._end())
        ended.result(timeout=10)
        if self._own_traffic:
            self._traffic.close()

    async def _end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in self._clients:
            await client.close()

    async def _complete(self, system: str, user: str, schema: type[T]) -> T:
        """Ask until one valid object is there, the failure is final, or the deadline would pass.

        A cut reply gets one doubled budget, a failure that may pass gets ``retries`` repetitions, and a mode that does not
        work gives way to the next. A lower mode is remembered only when it has worked.
        """
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        end = time.monotonic() + self.config.deadline
        modes, budget, retries = self._modes, self.config.max_tokens, 0
        while True:
            wait = 0.0
            if modes[0] not in self._modes:  # another call has found out meanwhile that the endpoint lacks it
                modes = self._modes
            try:
                async with self._traffic.turn(self._health, len(system) + len(user)) as turn:
                    end += turn.waited
                    reply = await self._ask(system, user, schema, modes[0], budget, end - time.monotonic(), turn)
                value = parse_reply(reply, schema)
            except EndpointDown as error:
                raise self._failure(error.reason, error.detail) from None
            except ChatFailure as error:
                failed = _Attempt(error.reason, error.detail, again=True, lower="later" if self._proven else "now")
            except _Attempt as error:
                failed = error
            else:
                self._remember(modes)
                return value
            if failed.reason == "length" and failed.again and budget == self.config.max_tokens:
                budget *= 2
            elif failed.lower == "now" and len(modes) > 1:
                modes = modes[1:]
            elif failed.reason != "length" and failed.again and retries < self.config.retries:
                # Jitter, so that calls that failed together do not come back together.
                wait = failed.wait + min(BACKOFF_CAP, BACKOFF * 2**retries) * self._random.uniform(0.5, 1.0)
                retries += 1
            elif failed.lower == "later" and len(modes) > 1:
                modes = modes[1:]
            else:
                raise self._failure(failed.reason, failed.detail)
            if time.monotonic() + wait >= end:
                raise self._failure(failed.reason, f"no time left for another attempt after: {failed.detail}")
            await asyncio.sleep(wait)

    def _remember(self, modes: tuple[Mode, ...]) -> None:
        # Only the event loop comes here, so no lock is needed.
        self._proven = self._answered = True
        self.rejected = False
        if len(modes) < len(self._modes):
            self.downgrade = f"{self.role}: the endpoint gave no valid reply by {self._modes[0]}, {modes[0]} is used from now on"
            self._modes = modes
            logger.warning(self.downgrade)

    def _failure(self, reason: Reason, detail: str) -> ChatFailure:
        self.trouble = " ".join(detail.replace(self._key, "***").split())[:DETAIL_LENGTH]
        self.rejected = not self._answered and detail.startswith(REJECTIONS)
        return ChatFailure(reason, self.trouble)

    async def _ask(self, system: str, user: str, schema: type[T], mode: Mode, budget: int, left: float, turn: Turn) -> list[str]:
        """One request: the texts of the reply that may hold the object. Raises ``_Attempt``."""
        prompt_tokens = completion_tokens = 0
        start = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, min(self.config.timeout, left))):
                with self._client() as client:
                    # Bodies go out and come back as plain data: the library's typed ways take most of a request's processor time,
                    # complete cut JSON and hide what they cannot read.
                    data: Any = await client.post(
                        "/chat/completions", cast_to=object, body=self._body(system, user, schema, mode, budget)
                    )
            if isinstance(data, dict):
                prompt_tokens, completion_tokens = tokens_of(data.get("usage"))
            texts = self._texts(data, budget)
        except _Attempt as error:
            raise self._noted(error, mode) from None
        except (TimeoutError, openai.APITimeoutError):
            raise self._noted(
                _Attempt("timeout", f"no complete reply within {self.config.timeout:g} s", again=True), mode
            ) from None
        except openai.APIConnectionError as error:
            raise self._noted(_Attempt("connection", f"{error} {error.__cause__ or ''}", again=True), mode) from None
        except openai.APIStatusError as error:
            raise self._noted(self._refused(error, budget), mode) from None
        except (openai.OpenAIError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            found = f"the answer is not a chat completion ({type(error).__name__}: {error})"
            raise self._noted(_Attempt("server", found, again=True), mode) from None
        finally:
            usd = self.config.price.of(prompt_tokens, completion_tokens) if self.config.price else 0.0
            self.usage.add_request(prompt_tokens, completion_tokens, usd, time.monotonic() - start)
            turn.tokens = prompt_tokens + completion_tokens
        self._health.answered()
        return texts

    def _noted(self, failed: _Attempt, mode: Mode) -> _Attempt:
        """``failed``, after the endpoint's health has heard of it: whatever is an answer to the request shows it alive."""
        if mode not in self._modes:
            failed.lower = "now"
        if failed.again and failed.lower == "never" and failed.reason in ("timeout", "connection", "server"):
            self._health.failed(failed.reason, failed.detail)
        else:
            self._health.answered()
        return failed

    def _body(self, system: str, user: str, schema: type[BaseModel], mode: Mode, budget: int) -> dict[str, Any]:
        shape = structure(schema, mode)
        if mode == "text":
            system += shape["words"]
        body: dict[str, Any] = {
            "model": self.config.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "max_completion_tokens": budget,
        }
        if self.config.temperature is not None:
            body["temperature"] = self.config.temperature
        return body if mode == "text" else {**body, **shape}

    def _texts(self, data: Any, budget: int) -> list[str]:
        choice = data["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        if finish == "length":
            raise self._cut(budget)
        if finish == "content_filter":
            raise _Attempt("refusal", "the endpoint's content filter stopped the reply")
        if refusal := message.get("refusal"):
            raise _Attempt("refusal", f"the model refused: {refusal}")
        if calls := message.get("tool_calls"):
            return [str(call["function"].get("arguments") or "") for call in calls]
        content = message.get("content") or ""
        return [content if isinstance(content, str) else "".join(part.get("text", "") for part in content)]

    def _cut(self, budget: int) -> _Attempt:
        # An endpoint that ignores a schema, or fills it with whitespace for ever, may still do in a lower mode.
        return _Attempt("length", f"the reply was cut at {budget} tokens", again=True, lower="never" if self._proven else "later")

    def _refused(self, error: openai.APIStatusError, budget: int) -> _Attempt:
        status, detail = error.status_code, f"HTTP {error.status_code}: {error.message}"
        wait = retry_after(error.response.headers.get("retry-after"))
        if status == 429:
            return _Attempt("rate_limit", detail, again=True, wait=wait)
        if status == 408:
            return _Attempt("timeout", detail, again=True, wait=wait)
        if status in (400, 422):
            if budget > self.config.max_tokens:
                return _Attempt("length", f"the reply was cut, then a budget of {budget} tokens refused: {detail}", lower="now")
            if re.search(r"context[ _]length", error.message, re.IGNORECASE):  # OpenAI's code and vLLM's words
                return _Attempt("length", f"the prompt does not fit the context: {detail}")
            return _Attempt("server", detail, lower="now")
        if status >= 500:
            unsupported = status == 501 or _UNSUPPORTED.search(error.message)
            lower: Literal["now", "later", "never"] = "never" if self._proven else "now" if unsupported else "later"
            return _Attempt("server", detail, again=True, lower=lower, wait=wait)
        return _Attempt("server", detail, again=status in (409, 425), wait=wait)


@cache
def structure(schema: type[BaseModel], mode: Mode) -> dict[str, Any]:
    """What asks for ``schema`` in a request: parts of its body, or ``words`` for the system prompt."""
    if mode == "text":
        return {"words": _IN_WORDS + json.dumps(schema.model_json_schema())}
    if mode == "function_calling":
        choice = {"type": "function", "function": {"name": schema.__name__}}
        return {"tools": [convert_to_openai_tool(schema)], "tool_choice": choice}
    # Strict endpoints want every property required and no other allowed, which this form of the schema says.
    function: Any = openai.pydantic_function_tool(schema)["function"]
    shape = {"name": schema.__name__, "strict": True, "schema": function["parameters"]}
    return {"response_format": {"type": "json_schema", "json_schema": shape}}


def tokens_of(usage: Any) -> tuple[int, int]:
    """Prompt and reply tokens as the endpoint counts them; 0 where it does not."""
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if isinstance(count, int) and count > 0 else 0 for count in counts)
    return prompt, completion


def retry_after(header: str | None) -> float:
    """The seconds a Retry-After header asks for, given as a number or a date; 0 for none, one in the past or nonsense."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (email.utils.parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # TypeError: a date without a zone
            return 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0
