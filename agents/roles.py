"""Who plays which role: rules and heuristics, or a chat model, as the config says.

The client libraries of chat models take seconds to load; they are imported when a model is opened and not before.
"""

import os
import re
from typing import TYPE_CHECKING

from agents.attribution import Attributor, RuleAttributor
from agents.chat import ChatConfig
from agents.chat_attributor import ChatAttributor
from agents.chat_proposer import ChatProposer
from agents.heuristics import HeuristicProposer, Proposer
from agents.limits import Traffic
from agents.prompts import EVIDENCE_TOKENS
from memory.errors import ConfigError

if TYPE_CHECKING:
    from agents.endpoint import OpenAIChat


def open_attributor(config: ChatConfig, traffic: Traffic | None = None, evidence_tokens: int = EVIDENCE_TOKENS) -> Attributor:
    if config.provider == "heuristic":
        return RuleAttributor()
    return ChatAttributor(open_chat(config, "evolver.attributor", traffic), str(config.model), evidence_tokens)


def open_proposer(config: ChatConfig, traffic: Traffic | None = None, evidence_tokens: int = EVIDENCE_TOKENS) -> Proposer:
    if config.provider == "heuristic":
        return HeuristicProposer()
    return ChatProposer(open_chat(config, "evolver.proposer", traffic), str(config.model), evidence_tokens)


def open_chat(config: ChatConfig, role: str, traffic: Traffic | None = None) -> "OpenAIChat":
    """The chat model of ``role``, which is the dotted place of ``config`` in the configuration, as ``evolver.proposer``;
    ``traffic`` is what the models of a run share.

    Raises:
        ConfigError: the key's variable is missing, empty or not a variable's name, or its value cannot be a key.
    """
    if config.provider != "openai":
        raise ValueError(f"{role}: provider '{config.provider}' has no chat model to open")
    name = config.api_key_env
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # The value is not repeated: it may be a key that was put into the wrong place.
        raise ConfigError(f"{role}.api_key_env must be the name of an environment variable; give its name, not the key")
    key = os.environ.get(name, "").strip()
    if not key:
        raise ConfigError(
            f"{role}.api_key_env: the environment variable {name} is not set; set it to the endpoint's key "
            "(for a local server without a key, to any value) or name another variable"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{role}.api_key_env: the value of {name} has characters no key can have; set it to the key alone")
    from agents.endpoint import OpenAIChat

    return OpenAIChat(config, role, key, traffic)
