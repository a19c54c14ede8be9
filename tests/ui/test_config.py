"""The Config page: what the run was set up with, without its secrets, and its files as they are."""

import pytest
import yaml

import ui.config
from memory.journal import Journal, RunRecord
from tests.ui.conftest import checked
from tests.ui.synthetic import CONFIG, COST, DEFAULTS, STEPS
from tests.ui.test_console import said
from training.config import RunConfig
from ui import settings
from ui.config import downloadable, size
from ui.readers import RunReader


def table(app, column: str):
    """The table that begins with this column."""
    return next(d.value for d in app.dataframe if d.value.columns[0] == column)


def test_only_what_differs_from_the_defaults_is_shown_at_first(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Config")
    mine, usual = settings.flat(CONFIG), settings.flat(DEFAULTS)
    found = table(app, "setting").set_index("setting")
    assert set(found.index) == {k for k in mine if mine[k] != usual.get(k)}
    assert found.loc["evolver.every"].tolist() == ["4", "10"]
    app = checked(app.toggle(key="all-settings").set_value(True).run())
    assert set(table(app, "setting")["setting"]) == set(mine)


def test_a_setting_is_found_by_part_of_its_name(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Config", setting="guid")
    assert set(table(app, "setting")["setting"]) == {"guidance.max_fields", "guidance.until"}
    assert "No setting matches." in said(open_page(synthetic.run.root, page="Config", setting="nothing like it"))


def test_the_defaults_themselves_and_their_absence_are_said(copied, open_page):
    (copied / "config.yaml").write_text((copied / "defaults.yaml").read_text())
    assert "Every setting is the default." in said(open_page(copied, page="Config"))
    for text in ("{not: [yaml", "- a list"):
        (copied / "defaults.yaml").write_text(text)
        assert "what differs from the defaults is not known" in said(open_page(copied, page="Config"))
    (copied / "defaults.yaml").unlink()
    app = open_page(copied, page="Config")
    assert "defaults.yaml is not here" in said(app)
    assert set(table(app, "setting")["setting"]) == set(settings.flat(DEFAULTS))


def test_each_role_stands_with_its_model_and_cost(synthetic, open_page):
    found = table(open_page(synthetic.run.root, page="Config"), "role").set_index("role")
    assert found.loc["judge", ["model", "endpoint", "key from"]].tolist() == ["judge-1", "https://judge.example/v1", "JUDGE_KEY"]
    assert found.loc["judge", "requests"] == STEPS
    assert found.loc["judge", "USD"] == pytest.approx(COST * STEPS)


def test_every_role_of_a_real_config_is_found(copied):
    config = RunConfig()
    (copied / "config.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    assert set(settings.roles(RunReader(copied).refresh())["role"]) == set(config.chats)


def test_no_secret_is_shown(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Config", **{"all-settings": "true"})
    shown = said(app) + "".join(d.value.to_json() for d in app.dataframe)
    for secret in ("hunter2", "hf-secret"):
        assert secret in (synthetic.run.config).read_text()
        assert secret not in shown


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("judge.api_key_env", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("judge.api_key_env", "sk-abc.123", settings.HIDDEN),
        ("train.trl.hub_token", "abc", settings.HIDDEN),
        ("judge.max_tokens", 2048, "2048"),
        ("judge.base_url", "http://u:p@[::1]:8000/v1?key=1", "http://[::1]:8000/v1?" + settings.HIDDEN),
        ("judge.base_url", "http://host:port/v1", settings.HIDDEN),
        ("train.deepspeed", {"password": "abc", "stage": [1, 2]}, "{password: (not shown), stage: [1, 2]}"),
        ("x", None, "null"),
        ("x", True, "true"),
        ("x", 1e-4, "0.0001"),
        ("x", [], "[]"),
    ],
)
def test_a_value_is_one_line_without_credentials(name, value, expected):
    assert settings.shown(name, value) == expected


def test_versions_are_those_of_the_journal(copied, open_page):
    assert "journal schema 1 · seed 0" in said(open_page(copied, page="Config"))
    assert "The versions of the packages were not recorded." in said(open_page(copied, page="Config"))
    (copied / "journal.jsonl").unlink()
    journal = Journal(copied / "journal.jsonl")
    journal.append(0, RunRecord(seed=7, versions={"trl": "1.16.0"}, prompts={"propose.txt": "abc123"}))
    journal.close()
    app = open_page(copied, page="Config")
    assert r"journal schema 1 · seed 7 · trl 1\.16\.0" in said(app)
    assert any("abc123" in d.value.to_string() for d in app.dataframe)


def test_files_are_handed_out_up_to_a_size(copied, open_page, monkeypatch):
    view = RunReader(copied).refresh()
    there = [p for p in downloadable(view) if p.exists()]
    app = open_page(copied, page="Config")
    labels = [b.proto.label for b in app.get("download_button")]
    assert labels == [f"{p.name} ({size(p.stat().st_size)})" for p in there]
    assert "Not in the run directory: harness" in said(app)
    monkeypatch.setattr(ui.config, "LARGEST", 10_000)
    app = open_page(copied, page="Config")
    assert not any(b.proto.label.startswith("journal.jsonl") for b in app.get("download_button"))
    assert r"Larger than 9.8 KiB, copy them from the run directory: journal\.jsonl" in said(app)


def test_without_a_config_the_rest_of_the_page_stands(copied, open_page):
    (copied / "config.yaml").unlink()
    app = open_page(copied, page="Config")
    assert "The settings of this run are not known" in said(app)
    assert app.get("download_button")


def test_a_run_records_the_defaults_of_its_version(tmp_path):
    from memory.rundir import RunDir
    from training.run import start_directory

    config = RunConfig.model_validate({"train": {"steps": 7}})
    start_directory(RunDir(tmp_path), config, resume=False, world_size=1)
    written = [yaml.safe_load((tmp_path / name).read_text()) for name in ("config.yaml", "defaults.yaml")]
    found = settings.difference(*written, ("value", "default"))
    assert found.values.tolist() == [["train.steps", "7", "120"]]
