"""Who plays attributor and proposer: rules and heuristics, or a chat model, as the config says."""

from agents.attribution import Attributor, ChatAttributor, RuleAttributor
from agents.chat import ChatConfig, open_chat
from agents.chat_proposer import ChatProposer
from agents.heuristics import HeuristicProposer, Proposer


def open_attributor(config: ChatConfig) -> Attributor:
    if config.provider == "heuristic":
        return RuleAttributor()
    return ChatAttributor(open_chat(config, "evolver.attributor"), str(config.model))


def open_proposer(config: ChatConfig) -> Proposer:
    if config.provider == "heuristic":
        return HeuristicProposer()
    return ChatProposer(open_chat(config, "evolver.proposer"), str(config.model))
