"""A judge model of known habits: it says of each criterion what ``answer(response, criterion text)`` says."""

import re
import threading
from collections.abc import Callable

from agents.chat import ChatFailure, Reason
from training.reward.quality import Preference
from training.reward.replies import Gradings, Judgements

Said = bool | int | Reason
"""Met or not, a level, or the reason for which the call fails."""


class KnownChat:
    """``ChatModel`` by a function. ``asked`` counts the calls."""

    def __init__(self, answer: Callable[[str, str], Said]):
        self.answer = answer
        self.asked = 0
        self.closed = False
        self._lock = threading.Lock()

    def complete(self, system, user, schema):
        with self._lock:
            self.asked += 1
        (marker,) = set(re.findall(r"^The marker is (\w+)\.$", user, re.M))
        texts = dict(re.findall(rf"^<<<{marker} (\w+)\n(.*?)\n{marker}>>>$", user, re.M | re.S))
        if schema is Preference:
            return Preference(reason="r", better=self.answer(texts["A"], texts["B"]))
        words = []
        for i in re.search(r"their ids are (.*):\n", user)[1].split(", "):
            said = self.answer(texts["response"], texts[i])
            if isinstance(said, str):
                raise ChatFailure(said, "as arranged")
            words.append({"id": i, "reason": "because", "level": int(said)} if schema is Gradings else (i, said))
        if schema is Gradings:
            return Gradings.model_validate({"gradings": words})
        verdicts = [{"id": i, "reason": "because", "verdict": "met" if met else "not_met"} for i, met in words]
        return Judgements.model_validate({"judgements": verdicts})

    def close(self):
        self.closed = True


def tick() -> None:
    pass
