"""Who judges: the rubric judge, the second judge, the quality order and the gold checks, as the config says."""

from collections.abc import Sequence

from agents.limits import Traffic
from memory.errors import ConfigError
from memory.task import Task
from training.config import RunConfig
from training.evaluate import Gold
from training.reward.cache import VerdictCache


def has_gate(config: RunConfig) -> bool:
    """Whether the content gate stands before the judge."""
    sources = (*(config.tasks.train or ()), *(config.tasks.heldout or ()))
    gate = config.reward.content_gate
    return any(source.suite != "lab" for source in sources) if gate is None else gate


def open_judge(config: RunConfig, tasks: Sequence[Task], traffic: Traffic | None = None, cache: VerdictCache | None = None):
    """The rubric judge, checked to be able to judge every criterion of ``tasks``.

    Raises:
        ConfigError: a criterion needs a model and there is none, or the model's key is missing.
    """
    from agents.roles import open_chat
    from training.reward.judge import Judge

    settings = config.judge
    judge = Judge(
        None if settings.provider == "heuristic" else open_chat(settings, "judge", traffic),
        concurrency=config.limits.concurrency,
        batch=settings.batch,
        protocol=settings.protocol,
        evidence=settings.evidence,
        cache=cache,
        model=settings.identity,
        gate=has_gate(config),
    )
    judge.check_rubrics(tasks)
    return judge


def open_second(config: RunConfig, traffic: Traffic, cache: VerdictCache):
    """The second judge, or None where none is configured."""
    from agents.roles import open_chat
    from training.loop.second import SecondOpinion
    from training.reward.judge import Judge

    settings = config.second
    if settings.provider == "heuristic":
        return None
    chat = open_chat(settings, "second", traffic)
    judge = Judge(chat, config.limits.concurrency, protocol="per_criterion", cache=cache, model=settings.identity, gate=False)
    return SecondOpinion(judge, settings.per_step, config.seed)


def open_quality(
    config: RunConfig,
    gold: Gold | None,
    tasks: Sequence[Task],
    traffic: Traffic | None = None,
    cache: VerdictCache | None = None,
):
    """Q as configured. Raises ``ConfigError`` for ``gold`` over tasks without gold checks."""
    from agents.roles import open_chat
    from training.reward.quality import GoldOrder, NoOrder, PairwiseOrder, ReferenceOrder

    settings = config.quality
    if settings.source == "off":
        return NoOrder()
    if settings.source in ("pairwise", "reference"):
        chat = open_chat(settings.chat, "quality.chat", traffic)
        pairwise = PairwiseOrder(chat, config.limits.concurrency, cache, settings.chat.identity)
        if settings.source == "pairwise":
            return pairwise
        if all(task.reference is None for task in tasks):
            raise ConfigError("quality.source is 'reference', but no task has a reference answer; use 'pairwise' or 'off'")
        return ReferenceOrder(pairwise)
    missing = [t.id for t in tasks if gold is None or not gold.covers(t.id)]
    if missing or gold is None:
        raise ConfigError(
            f"quality.source is 'gold', but {len(missing)} tasks have no gold checks (for example '{missing[0]}'); "
            "use 'pairwise' with a model in quality.chat, or 'off'"
        )
    return GoldOrder(gold.score, flip_rate=settings.flip_rate, tie_margin=settings.tie_margin, seed=config.seed)


def load_gold(config: RunConfig) -> Gold | None:
    """The laboratory's gold checks, when its suite is in use."""
    if all(source.suite != "lab" for source in (*(config.tasks.train or ()), *(config.tasks.heldout or ()))):
        return None
    from training.lab import GOLD_FILE
    from training.lab.gold import GoldChecks

    return GoldChecks.load(GOLD_FILE)
