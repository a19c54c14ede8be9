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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import openai
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from agents.chat import ChatConfig, ChatFailure, Reason, T, Usage, parse_reply

logger = logging.getLogger(__name__)

Mode = Literal["json_schema", "function_calling", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "function_calling", "text")

BACKOFF = 0.5
"""Seconds before the first retry; doubles with each up to ``BACKOFF_CAP``. The usual range of chat clients."""
BACKOFF_CAP = 20.0
DETAIL_LENGTH = 300

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

    Requests run on one event loop in a thread of its own, since only there can a deadline end a reply that trickles in for
    ever. ``close`` ends what is in flight as ``cancelled``. ``downgrade`` says in words which way of asking for structure
    the endpoint lacks; it is found by the first calls, remembered, and None while the first way holds.
    """

    def __init__(self, config: ChatConfig, role: str, key: str):
        self.config = config
        self.role = role
        self.usage = Usage()
        self.downgrade: str | None = None
        self._modes: tuple[Mode, ...] = MODES if config.structured == "auto" else (config.structured,)
        self._proven = False
        self._key = key
        # Not the global generator: its state belongs to training and must not depend on what a server does.
        self._random = random.Random()
        # A client of its own: the library's default one is shared by all models, hence by their event loops.
        self._http = openai.DefaultAsyncHttpxClient()
        settings: dict[str, Any] = {
            "model": config.model,
            "api_key": key,
            "base_url": config.base_url,
            "temperature": config.temperature,
            "timeout": config.timeout,
            "max_retries": 0,
            "use_responses_api": False,
            "http_async_client": self._http,
            "http_socket_options": (),  # else a proxy in the environment draws a long warning about a client we do not use
        }
        self._model = ChatOpenAI(**settings)
        self._closed = False
        self._closing = threading.Lock()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name=f"chat {role}", daemon=True).start()

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
                future = asyncio.run_coroutine_threadsafe(self._complete(system, user, schema, start), self._loop)
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
            ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        ended.result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

    async def _complete(self, system: str, user: str, schema: type[T], start: float) -> T:
        """Ask until one valid object is there, the failure is final, or the deadline would pass.

        A cut reply gets one doubled budget, a failure that may pass gets ``retries`` repetitions, and a mode that does not
        work gives way to the next. A lower mode is remembered only when it has worked.
        """
        end = start + self.config.deadline
        modes, budget, retries = self._modes, self.config.max_tokens, 0
        while True:
            wait = 0.0
            try:
                reply = await self._ask(system, user, schema, modes[0], budget, end - time.monotonic())
                value = parse_reply(reply, schema)
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
        self._proven = True
        if len(modes) < len(self._modes):
            self.downgrade = f"{self.role}: the endpoint gave no valid reply by {self._modes[0]}, {modes[0]} is used from now on"
            self._modes = modes
            logger.warning(self.downgrade)

    def _failure(self, reason: Reason, detail: str) -> ChatFailure:
        return ChatFailure(reason, " ".join(detail.replace(self._key, "***").split())[:DETAIL_LENGTH])

    async def _ask(self, system: str, user: str, schema: type[T], mode: Mode, budget: int, left: float) -> list[str]:
        """One request: the texts of the reply that may hold the object. Raises ``_Attempt``."""
        tokens = (0, 0)
        try:
            async with asyncio.timeout(max(0.0, min(self.config.timeout, left))):
                message = await self._send(system, user, schema, mode, budget)
            if usage := message.usage_metadata:
                tokens = usage["input_tokens"], usage["output_tokens"]
        except openai.LengthFinishReasonError as error:
            if completion := error.completion.usage:
                tokens = completion.prompt_tokens, completion.completion_tokens
            raise self._cut(budget) from None
        except openai.ContentFilterFinishReasonError:
            raise _Attempt("refusal", "the endpoint's content filter stopped the reply") from None
        except (TimeoutError, openai.APITimeoutError):
            raise _Attempt("timeout", f"no complete reply within {self.config.timeout:g} s", again=True) from None
        except openai.APIConnectionError as error:
            raise _Attempt("connection", f"{error} {error.__cause__ or ''}", again=True) from None
        except ContextOverflowError as error:
            raise _Attempt("length", f"the prompt does not fit the context: {error}") from None
        except openai.APIStatusError as error:
            raise self._refused(error, budget) from None
        except (openai.OpenAIError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            # The client library meets an answer that is no chat completion with whichever of these comes first.
            raise _Attempt(
                "server", f"the answer is not a chat completion ({type(error).__name__}: {error})", again=True
            ) from None
        finally:
            self.usage.add_request(*tokens)
        return self._texts(message, budget)

    async def _send(self, system: str, user: str, schema: type[T], mode: Mode, budget: int) -> AIMessage:
        """The raw message, whatever is in it: the library's own parsers complete cut JSON and hide what they cannot read."""
        if mode == "text":
            system += _IN_WORDS + json.dumps(schema.model_json_schema())
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(user)]
        model: Any = self._model.bind(max_tokens=budget)
        if mode == "json_schema":
            # Strict endpoints want every property required and no other allowed, which this form of the schema says.
            function = openai.pydantic_function_tool(schema)["function"]
            shape = {"name": schema.__name__, "strict": True, "schema": function["parameters"]}
            model = model.bind(response_format={"type": "json_schema", "json_schema": shape})
        elif mode == "function_calling":
            model = self._model.bind_tools([schema], tool_choice=schema.__name__).bind(max_tokens=budget)
        return await model.ainvoke(messages)

    def _texts(self, message: AIMessage, budget: int) -> list[str]:
        finish = message.response_metadata.get("finish_reason")
        if finish == "length":
            raise self._cut(budget)
        if finish == "content_filter":
            raise _Attempt("refusal", "the endpoint's content filter stopped the reply")
        if refusal := message.additional_kwargs.get("refusal"):
            raise _Attempt("refusal", f"the model refused: {refusal}")
        if message.tool_calls or message.invalid_tool_calls:
            return [json.dumps(c["args"]) for c in message.tool_calls] + [c["args"] or "" for c in message.invalid_tool_calls]
        return [message.text]

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
            if "context length" in error.message.lower():  # vLLM's words, which the library does not know
                return _Attempt("length", f"the prompt does not fit the context: {detail}")
            return _Attempt("server", detail, lower="now")
        if status >= 500:
            unsupported = status == 501 or _UNSUPPORTED.search(error.message)
            lower: Literal["now", "later", "never"] = "never" if self._proven else "now" if unsupported else "later"
            return _Attempt("server", detail, again=True, lower=lower, wait=wait)
        return _Attempt("server", detail, again=status in (409, 425), wait=wait)


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
