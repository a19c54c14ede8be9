"""The shipped policy, and a way to let it speak."""

from collections.abc import Callable, Sequence

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from memory.task import Message
from training.lab import POLICY_DIR

Speak = Callable[[Sequence[Sequence[Message]]], list[str]]

BATCH = 256


@pytest.fixture(scope="session")
def speak() -> Speak:
    """One response of the shipped policy per conversation, at temperature 1 and at most 64 tokens; seeded."""
    tokenizer = AutoTokenizer.from_pretrained(POLICY_DIR, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(POLICY_DIR, local_files_only=True, dtype=torch.float32).eval()

    def say(conversations: Sequence[Sequence[Message]]) -> list[str]:
        torch.manual_seed(0)
        responses: list[str] = []
        for start in range(0, len(conversations), BATCH):
            chats = [[message.model_dump() for message in chat] for chat in conversations[start : start + BATCH]]
            prompts = [tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False) for chat in chats]
            inputs = tokenizer(prompts, add_special_tokens=False, padding=True, return_tensors="pt")
            with torch.no_grad():
                output = model.generate(**inputs, max_new_tokens=64, do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
            responses += tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return responses

    return say
