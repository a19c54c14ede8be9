"""The policy as a speaker: prompts in, responses out. ``Generate`` is the seam that tests fake."""

import re
import secrets
import zlib
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memory.errors import ConfigError
from memory.task import Message, Task
from memory.visit import Rollout
from training.config import PolicySettings
from training.lab import POLICY_DIR

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Generate = Callable[[list[list[int]], int], list[list[int]]]
"""(prompt token ids, seed) -> completion token ids, each ending with an end token unless the length cap cut it."""

STRETCHES, LEAST_STRETCH = 6, 12
"""A batch is generated in about this many stretches, each of at least so many tokens."""
GENERATION_BATCH = 256
"""Prompts per call of transformers' ``generate``, so that a large rehearsal does not need the memory of all at once."""

KNOWN_PROMPTS = 1024
"""Rendered prompts that are kept: every rollout of a group asks for the same, and a chat template takes milliseconds."""


def model_source(settings: PolicySettings) -> str:
    return str(POLICY_DIR) if settings.model == "lab" else settings.model


def context_tokens(settings: PolicySettings) -> int | None:
    """Longest prompt and response together, as the model's own configuration states it; None where it states none."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(model_source(settings), revision=settings.revision)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"policy.model: cannot read the configuration of '{settings.model}': {str(error).splitlines()[0]}"
        ) from error
    return getattr(config.get_text_config(), "max_position_embeddings", None)


def derived_seed(*parts: object) -> int:
    """A seed for one purpose, from the run's seed and what it is for; independent of what was drawn before."""
    return zlib.crc32("/".join(map(str, parts)).encode())


@contextmanager
def own_random_stream(seed: int):
    """Draw torch random numbers from ``seed`` and leave the streams of training as they were, on CPU and GPU."""
    import torch

    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def generate_with(model: Any, tokenizer: "PreTrainedTokenizerBase", settings: PolicySettings) -> Generate:
    """A ``Generate`` over a transformers model that is ready for generation (unwrapped, weights gathered)."""
    import torch

    ends = end_token_ids(model, tokenizer)

    def generate(prompts: list[list[int]], seed: int) -> list[list[int]]:
        training = model.training
        model.eval()
        completions: list[list[int]] = []
        with torch.no_grad(), own_random_stream(seed):
            for start in range(0, len(prompts), GENERATION_BATCH):
                completions += _sample(model, tokenizer.pad_token_id, ends, settings, prompts[start : start + GENERATION_BATCH])
        model.train(training)
        return completions

    return generate


def _sample(model: Any, pad: int, ends: list[int], settings: PolicySettings, prompts: list[list[int]]) -> list[list[int]]:
    """Completions of one batch. It is generated in stretches, and between two the responses that have ended leave the batch, which
    would otherwise be computed on until the longest has ended."""
    import torch

    cap = settings.max_completion_tokens
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), pad, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    ids, mask = ids.to(model.device), mask.to(model.device)
    completions: list[list[int]] = [[] for _ in prompts]
    rows = torch.arange(len(prompts), device=model.device)
    stretch = max(LEAST_STRETCH, cap // STRETCHES)
    written, cache = 0, _shared_cache(model, ids, mask, pad)
    while written < cap and len(rows):
        out = model.generate(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            do_sample=True,
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=0,
            max_new_tokens=min(stretch, cap - written),
            eos_token_id=ends,
            pad_token_id=pad,
            disable_compile=True,
            return_dict_in_generate=True,
        )
        new = out.sequences[:, width:]
        written, cache = new.shape[1], out.past_key_values
        for row, tokens in zip(rows.tolist(), new.tolist(), strict=True):
            completions[row] = until_end(tokens, ends)
        going_on = ~torch.isin(new, torch.tensor(ends, device=new.device)).any(dim=1)
        if not _can_drop_rows(cache):  # the first stretch was one of all: what remains is generated at once
            stretch, going_on = cap, going_on.any().expand_as(going_on)
        else:
            cache.batch_select_indices(going_on.nonzero()[:, 0])
        grown = torch.ones((len(rows), out.sequences.shape[1] - mask.shape[1]), dtype=mask.dtype, device=mask.device)
        ids, mask, rows = out.sequences[going_on], torch.cat([mask, grown], dim=1)[going_on], rows[going_on]
    return completions


def _shared_cache(model: Any, ids: Any, mask: Any, pad: int) -> Any:
    """The key-value cache of a batch of prompts up to their last token, with equal prompts read once: the rollouts of a task share
    theirs. None where there is nothing to share, or where the cache cannot be told apart by rows."""
    import torch

    distinct, places = torch.unique(torch.stack([ids, mask], dim=1), dim=0, return_inverse=True)
    # A prompt of a single token would leave a row with nothing to attend to.
    if len(distinct) == len(ids) or int(mask.sum(dim=1).min()) < 2:
        return None
    out = model.generate(
        input_ids=distinct[:, 0, :-1],
        attention_mask=distinct[:, 1, :-1],
        do_sample=False,
        max_new_tokens=1,
        pad_token_id=pad,
        disable_compile=True,
        return_dict_in_generate=True,
    )
    if not _can_drop_rows(out.past_key_values):
        return None
    out.past_key_values.batch_select_indices(places)
    return out.past_key_values


def _can_drop_rows(cache: Any) -> bool:
    """Whether rows can be taken out of a key-value cache; caches of linear attention have no such method."""
    return all(hasattr(layer, "batch_select_indices") for layer in getattr(cache, "layers", [None]))


def end_token_ids(model: Any, tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    configured = model.generation_config.eos_token_id
    ends = configured if isinstance(configured, list) else [configured]
    return sorted({e for e in [*ends, tokenizer.eos_token_id] if e is not None})


def until_end(ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Tokens up to and with the first end token; all of them when there is none (the cap cut the response)."""
    for position, token in enumerate(ids):
        if token in ends:
            return list(ids[: position + 1])
    return list(ids)


class Speaker:
    """Renders prompts and reads responses with the policy's tokenizer."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", settings: PolicySettings):
        self.tokenizer = tokenizer
        self.settings = settings
        controls = {str(token) for token in tokenizer.added_tokens_decoder.values()} | set(tokenizer.all_special_tokens)
        longest_first = sorted(filter(None, controls), key=lambda control: (-len(control), control))
        self._controls = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._known = lru_cache(maxsize=KNOWN_PROMPTS)(self._encode)

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a prompt. What looks like a control token in a message is text: nobody closes a turn from inside one."""
        return list(self._known(tuple(messages)))

    def _encode(self, messages: tuple[Message, ...]) -> list[int]:
        held: list[str] = []
        mark = secrets.token_hex(8)

        def hold(control: re.Match[str]) -> str:
            held.append(control[0])
            return f"\ue000{mark}{len(held) - 1}\ue001"

        plain = [{"role": m.role, "content": self._controls.sub(hold, m.content)} for m in messages]
        rendered = str(
            self.tokenizer.apply_chat_template(
                plain, add_generation_prompt=True, tokenize=False, **self.settings.chat_template_kwargs
            )
        )
        ids: list[int] = []
        for k, piece in enumerate(re.split(f"\ue000{mark}(\\d+)\ue001", rendered)):
            if k % 2:
                ids += self.tokenizer.encode(held[int(piece)], add_special_tokens=False, split_special_tokens=True)
            elif piece:
                ids += self.tokenizer.encode(piece, add_special_tokens=False)
        return ids

    def rollout(self, rollout_id: str, task: Task, ids: Sequence[int], guidance: str | None) -> Rollout:
        """An unscored rollout from completion ids."""
        return Rollout(
            id=rollout_id,
            task_id=task.id,
            text=str(self.tokenizer.decode(list(ids), skip_special_tokens=True)).strip(),
            tokens=len(ids),
            clipped=len(ids) >= self.settings.max_completion_tokens and ids[-1] != self.tokenizer.eos_token_id,
            guidance=guidance,
        )
