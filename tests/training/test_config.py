"""Every shipped config loads, and every mistake leaves as one sentence that helps."""

import json

import pytest

from memory.errors import ConfigError
from training.config import CONFIGS, load_config, parse_config
from training.session import deepspeed_config, has_gate
from training.tasks.mix.recipe import load_recipe

SHIPPED = sorted(CONFIGS.rglob("*.yaml"))
RECIPES = [path for path in SHIPPED if path.parent.name == "mix"]


@pytest.mark.parametrize("path", [p for p in SHIPPED if p not in RECIPES], ids=lambda p: str(p.relative_to(CONFIGS)))
def test_every_shipped_config_loads(path):
    load_config(path).check_world_size(1)


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_every_shipped_recipe_loads(path):
    assert load_recipe(path).sources


@pytest.mark.parametrize("path", sorted((CONFIGS / "deepspeed").glob("*.json")), ids=lambda p: p.stem)
def test_every_shipped_deepspeed_config_is_read_by_name(path):
    config = parse_config({"train": {"deepspeed": path.stem}})
    assert deepspeed_config(config) == json.loads(path.read_text())


def test_a_resolved_config_loads_as_itself(tmp_path):
    import yaml

    config = load_config(None, ["policy.lora={r: 4}", "evolver.proposer.model=m", "quality.source=off"])
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    assert load_config(path) == config


def test_overrides_reach_any_depth_and_a_model_selects_its_provider():
    config = load_config(None, ["train.steps=7", "evolver.critic.rollouts=[4, 8]", "evolver.proposer.model=some-model"])
    assert config.train.steps == 7
    assert config.evolver.critic.rollouts == (4, 8)
    assert config.evolver.proposer.provider == "openai"
    assert config.evolver.attributor.provider == "heuristic"


def test_off_in_yaml_is_off():
    assert load_config(None, ["quality.source=off"]).quality.source == "off"


MISTAKES = [
    (["train.stesp=5"], "train.stesp is not a setting; did you mean 'steps'"),
    (["evolver.critic.alhpa=0.1"], "did you mean 'alpha'"),
    (["polcy.model=x"], "polcy is not a setting; did you mean 'policy'"),
    (["evolver.proposer.modle=x"], "did you mean 'model'"),
    (["train.steps=0"], "train.steps is 0"),
    (["train.steps=many"], "train.steps is 'many'"),
    (["train.steps"], "must look like section.key=value"),
    (["train.steps.more=1"], "holds a value, not a section"),
    (["train.group_size=1"], "train.group_size is 1"),
    (["guidance.group_share=0.9"], "guidance.group_share is 0.9"),
    (["sampling.levels=[2, 1]"], "growing positive numbers"),
    (["evolver.critic.rollouts=[16, 8]"], "growing even numbers"),
    (["budget.usd=5", "judge.model=m"], "judge.price is null"),
    (["judge.protocol=holistic"], "set evolver.enabled=false"),
    (["judge.protocol=all"], "judge.protocol is 'all'"),
    (["judge.evidance=true"], "did you mean 'evidence'"),
    (["limits.concurency=5"], "did you mean 'concurrency'"),
    (["quality.source=pairwise"], "needs 'openai' and a model"),
    (["evolver.proposer.provider=openai"], "needs 'model'"),
    (["guidance.train_on=guided", "guidance.correction=importance"], "guided training is on-policy"),
    (["train.steps=[1"], "not valid YAML"),
]


@pytest.mark.parametrize(("overrides", "expected"), MISTAKES, ids=lambda v: str(v)[:40])
def test_mistakes_name_the_field_and_what_to_do(overrides, expected):
    with pytest.raises(ConfigError) as error:
        load_config(None, overrides)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_a_broken_and_a_wrong_file(tmp_path):
    with pytest.raises(ConfigError, match=r"does not exist; .*default\.yaml"):
        load_config(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("train: [1\nsteps: 2")
    with pytest.raises(ConfigError, match=r"not valid YAML at line 2"):
        load_config(broken)
    broken.write_text("- a list")
    with pytest.raises(ConfigError, match="must hold a mapping"):
        load_config(broken)


@pytest.mark.parametrize(
    ("settings", "world", "expected"),
    [
        ({"tasks_per_step": 3, "group_size": 3}, 2, "nearest legal train.tasks_per_step: 2, 4"),
        ({"tasks_per_step": 4, "group_size": 8, "micro_batch_size": 5}, 1, "nearest legal values: 4, 8"),
    ],
)
def test_a_batch_that_does_not_divide_gives_the_arithmetic(settings, world, expected):
    with pytest.raises(ConfigError) as error:
        parse_config({"train": settings}).check_world_size(world)
    assert expected in str(error.value)


def test_the_content_gate_is_off_for_the_laboratory_only_unless_said_otherwise():
    assert not has_gate(parse_config({}))
    assert has_gate(parse_config({"tasks": {"train": "mine.jsonl"}}))
    assert has_gate(parse_config({"reward": {"content_gate": True}}))
    assert not has_gate(parse_config({"tasks": {"train": "mine.jsonl"}, "reward": {"content_gate": False}}))
