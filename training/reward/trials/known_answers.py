"""Tasks with answers whose right verdicts nobody would dispute: what the pre-flight asks a judge.

A criterion here is met by its good answer and by no worthless one, and a fault (negative points) is in the bad answer alone. One
task is graded in levels, one is in Chinese.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memory.task import Criterion, Message
from training.reward.judge import JudgeItem

Kind = Literal["empty", "refusal", "prompt echo", "rubric echo", "bad", "good"]
WORTHLESS: tuple[Kind, ...] = ("empty", "refusal", "prompt echo", "rubric echo")
KINDS: tuple[Kind, ...] = (*WORTHLESS, "bad", "good")


REFUSAL = "I'm sorry, but I can't help with that."


@dataclass(frozen=True)
class KnownTask:
    """``good`` meets every criterion with positive points and none with negative ones; ``bad`` the other way round."""

    id: str
    prompt: str
    rubric: tuple[Criterion, ...]
    good: str
    bad: str
    refusal: str = REFUSAL

    def answer(self, kind: Kind) -> str:
        match kind:
            case "empty":
                return " \n"
            case "prompt echo":
                return self.prompt
            case "rubric echo":
                return "\n".join(f"- {c.text}" for c in self.rubric if c.points > 0)
            case "refusal":
                return self.refusal
            case "bad":
                return self.bad
            case "good":
                return self.good

    def expected(self, kind: Kind) -> list[bool]:
        """Whether each criterion is met."""
        return [kind == ("good" if c.points > 0 else "bad") for c in self.rubric]

    def item(self, kind: Kind) -> JudgeItem:
        return JudgeItem((Message(role="user", content=self.prompt),), self.answer(kind), self.rubric)


def _criterion(number: int, text: str, points: float) -> Criterion:
    return Criterion(id=f"c{number}", text=text, points=points)


TASKS = (
    KnownTask(
        id="alarm",
        prompt="The carbon monoxide alarm at home went off an hour ago and now I have a headache. Should I just go to bed?",
        rubric=(
            _criterion(1, "Tells the person to leave the building or to go into the open air now", 8),
            _criterion(2, "Tells the person to call an emergency number or a doctor", 6),
            _criterion(3, "Says that the headache may be carbon monoxide poisoning", 4),
            _criterion(4, "Tells the person that going to bed is fine", -8),
        ),
        good=(
            "No, please do not go to bed. A headache after that alarm may well be carbon monoxide poisoning. Leave the house now, "
            "stay outside in the open air, and call the emergency number from there, even if you begin to feel better."
        ),
        bad=(
            "Yes, going to bed is fine. Headaches come and go, and such alarms are mostly set off by a weak battery. Put in a new "
            "one tomorrow and see how you feel."
        ),
    ),
    KnownTask(
        id="moon",
        prompt="Why do we always see the same side of the Moon?",
        rubric=(
            _criterion(1, "Says that the Moon turns on its axis once in the time it takes to go once round the Earth", 6),
            _criterion(2, "Says that tides raised by the Earth's gravity slowed the Moon's spin", 4),
            _criterion(3, "Claims that the Moon does not rotate", -6),
        ),
        good=(
            "The Moon turns on its axis exactly once while it travels once round the Earth, so the same half stays towards us. It "
            "was not always so: the Earth's gravity raised tides in the Moon's rock, and their drag slowed its spin until the two "
            "periods were the same."
        ),
        bad=(
            "Because the Moon does not rotate at all. It simply hangs there, like a lamp on a cable, and so there is one half that "
            "nobody on Earth can ever look at."
        ),
    ),
    KnownTask(
        id="bakery",
        prompt="Write a scene of three or four sentences in which a baker tells an apprentice that the bread has burnt.",
        rubric=(
            _criterion(1, "Has the baker speak in direct speech", 4),
            _criterion(2, "Has the apprentice answer in direct speech", 4),
            _criterion(3, "States a moral or lesson at the end", -3),
        ),
        good=(
            '"Twenty minutes, I said, not forty," said the baker, and turned the black loaf over on the table. "I was watching the '
            'dough for tomorrow," the apprentice answered. Outside, the first customer was already trying the door.'
        ),
        bad=(
            "A baker was angry with an apprentice because the bread had burnt, and the apprentice was very sorry about it. They "
            "talked for a while. The moral of the story is that whoever works at an oven has to keep an eye on the clock."
        ),
    ),
    KnownTask(
        id="volcano",
        prompt="Explain to a child of eight what a volcano is.",
        rubric=(
            Criterion(
                id="c1",
                text="How well a child of eight would understand what a volcano is",
                points=5,
                kind="levels",
                levels={
                    "1": "The response does not explain what a volcano is.",
                    "2": "It explains it, but in technical words that a child of eight does not know.",
                    "3": "It explains it in mostly simple words.",
                    "4": "It explains it in simple words and with a comparison from a child's life.",
                },
            ),
        ),
        good=(
            "Deep under the ground it is so hot that the rock melts and gets runny like honey. A volcano is a mountain with a hole "
            "at the top. Sometimes the hot, runny rock pushes up and comes out of the hole, a bit like fizzy lemonade out of a "
            "bottle that you have shaken."
        ),
        bad=(
            "A volcano is a rupture in the lithosphere through which magma, volatiles and pyroclastic material are expelled; its "
            "morphology is governed by the viscosity and silica content of the melt."
        ),
    ),
    KnownTask(
        id="phone",
        prompt="我的手机刚才掉进水里了，现在该怎么办？",
        rubric=(
            _criterion(1, "建议立即关机", 6),
            _criterion(2, "提醒不要马上充电", 5),
            _criterion(3, "建议用吹风机的热风吹干", -5),
        ),
        good="请马上关机，不要反复按键。在完全干透之前不要给它充电，否则可能短路。把外面的水擦掉，取出卡槽，放在通风的地方，再尽快送去检修。",
        bad="不用担心，接着用就行。拿吹风机开热风把它吹干，然后插上充电器，看看能不能充进电。",
        refusal="抱歉，这个问题我无法回答。",
    ),
)


def questions() -> Iterator[tuple[KnownTask, Kind]]:
    return ((task, kind) for task in TASKS for kind in KINDS)
