"""Chat models: the one seam through which a language model is asked, and what can go wrong there.

Every role (attributor, proposer, judge, quality) asks through ``ChatModel.complete``, which returns a whole valid object of
the caller's schema or raises ``ChatFailure``; tests fake this one method. ``agents.roles.open_chat`` gives the real thing for
an OpenAI-compatible endpoint.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

T = TypeVar("T", bound=BaseModel)
MAX_STARTS = 1000
"""Opening braces tried in one reply: far more than prose has, and few enough that a degenerate reply costs no time."""

Reason = Literal["timeout", "rate_limit", "refusal", "length", "parse", "server", "connection", "cancelled"]
PASSING: frozenset[str] = frozenset({"timeout", "rate_limit", "server", "connection"})
"""Reasons that lie with the endpoint and may pass with time."""


class Price(BaseModel):
    """What an endpoint asks, in USD per million tokens."""

    model_config = ConfigDict(extra="forbid")

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


class ChatConfig(BaseModel):
    """The model behind one role. ``model`` alone selects the provider ``openai``."""

    model_config = ConfigDict(extra="forbid")

    provider: Literal["heuristic", "openai"] = "heuristic"
    """heuristic: written-down rules, no language model. openai: any OpenAI-compatible endpoint."""
    model: str | None = Field(default=None, min_length=1)
    """The name the endpoint knows the model by."""
    base_url: str | None = None
    """Address of the endpoint up to and with /v1; null is the provider's own."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key. The key itself never stands in a configuration."""
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    """Sampling temperature; null leaves it to the endpoint (some reasoning models accept no other)."""
    max_tokens: int = Field(default=2048, ge=1)
    """Budget of a reply, thinking included. A reply that was cut is asked for once more with twice as many."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds for one attempt, from connecting to the last byte."""
    deadline: float = Field(default=180.0, gt=0)
    """Seconds for one call over all its attempts and waits; time in the queue for the run's `limits` is not counted."""
    retries: int = Field(default=2, ge=0)
    """Further attempts after a failure that may pass."""
    structured: Literal["auto", "json_schema", "function_calling", "text"] = "auto"
    """How the reply's shape is asked for. auto: the first of the others, in this order, that the endpoint can do."""
    price: Price | None = None
    """What the tokens cost, for the summary and `budget.usd`."""

    @property
    def identity(self) -> str:
        """All that decides how the model answers a prompt, as text: equal for two configs that may share verdicts."""
        return self.model_dump_json(include={"model", "temperature", "max_tokens", "structured"})

    @model_validator(mode="before")
    @classmethod
    def _model_selects_the_provider(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("model") is not None and "provider" not in data:
            return {**data, "provider": "openai"}
        return data

    @model_validator(mode="after")
    def _provider_has_its_parts(self) -> "ChatConfig":
        if self.provider == "openai" and self.model is None:
            raise ValueError("provider 'openai' needs 'model': give the name the endpoint knows the model by")
        if self.provider == "heuristic" and self.model is not None:
            raise ValueError(f"provider 'heuristic' uses no model, got '{self.model}': set provider to 'openai' or model to null")
        if self.base_url is not None:
            address = urlsplit(self.base_url)
            if address.scheme not in ("http", "https") or not address.netloc:
                raise ValueError("base_url must be an http or https address, for example http://localhost:8000/v1")
            if "@" in address.netloc:
                raise ValueError("base_url must not hold a user name or password: put the key into the api_key_env variable")
        return self


class ChatFailure(Exception):
    """A call that gave no valid object, for one of a closed set of reasons. ``detail`` is for people and holds no secret.

    ``length`` covers a reply cut by its budget and a prompt beyond the context; ``parse`` a reply that is not one valid
    object of the schema; ``server`` every other answer of the endpoint that is not a reply.
    """

    def __init__(self, reason: Reason, detail: str):
        super().__init__(reason, detail)
        self.reason: Reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class ChatModel(Protocol):
    def complete(self, system: str, user: str, schema: type[T]) -> T:
        """One whole valid object of ``schema`` (fields without defaults travel best), or ``ChatFailure``. Thread-safe."""
        ...


@dataclass
class Usage:
    """What a role has cost so far, failed calls included. Times sum over calls also where those were made side by side: ``seconds``
    from the call to its end, ``waited`` for the endpoint alone."""

    calls: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    waited: float = 0.0
    failures: Counter[Reason] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        with self._lock:
            numbers = ("calls", "requests", "prompt_tokens", "completion_tokens", "usd", "seconds", "waited")
            return {**{name: getattr(self, name) for name in numbers}, "failures": dict(self.failures)}

    def add_request(self, prompt_tokens: int = 0, completion_tokens: int = 0, usd: float = 0.0, waited: float = 0.0) -> None:
        with self._lock:
            self.requests += 1
            self.usd += usd
            self.waited += waited
            self.prompt_tokens += prompt_tokens
            self.completion_tokens += completion_tokens

    def add_call(self, seconds: float, failure: Reason | None = None) -> None:
        with self._lock:
            self.calls += 1
            self.seconds += seconds
            if failure is not None:
                self.failures[failure] += 1


# ---- reading a reply ----


def parse_reply(texts: Sequence[str], schema: type[T]) -> T:
    """The one object of ``schema`` in a reply: bare, fenced, after thinking, amid prose, or as arguments of a tool call.

    Nothing is repaired: a cut object, a doubled key or two different valid objects (a quoted one and the model's own, say)
    raise ``ChatFailure``, since to choose would be to invent.
    """
    found: list[T] = []
    problem = "the reply holds no JSON object"
    for candidate in (c for text in texts for c in _json_objects(_after_thinking(text))):
        try:
            value = schema.model_validate_json(candidate)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            problem = f"{'.'.join(map(str, first['loc'])) or 'object'}: {first['msg']}"
            continue
        if value not in found:
            found.append(value)
    if len(found) > 1:
        raise ChatFailure("parse", f"the reply holds {len(found)} different valid objects")
    if not found:
        raise ChatFailure("parse", problem)
    return found[0]


def _after_thinking(text: str) -> str:
    """``text`` without its leading think block; nothing when the block never ends."""
    if text.lstrip().startswith("{"):
        return text
    # Some chat templates put the opening tag into the prompt, so that only the closing one is in the reply.
    text = re.sub(r"\A(?:\s*<think(?:ing)?>)?.*?</think(?:ing)?>", "", text, count=1, flags=re.DOTALL)
    return "" if re.match(r"\s*<think(?:ing)?>", text) else text


def _json_objects(text: str) -> Iterator[str]:
    """The outermost JSON objects in ``text``, in order. What lies inside a broken object is not looked at."""
    at = text.find("{")
    for _ in range(MAX_STARTS):
        if at < 0:
            return
        try:
            data, end = _DECODER.raw_decode(text, at)
            yield json.dumps(data)
        except json.JSONDecodeError as error:
            end = max(at + 1, error.pos)  # going on behind the fault spares the inside
        except RecursionError:
            return
        except ValueError:
            end = at + 1
        at = text.find("{", end)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(data := dict(pairs)) < len(pairs):
        raise ValueError("doubled key")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# strict=False: weak models put raw line breaks into strings.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant, strict=False)
